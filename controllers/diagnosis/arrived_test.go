package diagnosis_test

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// What pods lack is not said to be missing when it is there.
func TestArrived(t *testing.T) {
	lacks := func(code, message string) decision.Finding {
		return decision.Finding{Code: code, Message: message, Count: 2, NeedsAction: true, After: decision.Words{}.Say(" lack something")}
	}
	for _, c := range []struct {
		finding decision.Finding
		object  string
		want    string
	}{
		{lacks(diagnosis.Claim, `0/3 nodes are available: persistentvolumeclaim "data" not found. preemption: 0/3`), "PersistentVolumeClaim data", " wait for the scheduler to try again, as PersistentVolumeClaim data exists now"},
		{lacks(diagnosis.Config, `configmap "app" not found`), "ConfigMap app", " wait for the kubelet to try again, as ConfigMap app exists now"},
		{lacks(diagnosis.Config, `configmap "app" not found`), "ConfigMap app-2", " lack something"},
		{lacks(diagnosis.Config, `secret "app" not found`), "PersistentVolumeClaim app", " lack something"},
		{lacks(diagnosis.Config, `couldn't find key url in ConfigMap shop/app`), "ConfigMap app", " lack something"},
		{lacks(diagnosis.Image, `app not found`), "ConfigMap app", " lack something"},
		{lacks(diagnosis.Claim, `persistentvolumeclaim "app" not found`), "ConfigMap app", " lack something"},
		{lacks(diagnosis.Config, `configmap "app" not found`), "", " lack something"},
	} {
		f := c.finding
		diagnosis.Arrived(&f, c.object)
		if got := f.After.At(time.Time{}); got != c.want || f.NeedsAction == (got != " lack something") {
			t.Errorf("%q with %q: %q, needs action %v", c.finding.Message, c.object, got, f.NeedsAction)
		}
	}
}

// A name is a whole word: what else may be in a name does not end it.
func TestMentions(t *testing.T) {
	for _, c := range []struct {
		message, name string
		want          bool
	}{
		{`configmap "app" not found`, "app", true},
		{`configmap "app2" not found`, "app2", true},
		{`configmap "app2" not found`, "app", false},
		{`configmap "shop-app" not found`, "shop-app", true},
		{`configmap "shop-app" not found`, "app", false},
		{`configmap "app.v" not found`, "app.v", true},
		{`configmap "app.v" not found`, "app", false},
		{`configmap "" not found`, "", false},
	} {
		if got := diagnosis.Mentions(c.message, c.name); got != c.want {
			t.Errorf("%q in %s: %v", c.name, c.message, got)
		}
	}
}
