package e2e_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// watchTwin is what the Shadow page says to a program.
type watchTwin struct {
	Page struct {
		Headline    string
		Compares    bool
		Differences []struct {
			Reason                                         struct{ Word string }
			Namespace, Name, Question, Predicted, Observed string
			Known                                          any
		}
		Questions []struct {
			ID                      string
			Compared, Agree, Differ uint64
			Of                      []struct{ Word string }
		}
	}
}

// TestShadowBesideUpstream runs `loopscope manager --watch` beside Kubernetes'
// own loops while Deployments roll: it writes nothing, compares what it would
// have written, and finds nothing that it cannot explain.
func TestShadowBesideUpstream(t *testing.T) {
	t.Parallel()
	plane := testplane.Start(t, testplane.Options{Loops: "upstream", Audit: true})
	client := clientOf(t, plane)
	watch := startManager(t, plane.LoopscopeKubeconfig, "--watch")
	namespace := newNamespace(t, client, "shadow")
	first := testplane.Number(t, "LOOPSCOPE_E2E_SEED", rand.Uint64N(1_000_000))
	runPlans(t, client, namespace, first, testplane.Number(t, "LOOPSCOPE_E2E_SHADOW", 3))

	var twin watchTwin
	compared, agree, unexplained := uint64(0), uint64(0), uint64(0)
	testplane.Until(t, time.Minute, "comparison", func() error {
		fetchJSON(t, watch.Dashboard+"/shadow.json", &twin)
		return nil
	})
	for _, q := range twin.Page.Questions {
		t.Logf("%s: %d compared, %d agree, %v", q.ID, q.Compared, q.Agree, q.Of)
		compared, agree = compared+q.Compared, agree+q.Agree
		for _, of := range q.Of {
			if strings.HasSuffix(of.Word, " unexplained") {
				unexplained++
			}
		}
	}
	t.Logf("seed %d: %s %d of %d agree", first, twin.Page.Headline, agree, compared)
	for _, d := range twin.Page.Differences {
		t.Logf("%s %s/%s at %s: predicted %s, observed %s: %v", d.Reason.Word, d.Namespace, d.Name, d.Question, d.Predicted, d.Observed, d.Known)
	}
	if !twin.Page.Compares || compared < 10 || unexplained > 0 {
		t.Errorf("%d decisions were compared, %d questions have some that are unexplained", compared, unexplained)
	}
	for _, r := range of(readAudit(t, plane.AuditPath), (*request).ours) {
		if r.write() {
			t.Errorf("it wrote: %s %s %s", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Name)
		}
	}
	_, metrics := fetch(t, watch.Dashboard+"/metrics")
	if !strings.Contains(metrics, `loopscope_shadow_decisions_total{verdict="unexplained"} 0`) || !strings.Contains(metrics, "loopscope_shadow_overdue ") {
		t.Error("the metrics do not have what was compared")
	}
}
