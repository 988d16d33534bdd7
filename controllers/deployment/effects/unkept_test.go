package effects

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// What was not kept is believed for ten minutes, also when the time of day is set meanwhile.
func TestWhatIsNotKeptIsBelievedForTenMinutes(t *testing.T) {
	for _, set := range []time.Duration{0, time.Hour, -time.Hour} {
		clock := &lab.SetClock{FakeClock: testclock.NewFakeClock(lab.Noon)}
		caches := newDeploymentCachesWith(t, engine.Options{Clock: clock})
		d, b := lab.Deployment("web", "d", ""), caches.deployments
		caches.Add(t, d)
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "r"}}
		b.unkept.Note("shop/web", "r", unkept{decision.Unkept{Copy: true}, d.Generation, sumOf(d.Annotations), clock.Now()})
		clock.Step(unkeptFor - time.Second)
		clock.By = set
		if lookedAt(t, caches).notKept(rs) == nil {
			t.Errorf("set by %s: it is forgotten before ten minutes have passed", set)
		}
		clock.Step(time.Second)
		if lookedAt(t, caches).notKept(rs) != nil {
			t.Errorf("set by %s: it is still believed after ten minutes", set)
		}
	}
}
