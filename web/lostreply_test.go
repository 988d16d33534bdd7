package web

import (
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
)

// TestLostReplyAmongRefusals: of pods that were created at once a sync's page says why some were
// refused, and that the end of others is not known.
func TestLostReplyAmongRefusals(t *testing.T) {
	full, lost := &decision.Failure{Code: 403, Reason: "Forbidden", Message: "exceeded quota"}, &decision.Failure{Reason: decision.Unreachable, Message: "connection reset by peer"}
	for want, o := range map[string]decision.Outcome{
		"0 done, 2 failed or not known, 1 not tried. exceeded quota (403 Forbidden); at least one reply was lost: connection reset by peer (Unreachable)": {State: decision.Unknown, Failed: 2, Untried: 1, Failure: full, Lost: lost},
		"1 done, 1 failed or not known, 0 not tried. connection reset by peer (Unreachable)":                                                              {State: decision.Unknown, Done: 1, Failed: 1, Failure: lost},
		"1 done, 1 failed, 1 not tried. exceeded quota (403 Forbidden)":                                                                                   {State: decision.Partly, Done: 1, Failed: 1, Untried: 1, Failure: full},
	} {
		w := newWorld(t, storyNow)
		x := plain("shop", "web-1")
		x.Loop, x.Result, x.Failure = "replicaset", telemetry.ResultUnknown, o.LostReply()
		x.Rounds = []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{{Kind: decision.CreatePods, Count: 3}}}, Outcomes: []decision.Outcome{o}}}
		w.journal.Record(x)
		_, h := w.serve(nil)
		_, raw := get(t, h.URL, address.Sync(x))
		if text := parse(t, raw).one("main"); !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
