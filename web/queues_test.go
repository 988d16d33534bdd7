package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestQueuesShowWhatALoopWaitsFor: the page and its twin have for every key
// its state, attempts, due time and time in each state; for every loop its lag,
// what it has not seen yet and how far it is in its caches; and who leads.
func TestQueuesShowWhatALoopWaitsFor(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	_, h := w.serve(func(o *Options) { o.Leadership = leading })
	_, body := get(t, h.URL, "/queues")
	page := parse(t, body).one("main")
	for _, want := range []string{"12 ms", "482330", "waited 32s, processing 2s", "cache at 482337", "5 creations"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	_, twin := get(t, h.URL, "/queues.json")
	var got struct {
		Page struct {
			Mode, Leader string
			Queues       []struct{ Name, Lag string }
			Keys         []struct {
				Keys []struct {
					Name, Spent string
					Attempts    int
					Due         time.Time
				}
			}
			Caches []struct{ Kind, RV, Handled string }
		}
	}
	if err := json.Unmarshal([]byte(twin), &got); err != nil {
		t.Fatal(err)
	}
	p := got.Page
	if p.Mode != "act" || p.Leader != "pod-7" || p.Queues[0].Lag != "12 ms" || p.Caches[0].Handled != "482330" {
		t.Errorf("the twin says %+v", p)
	}
	failing := 0
	for _, g := range p.Keys {
		for _, k := range g.Keys {
			if k.Name == "create-refused" && k.Attempts == 12 && k.Due.Equal(storyNow.Add(8*time.Second)) && k.Spent == "waited 32s, processing 2s" {
				failing++
			}
		}
	}
	if failing != 1 {
		t.Errorf("the key that keeps failing is not told in full: %+v", p.Keys)
	}
	_, debug := get(t, h.URL, "/debug/controllers/"+"deployment")
	for _, want := range []string{`"spent"`, `"attempts": 12`, `"handled": "482330"`, `"lag"`, `"written": "482340"`} {
		if !strings.Contains(debug, want) {
			t.Errorf("the debug page of the loop lacks %s", want)
		}
	}
}
