package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/decision/decisiontest"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

// claims is a world with some syncs of that loop, declared or not.
func claims(t testing.TB, loops decision.Loops) *world {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: loops, Epoch: "7c41", Clock: func() time.Time { return storyNow.Add(-2 * time.Hour) }})
	for i, s := range []decisiontest.Claim{{Name: "disk", Bound: true, Size: 3}, {Name: "disk", Size: 4}, {Name: "tape", Bound: true, Size: 1}} {
		s.Now = storyNow.Add(time.Duration(i-10) * time.Minute)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		x := &telemetry.Trace{Object: telemetry.Object{Loop: "claim", Namespace: "shop", Name: s.Name}, Snapshot: telemetry.SnapshotText(text), UID: s.Name,
			Queued: s.Now, Started: s.Now, Ended: s.Now.Add(time.Millisecond),
			Causes: []telemetry.Cause{{Kind: telemetry.CauseModified, At: s.Now, Object: "Claim " + s.Name, OldRV: "6", NewRV: words.Digits(7 + i), Manager: "kubectl",
				Fields: []decision.Change{{Field: "spec.size", From: "3", To: words.Digits(s.Size)}}}}}
		w.journal.Record(w.run(x, s.Begin(), script{}))
	}
	w.pump()
	return w
}

// claimPages are every page of an object of that loop.
func claimPages(w *world) []string {
	disk := w.journal.Of(telemetry.Object{Loop: "claim", Namespace: "shop", Name: "disk"}, source.HistoryRows)[1]
	return []string{"/claims", address.Of(disk.Object), address.Of(disk.Object) + "/story", address.Sync(disk), address.Sync(disk) + "/chain"}
}

// TestForeignLoop: a loop that is declared gets everything that all loops have, without a
// word about it anywhere else; and one that is not still has its pages.
func TestForeignLoop(t *testing.T) {
	for name, loops := range map[string]decision.Loops{"declared": append(slices.Clone(testLoops), decisiontest.Loop), "alone": {decisiontest.Loop}, "undeclared": testLoops} {
		t.Run(name, func(t *testing.T) {
			w, kind := claims(t, loops), "Claim"
			if name == "undeclared" {
				kind = "claim"
			}
			s, h := w.serve(nil)
			for _, path := range claimPages(w) {
				res, body := get(t, h.URL, path)
				d := parse(t, body)
				d.sound()
				if res.StatusCode != http.StatusOK || strings.Contains(d.one("main"), "Deployment") {
					t.Errorf("%s: %s, %s", path, res.Status, d.one("main"))
				}
				if name == "undeclared" && strings.Contains(body, "/decisions/claim") {
					t.Errorf("%s leads to questions that nobody declared", path)
				}
				if _, twin := get(t, h.URL, path, "Accept", "application/json"); !strings.Contains(twin, "disk") {
					t.Errorf("the twin of %s is %s", path, twin)
				}
				if to, err := (site{s}).Find(path); strings.Count(path, "/") <= 3 && (err != nil || to == nil) {
					t.Errorf("%s is not live: %v", path, err)
				}
			}
			_, list := get(t, h.URL, "/claims")
			if head := parse(t, list).one("h1"); !strings.HasPrefix(head, "1 "+kind+" is waiting.") {
				t.Errorf("the list says %q", head)
			}
			_, page := get(t, h.URL, "/claims/shop/disk")
			for _, want := range []string{"its volume is not bound", "Held back", "C-1", "spec.size 3 → 4", "kubectl", `href="/claims"`} {
				if !strings.Contains(page, want) {
					t.Errorf("the page of the object does not say %q", want)
				}
			}
			_, found := get(t, h.URL, "/history?q=loop:claim+asked:C-1=no")
			if d := parse(t, found); !strings.Contains(d.one("main"), "disk") || strings.Contains(d.one("main"), "tape") {
				t.Errorf("the search finds %s", d.one("main"))
			}
			for _, path := range []string{"/claim", "/claim/shop/disk", "/deployment", "/replicasets", "/replicasets/shop/web/story", "/nothings", "/nothings/shop/web", "/nothings/shop/web/story"} {
				if res, _ := get(t, h.URL, path); res.StatusCode != http.StatusNotFound {
					t.Errorf("%s: %s", path, res.Status)
				}
				if _, err := (site{s}).Find(path); err == nil {
					t.Errorf("%s can be watched", path)
				}
			}
			if res, _ := get(t, h.URL, "/claims/shop/none"); res.StatusCode != http.StatusNotFound {
				t.Errorf("what is not there: %s", res.Status)
			}
			declared := name != "undeclared"
			for _, path := range []string{"/decisions/claim", "/reasons/unbound"} {
				if res, body := get(t, h.URL, path); (res.StatusCode == http.StatusOK) != declared || declared && !strings.Contains(body, "C-1") {
					t.Errorf("%s: %s", path, res.Status)
				}
			}
			if declared != strings.Contains(page, "Is its volume bound?") {
				t.Error("the question has its text where it is declared, and nowhere else")
			}
		})
	}
}
