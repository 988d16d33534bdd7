package words

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestOverdue: whatever is said of an object, that nobody acts is said as well, and what ends it.
func TestOverdue(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	web, child := telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, telemetry.Object{Loop: "replicaset", Namespace: "shop", Name: "web-1"}
	of := func(o telemetry.Object, a decision.Aspect, kind, target string) *telemetry.Difference {
		return &telemetry.Difference{Object: o, Predictable: decision.Predictable{Aspect: a, Of: kind}, Target: target, At: now.Add(-73 * time.Second), Manager: telemetry.ControllerManager}
	}
	said := func(tone decision.Tone, code, state, lead string) decision.Sentence {
		return decision.Sentence{Namespace: "shop", Object: "web", Tone: tone, Code: code, Verb: "is", State: state, Lead: decision.Words{}.Say(lead), Then: decision.Words{}.Say("Nothing was written")}
	}
	const ends = " Continues when kube-controller-manager acts: check that it runs."
	for _, c := range []struct {
		said decision.Sentence
		due  *telemetry.Difference
		tone decision.Tone
		code string
		want string
	}{
		{said(decision.ToneMoving, "planned", "moving", "the next write scales old 3 → 5"), of(web, decision.AspectSize, "ReplicaSet", "web-1"), decision.ToneWaiting, telemetry.CodeOverdue,
			"shop/web is waiting: the next write scales old 3 → 5; that write has been due for 1m 13s, and nobody has made it." + ends},
		{said(decision.ToneMoving, "planned", "moving", "the next write scales old 3 → 5"), of(web, decision.AspectStatus, "Deployment", "web"), decision.ToneWaiting, telemetry.CodeOverdue,
			"shop/web is waiting: the next write scales old 3 → 5; its status has been due for 1m 13s, and nobody has written it." + ends},
		{said(decision.ToneOK, "settled", "settled", "2 of 2 available"), of(web, decision.AspectConditions, "Deployment", "web"), decision.ToneWaiting, telemetry.CodeOverdue,
			"shop/web is waiting: 2 of 2 available; its status has been due for 1m 13s, and nobody has written it." + ends},
		{said(decision.ToneOK, "settled", "settled", "2 of 2 available"), of(web, decision.AspectAnnotations, "Deployment", "web"), decision.ToneWaiting, telemetry.CodeOverdue,
			"shop/web is waiting: 2 of 2 available; an update of the annotations of Deployment web has been due for 1m 13s, and nobody has written it." + ends},
		{said(decision.ToneOK, "settled", "settled", "5 of 5 available"), of(child, decision.AspectCreation, "Pod", ""), decision.ToneWaiting, telemetry.CodeOverdue,
			"shop/web is waiting: as last reported, 5 of 5 available; the creation of pods for web-1 has been due for 1m 13s, and nobody has done it." + ends},
		{said(decision.ToneOK, "settled", "settled", "5 of 5 available"), of(web, decision.AspectCreation, "Pod", ""), decision.ToneWaiting, telemetry.CodeOverdue,
			"shop/web is waiting: 5 of 5 available; the creation of pods has been due for 1m 13s, and nobody has done it." + ends},
		{said(decision.ToneNeutral, "paused", "paused", "2 of 2 available"), of(child, decision.AspectDeletion, "Pod", "web-1-x"), decision.ToneWaiting, telemetry.CodeOverdue,
			"shop/web is paused: as last reported, 2 of 2 available; the deletion of pod web-1-x has been due for 1m 13s, and nobody has done it." + ends},
		{said(decision.ToneWaiting, "uncounted", "waiting", "2 are ready"), of(child, decision.AspectStatus, "ReplicaSet", "web-1"), decision.ToneWaiting, "uncounted",
			"shop/web is waiting: 2 are ready. Nothing was written; the status of ReplicaSet web-1 has been due for 1m 13s, and nobody has written it: check that kube-controller-manager runs."},
		{said(decision.ToneFailed, "deadline", "failed", "no progress"), of(web, decision.AspectSize, "ReplicaSet", "web-1"), decision.ToneFailed, "deadline",
			"shop/web is failed: no progress. Nothing was written; the size of ReplicaSet web-1 has been due for 1m 13s, and nobody has written it: check that kube-controller-manager runs."},
	} {
		got := Overdue(c.said, web, c.due)
		if text := got.At(now); text != c.want || got.Tone != c.tone || got.Code != c.code {
			t.Errorf("%s %s: %s\nwant %s %s: %s", got.Tone, got.Code, text, c.tone, c.code, c.want)
		}
		if turned := c.said.Tone != c.tone; turned != got.Since.Equal(c.due.At) {
			t.Errorf("%s: since %v", c.want, got.Since)
		}
	}
	if got := Overdue(decision.Sentence{}, web, of(web, decision.AspectStatus, "Deployment", "web")); len(got.Lead)+len(got.Then) > 0 || got.Tone != "" {
		t.Errorf("without a sentence: %+v", got)
	}
}
