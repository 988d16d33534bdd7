package effects

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// Events come from etcd: they are read only where a write is due, as only that can have been refused.
func TestEventsAreReadWhereAWriteIsDue(t *testing.T) {
	paused := noted("web", notes{"request": `{"version":1,"id":"a-1","image":"web:2","paused":true}`})
	paused.Status.Conditions = []corev1.ReplicationControllerCondition{{Type: "Progressing", Status: corev1.ConditionUnknown, Reason: "RollingUpdatePaused"}}
	due := noted("web", notes{"request": `{"version":1,"id":"a-1","image":"web:2"}`})
	for _, c := range []struct {
		name string
		of   *corev1.ReplicationController
		says string
		asks bool
	}{
		{"nothing is due", paused, "is paused", false},
		{"the template is to be labelled", due, "quota q refuses", true},
	} {
		client := fake.NewClientset(c.of, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web.1"}, Reason: rollingupdate.ReasonFailed, LastTimestamp: metav1.NewTime(lab.At),
			InvolvedObject: corev1.ObjectReference{Kind: "ReplicationController", Name: "web", UID: c.of.UID},
			Message:        "Cannot update ReplicationController web: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1",
		})
		got, err := Explain(t.Context(), client, "shop", "web", engine.Options{Clock: clocktesting.NewFakeClock(lab.At)})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		asks := slices.ContainsFunc(client.Actions(), func(a clienttesting.Action) bool { return a.Matches("list", "events") })
		if said := got.Sentence.At(lab.At); asks != c.asks || !strings.Contains(said, c.says) {
			t.Errorf("%s: Events are read: %t; it says %q", c.name, asks, said)
		}
	}
}
