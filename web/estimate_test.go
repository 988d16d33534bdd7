package web

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/source"
)

// TestEstimatesAreShown: the page of a Deployment has one line for when its
// rollout may complete, with its basis or the reason why nobody knows, and its
// twin the same as numbers. Where no rollout is under way there is none.
func TestEstimatesAreShown(t *testing.T) {
	longUnderRace(t)
	w, base := told(t)
	seen := map[string]bool{}
	for _, row := range w.journal.Board().Rows("deployment") {
		e := (&Server{src: &source.Source{Loops: testLoops}}).src.Estimate(row.Trace)
		code := "none"
		if e != nil {
			code = e.Code
		}
		if seen[code] {
			continue
		}
		seen[code] = true
		_, body := get(t, base, address.Of(row.Trace.Object))
		if e == nil {
			if strings.Contains(body, `id="estimate"`) {
				t.Errorf("%s has an estimate on its page and none in its trace", row.Trace.Key())
			}
			continue
		}
		words, _, _ := strings.Cut(e.Words.At(storyNow), " in ")
		if line := parse(t, body).one("#estimate"); !strings.HasPrefix(line, words) {
			t.Errorf("the line is %q, want %q", line, e.Words.At(storyNow))
		}
		_, twin := get(t, base, address.Of(row.Trace.Object)+".json")
		var got struct {
			Page struct {
				Head struct {
					Estimate struct {
						Code     string
						From, To string
						Steps    int64
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(twin), &got); err != nil {
			t.Fatal(err)
		}
		if x := got.Page.Head.Estimate; x.Code != code || x.Steps != e.Steps || (x.To == "") != e.To.IsZero() {
			t.Errorf("the twin of %s says %+v, want %+v", row.Trace.Key(), x, e)
		}
	}
	for _, code := range []string{"none", decision.EstimateKnown, "image-pull"} {
		if !seen[code] {
			t.Errorf("no page with the estimate %q was read", code)
		}
	}
}
