package migrate

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

// TestEndsUnderAnotherName: whoever takes the last step need not repeat --name.
func TestEndsUnderAnotherName(t *testing.T) {
	_, _, c := steps(scene(3), &Options{Controller: "web", Name: "api", Keep: true})
	var objects []runtime.Object
	for i := range c.Pods {
		objects = append(objects, &c.Pods[i])
	}
	client := fake.NewClientset(append(objects, c.Controller, c.Set, c.Deployment)...)
	m := Migration{client: client, namespace: "shop", options: *there, say: func(Step) {}}
	report, err := m.Run(t.Context())
	if err != nil || report.Kept != 3 || !strings.HasPrefix(report.End, "Deployment api has the pods of ReplicationController web") {
		t.Errorf("it ends with %+v, %v", report, err)
	}
}

// TestWhatTakesLong: what is waited for is said after a while, and once more where it takes long.
func TestWhatTakesLong(t *testing.T) {
	const what = "until the loop of ReplicationController web has let go of 2 pods"
	for _, c := range []struct {
		undo bool
		want string
	}{
		{false, what + ", for 15s already: 'loopscope open' shows what keeps it. Ctrl-C leaves things as they are; the same command continues, and --undo --write goes back"},
		{true, what + ", for 15s already: 'loopscope open' shows what keeps it. Ctrl-C leaves things as they are; the same command continues"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var said []string
			m := &Migration{options: Options{Undo: c.undo}, say: func(s Step) { said = append(said, s.Text) }}
			for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(lookEvery) {
				if m.tell(wait(what)); time.Since(began) < quietFor && len(said) > 0 {
					t.Fatalf("after %s it says %q", time.Since(began), said)
				}
			}
			if want := []string{what, c.want}; !slices.Equal(said, want) {
				t.Errorf("it says %q, want %q", said, want)
			}
		})
	}
}
