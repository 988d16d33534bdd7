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

// claims is a world with some syncs of that loop, declared or not, of objects in a namespace
// or, with "", in none.
func claims(t testing.TB, loops decision.Loops, namespace string) *world {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: loops, Epoch: "7c41", Clock: func() time.Time { return storyNow.Add(-2 * time.Hour) }})
	for i, s := range []decisiontest.Claim{{Name: "disk", Bound: true, Size: 3}, {Name: "disk", Size: 4}, {Name: "tape", Bound: true, Size: 1}} {
		s.Namespace = namespace
		s.Now = storyNow.Add(time.Duration(i-10) * time.Minute)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		x := &telemetry.Trace{Object: telemetry.Object{Loop: "claim", Namespace: namespace, Name: s.Name}, Snapshot: telemetry.SnapshotText(text), UID: s.Name,
			Queued: s.Now, Started: s.Now, Ended: s.Now.Add(time.Millisecond),
			Causes: []telemetry.Cause{{Kind: telemetry.CauseModified, At: s.Now, Object: "Claim " + s.Name, OldRV: "6", NewRV: words.Digits(7 + i), Manager: "kubectl",
				Fields: []decision.Change{{Field: "spec.size", From: "3", To: words.Digits(s.Size)}}}}}
		w.journal.Record(w.run(x, s.Begin(), script{}))
	}
	w.pump()
	return w
}

// claimPages are every page of an object of that loop.
func claimPages(w *world, namespace string) []string {
	disk := w.journal.Of(telemetry.Object{Loop: "claim", Namespace: namespace, Name: "disk"}, source.HistoryRows)[1]
	return []string{"/claims", address.Of(disk.Object), address.Of(disk.Object) + "/story", address.Sync(disk), address.Sync(disk) + "/chain"}
}

// TestForeignLoop: a loop that is declared gets everything that all loops have, without a
// word about it anywhere else; and one that is not still has its pages.
func TestForeignLoop(t *testing.T) {
	for name, loops := range map[string]decision.Loops{"declared": append(slices.Clone(testLoops), decisiontest.Loop), "alone": {decisiontest.Loop}, "undeclared": testLoops} {
		t.Run(name, func(t *testing.T) {
			w, kind := claims(t, loops, "shop"), "Claim"
			if name == "undeclared" {
				kind = "claim"
			}
			s, h := w.serve(nil)
			for _, path := range claimPages(w, "shop") {
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
			for _, path := range []string{"/claim", "/claim/shop/disk", "/deployment", "/replicaset", "/replicasets/shop/web/story", "/nothings", "/nothings/shop/web", "/nothings/shop/web/story"} {
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

// Objects without a namespace have every page that others have, under an address that no
// namespace can have, and are called by their name alone.
func TestNoNamespace(t *testing.T) {
	w := claims(t, decision.Loops{decisiontest.Loop}, "")
	s, h := w.serve(func(o *Options) {
		o.Loops = func() []telemetry.LoopState { return []telemetry.LoopState{{Name: "claim"}} }
	})
	for _, path := range claimPages(w, "") {
		if path != "/claims" && !strings.HasPrefix(path, "/claims/-/disk") {
			t.Errorf("a page is at %s", path)
		}
		res, body := get(t, h.URL, path)
		parse(t, body).sound()
		if res.StatusCode != http.StatusOK || strings.Contains(parse(t, body).one("main"), " /disk") {
			t.Errorf("%s: %s, %s", path, res.Status, parse(t, body).one("main"))
		}
		if _, twin := get(t, h.URL, path, "Accept", "application/json"); !strings.Contains(twin, "disk") {
			t.Errorf("the twin of %s is %s", path, twin)
		}
		if to, err := (site{s}).Find(path); strings.Count(path, "/") <= 3 && (err != nil || to == nil) {
			t.Errorf("%s is not live: %v", path, err)
		}
	}
	for from, want := range map[string]string{"/claims": `href="/claims/-/disk"`, "/claims?q=disk": "claims/-/disk", "/history?q=disk": "claims/-/disk/syncs/", "/debug/controllers/claim": "/debug/controllers/claim/-/disk"} {
		if _, body := get(t, h.URL, from); !strings.Contains(body, want) {
			t.Errorf("%s does not lead to %s:\n%s", from, want, body)
		}
	}
	if res, _ := get(t, h.URL, "/debug/controllers/claim/-/disk"); res.StatusCode != http.StatusOK {
		t.Errorf("its debug endpoint: %s", res.Status)
	}
	_, page := get(t, h.URL, "/claims/-/disk")
	if head := parse(t, page).one("h1"); !strings.HasPrefix(head, "disk is waiting") {
		t.Errorf("its page says %q", head)
	}
}

// The console of another program names nothing that is only in ours: no loops, flags, rules or
// keys of ours, and no caches that nobody told it of.
func TestEmbeddedConsole(t *testing.T) {
	loop := decisiontest.Loop
	loop.Catalogue = decision.Catalogue{}
	w := claims(t, decision.Loops{loop}, "shop")
	_, h := w.serve(func(o *Options) {
		o.Rules, o.Loops = nil, func() []telemetry.LoopState { return []telemetry.LoopState{{Name: "claim", Running: true}} }
	})
	for _, path := range append(claimPages(w, "shop"), "/history", "/queues", "/claims/shop/none") {
		_, body := get(t, h.URL, path)
		if !strings.Contains(body, "Claim") {
			t.Errorf("%s leads to no list: %s", path, body)
		}
		for _, ours := range []string{"Deployment", "ReplicaSet", "loopscope manager", "RR-3", "What Kubernetes shows", ">Decisions", ">Shadow", " Decisions", " Shadow", "Caches"} {
			if strings.Contains(body, ours) {
				t.Errorf("%s speaks of %q", path, ours)
			}
		}
	}
}

// A loop that does nothing here says so and why before anything else, in its list and of each object.
func TestIdleLoops(t *testing.T) {
	for _, c := range []struct {
		state           telemetry.LoopState
		heading, reason string
	}{
		{telemetry.LoopState{Mode: telemetry.ModeOff}, "The Deployment loop does not run here.", "--controllers"},
		{telemetry.LoopState{Mode: telemetry.ModeOff}, "The Deployment loop does not run here.", "Nothing that happens to Deployments is recorded here;"},
		{telemetry.LoopState{Mode: telemetry.ModeSkipped, Caches: []telemetry.CacheState{{Resource: "deployments", Unserved: true}, {Resource: "pods", Synced: true}, {Resource: "replicasets", Unserved: true}}},
			"The Deployment loop is skipped.", "The API server does not serve deployments and replicasets."},
		{telemetry.LoopState{Mode: "act", Caches: []telemetry.CacheState{{Resource: "deployments"}, {Resource: "pods", Synced: true}}}, "The Deployment loop waits for its caches.", "It has not listed deployments yet"},
	} {
		c.state.Name = "deployment"
		w := newWorld(t, storyNow)
		_, h := w.serve(func(o *Options) {
			o.Loops = func() []telemetry.LoopState { return []telemetry.LoopState{c.state} }
		})
		_, list := get(t, h.URL, "/deployments")
		if head := parse(t, list).one("h1"); head != c.heading || !strings.Contains(list, c.reason) {
			t.Errorf("%s: the list says %q", c.heading, head)
		}
		res, page := get(t, h.URL, "/deployments/shop/web")
		if main := parse(t, page).one("main"); !strings.Contains(main, c.heading) || !strings.Contains(main, c.reason) || res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s: %s", c.heading, res.Status, main)
		}
	}
}
