package migrate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const goodRecord = `{"v":1,"deployment":"web","hash":"746c78c67d","replicas":3,"selector":{"app":"web"},"templateLabels":{"app":"web","tier":"front"},"serviceAccount":"robot"}`

func TestRecordsThatAreRefused(t *testing.T) {
	if _, err := parseRecord(goodRecord); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{goodRecord, "hello", "invalid character"},
		{goodRecord, strings.Repeat(" ", maxRecord) + "{}", "the most"},
		{`"v":1`, `"v":2`, "use the release that began"},
		{`"deployment":"web"`, `"deployment":"We b"`, "no name of a Deployment"},
		{`"hash":"746c78c67d"`, `"hash":""`, "no hash"},
		{`"replicas":3`, `"replicas":-1`, "replicas are -1"},
		{`"selector":{"app":"web"}`, `"selector":{}`, "no selector"},
		{`"selector":{"app":"web"}`, `"selector":{"app":"api"}`, "does not match"},
	} {
		if _, err := parseRecord(strings.Replace(goodRecord, c.from, c.to, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
}

// TestTakenOver names the Deployment, and what to do with the image.
func TestTakenOver(t *testing.T) {
	if err := TakenOver(scene(2).Controller); err != nil {
		t.Errorf("before: %v", err)
	}
	m := &model{Cluster: scene(2), clock: metav1.Now()}
	m.apply(&next(m.Cluster, thereTo).Writes[0])
	if err := TakenOver(m.Controller); err == nil || !strings.Contains(err.Error(), "a migration of web to Deployment web has begun") {
		t.Errorf("on the way: %v", err)
	}
	_, _, last := steps(m.Cluster, thereTo)
	if err := TakenOver(last.Controller); err == nil || !strings.Contains(err.Error(), "belong to Deployment web since") || !strings.Contains(err.Error(), "kubectl -n shop set image deployment/web main=IMAGE") {
		t.Errorf("afterwards: %v", err)
	}
	if _, _, last = steps(last, back); TakenOver(last.Controller) != nil {
		t.Errorf("after undo: %v", TakenOver(last.Controller))
	}
	last.Controller.Annotations[recordKey] = "{"
	if err := TakenOver(last.Controller); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a broken record: %v", err)
	}
}

// FuzzRecord: what is read can be written down again, and what is decided on it does not panic.
func FuzzRecord(f *testing.F) {
	f.Add(goodRecord)
	f.Add(`{"v":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRecord(text)
		c := scene(2)
		c.Controller.Annotations[recordKey] = text
		for _, o := range []*Options{there, back} {
			next(c, o)
		}
		if err != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := parseRecord(string(again)); err != nil || !cmp.Equal(r, second) {
			t.Errorf("%s is read as %+v, %v", again, second, err)
		}
	})
}
