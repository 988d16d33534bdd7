package web

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
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

// Where the syncs of another process are shown, no queue of this one passes for its: the page says where
// they are, and rows, debug pages and filters that they are not known.
func TestQueuesOfAnotherProcess(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.journal.Record(plain("shop", "web"))
	own := telemetry.QueueState{Name: "deployment", Workers: 5, Ready: 1, Adds: 776655, Keys: []telemetry.KeyState{{Key: "shop/web", Phase: telemetry.KeyReady, Since: storyNow}}}
	state := []telemetry.LoopState{{Name: "deployment", Mode: "standby", Running: true, Queue: own, Echoes: []telemetry.EchoState{{Object: "Deployment shop/web"}}}}
	_, h := w.serve(func(o *Options) {
		o.Elsewhere, o.Loops = true, func() []telemetry.LoopState { return state }
		o.Leadership = func() telemetry.Leadership {
			l := led()
			following(telemetry.Following{Connected: true, Shown: true})(&l)
			return l
		}
	})
	for path, want := range map[string]string{
		"/queues":                       "The queues are in the process that leads. pod-1_c0ffee sends what its syncs did, and not what waits in its work queues; its own console at https://10.0.0.1:10443 shows them.",
		"/deployments":                  "not known",
		"/deployments?q=is:ready":       "Nothing matches is:ready. 1 Deployment is here without a filter. What is in the work queues is not known here: they are in the process that leads.",
		"/debug/controllers":            "keys not known here, 1 object",
		"/debug/controllers/deployment": `"workers": 5`,
		"/about":                        "5 workers, mode standby",
	} {
		_, body := get(t, h.URL, path)
		text := strings.Join(strings.Fields(anyTag.ReplaceAllString(body, " ")), " ")
		if !strings.Contains(strings.ReplaceAll(text, " .", "."), want) {
			t.Errorf("%s: no %q in %s", path, want, text)
		}
		if strings.Contains(strings.ReplaceAll(body, ",", ""), "776655") || strings.Contains(body, `"echoes"`) {
			t.Errorf("%s has the queue of this process: %s", path, text)
		}
	}
	given := telemetry.Leadership{}
	_, h = w.serve(func(o *Options) { o.Elsewhere, o.Leadership = true, func() telemetry.Leadership { return given } })
	if _, body := get(t, h.URL, "/queues"); !strings.Contains(anyTag.ReplaceAllString(body, ""), "The leader sends what its syncs did") {
		t.Errorf("while nobody has the Lease: %s", body)
	}
	if state[0].Queue.Adds != 776655 {
		t.Error("the states of this process are changed")
	}
}

var anyTag = regexp.MustCompile(`<[^>]*>`)

// Where nobody tells the console of work queues, as in a recording, rows, filters and the page of the
// queues say that they are not known, and why.
func TestQueuesThatNobodyTellsOf(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.journal.Record(plain("shop", "web"))
	for _, c := range []struct {
		name, queues, filtered string
		change                 func(*Options)
	}{
		{"a recording", "A recording has no queues.", "What was in the work queues is not known: a recording does not have them.",
			func(o *Options) {
				o.Loops, o.Recording = nil, &Recording{From: storyNow.Add(-2 * time.Hour), To: storyNow}
			}},
		{"a recording with loops", "A recording has no queues.", "What was in the work queues is not known: a recording does not have them.",
			func(o *Options) { o.Recording = &Recording{From: storyNow.Add(-2 * time.Hour), To: storyNow} }},
		{"no loops", "The queues are not known here.", "What is in the work queues is not known here: this program does not tell its console (web.Options.Loops).",
			func(o *Options) { o.Loops = nil }},
	} {
		_, h := w.serve(c.change)
		for path, want := range map[string]string{
			"/queues":                    c.queues,
			"/deployments.json":          `"queue": "not known"`,
			"/deployments?q=is:back-off": "Nothing matches is:back-off. 1 Deployment is here without a filter. " + c.filtered,
			"/deployments?q=is:idle":     "Nothing matches is:idle.",
		} {
			_, body := get(t, h.URL, path)
			text := strings.ReplaceAll(strings.Join(strings.Fields(anyTag.ReplaceAllString(body, " ")), " "), " .", ".")
			if !strings.Contains(text, want) || strings.Contains(text, "no timer") || strings.Contains(text, "No loop has started yet") {
				t.Errorf("%s: %s: no %q, or what is not so, in %s", c.name, path, want, text)
			}
		}
	}
	_, h := w.serve(func(o *Options) {
		o.Loops, o.Queue = nil, func(string) telemetry.QueueState { return telemetry.QueueState{} }
	})
	if _, body := get(t, h.URL, "/deployments.json"); !strings.Contains(body, `"queue": "idle"`) {
		t.Errorf("with Queue alone: %s", body)
	}
}
