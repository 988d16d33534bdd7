package web

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
)

// says is a sync that has this to say, and nothing more.
func says(name, lead string) *telemetry.Trace {
	t := plain("shop", name)
	t.Sentence = decision.Sentence{Namespace: "shop", Object: name, Tone: decision.ToneFailed, Verb: "has", State: "failed", Lead: decision.Words{}.Say(lead)}
	return t
}

// TestScrolling goes on with what the page has: only what was not in sight is sent.
func TestScrolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, storyNow)
		w.pump()
		a, b := says("a", "it is new"), says("b", "it is new")
		w.journal.Record(a)
		w.journal.Record(b)
		conn := w.dialInMemory("", page.PageProtocol, nil)
		here := live.Subscribe{Page: "/deployments", Epoch: "7c41", Rows: []string{address.Row(a.Object), address.Row(b.Object)}, Sight: 1}
		if err := conn.WriteJSON(here); err != nil {
			t.Fatal(err)
		}
		if m := receive[live.Update](t, conn); len(ids(m)) < 5 {
			t.Fatalf("the first message has %d fragments", len(m.Frags))
		}
		next := func(id string) string {
			t.Helper()
			for {
				got := ids(receive[live.Update](t, conn))
				if got["f-twin"] != "" {
					t.Fatal("the page was sent anew")
				}
				if got[id] != "" {
					return got[id]
				}
			}
		}
		w.journal.Record(says("b", "it is old"))
		next(here.Rows[1]) // The first of the rows out of sight need not wait.
		w.journal.Record(says("b", "it is older"))
		w.journal.Record(says("a", "it is seen"))
		next(here.Rows[0])
		began := time.Now()
		here.Rows, here.Scrolled = []string{here.Rows[1], here.Rows[0]}, true
		if err := conn.WriteJSON(here); err != nil {
			t.Fatal(err)
		}
		if html := next(here.Rows[0]); !strings.Contains(html, "It is older") {
			t.Errorf("b came into sight as %s", html)
		}
		if took := time.Since(began); took > live.CalmEvery/2 {
			t.Errorf("b came into sight and was sent %s later", took)
		}
	})
}
