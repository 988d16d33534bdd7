package engine

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// signedFields are what managers write, the first one this and the second one that.
var signedFields = []string{`{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:paused":{}}}`}

// signing is a loop that signs as "loopscope".
func signing() *Loop {
	return New(Settings{Name: "test"}, fake.NewClientset(), Options{Signature: "loopscope"})
}

// signedBy is a version of a Deployment that these managers wrote, as an informer shows it.
func signedBy(t *testing.T, l *Loop, rv string, at int64, managers ...string) *appsv1.Deployment {
	t.Helper()
	d := lab.Deployment("web", "u", "")
	d.ResourceVersion = rv
	for i, m := range managers {
		d.ManagedFields = append(d.ManagedFields, lab.SignedBy(m, "", at, signedFields[i]))
	}
	_, err := l.opts.Managers.Strip(d)
	lab.Check(t, err)
	return d
}

// A change is of whoever signed it. Ours is known by its version, and what somebody else
// signed as we do is of nobody.
func TestAuthor(t *testing.T) {
	fields := []decision.Change{{Field: "spec.replicas"}, {Field: "spec.paused"}}
	for name, c := range map[string]struct {
		managers []string
		rv       string
		ours     bool
		want     string
	}{
		"one":             {[]string{"kubectl"}, "2", false, "kubectl"},
		"two":             {[]string{"helm", "kubectl"}, "2", false, "helm" + telemetry.BetweenManagers + "kubectl"},
		"signed as ours":  {[]string{"loopscope"}, "2", false, ""},
		"another as well": {[]string{"kubectl", "loopscope"}, "2", false, "kubectl"},
		"ours":            {[]string{"kubectl"}, "2", true, ""},
		"a resync":        {[]string{"kubectl"}, "1", false, ""},
	} {
		l := signing()
		old := signedBy(t, l, "1", 100, "operator")
		changed := signedBy(t, l, c.rv, 200, c.managers...)
		if c.ours {
			l.opts.Ledger.Written(Entry{UID: "u", Resource: "deployments", RV: c.rv})
		}
		if got := l.Author(old, changed, fields); got != c.want {
			t.Errorf("%s: it was %q, want %q", name, got, c.want)
		}
	}
}

// What is new was made by somebody, unless it was there before we looked.
func TestAdded(t *testing.T) {
	for name, c := range map[string]struct {
		initial, ours bool
		want          telemetry.CauseKind
		manager       string
	}{
		"another's":       {false, false, telemetry.CauseAdded, "kubectl"},
		"ours":            {false, true, telemetry.CauseAdded, ""},
		"there before us": {true, false, telemetry.CauseStart, ""},
	} {
		l := signing()
		var d metav1.Object = signedBy(t, l, "1", 100, "kubectl")
		if c.ours {
			l.opts.Ledger.Written(Entry{UID: "u", Resource: "deployments", RV: "1"})
		}
		got := l.Added("Deployment", d, c.initial)
		if got.Kind != c.want || got.Manager != c.manager || got.Object != "Deployment web" || got.NewRV != "1" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What a live read has shown first is of whoever signed it. Signed as ours it may be the write
// whose reply was lost, and so is no rival's.
func TestAuthorOfWhatWasReadLive(t *testing.T) {
	fields := []decision.Change{{Field: "spec.replicas"}, {Field: "status.replicas"}}
	for name, c := range map[string]struct{ manager, want, rival string }{
		"another's":      {"kubectl", "kubectl", ""},
		"signed as ours": {"loopscope", "", ""},
		"a rival's":      {Upstream, Upstream, Upstream + " Deployment shop/web"},
	} {
		rival := ""
		l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Signature: "loopscope", Rival: func(manager, of string) { rival = manager + " " + of }})
		old, changed := signedBy(t, l, "1", 100, "operator"), signedBy(t, l, "9", 200, c.manager)
		l.opts.Ledger.Confirmed("u", l.opts.Clock.Now(), []Entry{{UID: "u", Resource: "deployments", RV: "9"}})
		if got := l.Author(old, changed, fields); got != c.want {
			t.Errorf("%s: it was %q, want %q", name, got, c.want)
		}
		if got := l.OwnAuthor("Deployment", old, changed, fields); got != c.want || rival != c.rival {
			t.Errorf("%s: it was %q, of the loop's own object, and %q is the rival; want %q, %q", name, got, rival, c.want, c.rival)
		}
	}
}
