package web

import (
	"context"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/history"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/words"
)

// archived is the story's syncs in a real file, behind a console whose own
// journal is of a later run and has none of them.
func archived(t *testing.T) (earlier *world, base string) {
	t.Helper()
	earlier = newWorld(t, storyNow.Add(-2*time.Hour))
	earlier.goldens()
	stuckRollout(earlier)
	store, err := history.Open(filepath.Join(t.TempDir(), "history.db"), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	for seq := uint64(1); seq <= earlier.journal.Last(); seq++ {
		x, _ := earlier.journal.Get(seq)
		if err := store.Add(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	later := newWorld(t, storyNow)
	later.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "later", Clock: func() time.Time { return storyNow }})
	_, h := later.serve(func(o *Options) { o.Archive = store })
	return earlier, h.URL
}

// foundTwin is what programs read of a search.
type foundTwin struct {
	Page struct {
		Syncs []views.Found
		Next  string
	}
}

func TestHistorySearch(t *testing.T) {
	longUnderRace(t)
	_, base := archived(t)
	count := func(q string) int {
		t.Helper()
		var twin foundTwin
		_, raw := get(t, base, "/history.json?q="+url.QueryEscape(q))
		if err := json.Unmarshal([]byte(raw), &twin); err != nil {
			t.Fatalf("%s: %v: %s", q, err, raw)
		}
		return len(twin.Page.Syncs)
	}
	for _, c := range []struct {
		q    string
		some bool
	}{
		{"", true}, {"ns:shop", true}, {"ns:nowhere", false}, {"name:web loop:deployment", true}, {"eb", true}, {"zz", false}, {"web", true},
		{"is:wrote ns:shop", true}, {"asked:RR-2.surge-left=no", false}, {"until:2020-01-01", false}, {"since:2020-01-01", true},
	} {
		if n := count(c.q); (n > 0) != c.some {
			t.Errorf("%q finds %d syncs", c.q, n)
		}
	}
	if all, unknown := count(""), count("colour:red"); all != unknown {
		t.Errorf("an unknown term finds %d of %d", unknown, all)
	}
	_, body := get(t, base, "/history?q=colour:red+ns:shop")
	d := parse(t, body)
	d.sound()
	if text := d.one("main"); !strings.Contains(text, "Terms: ") {
		t.Error("the page does not say which terms are known")
	}
}

// TestHistorySearchesOneOfAKind: a second term of a kind is marked as not searched for, and why.
func TestHistorySearchesOneOfAKind(t *testing.T) {
	w := newWorld(t, storyNow)
	for _, name := range []string{"web", "shop-web", "api"} {
		w.journal.Record(plain("shop", name))
	}
	w.journal.Record(plain("data", "api"))
	_, h := w.serve(nil)
	const once, terms = "Only the first term of each kind", "Terms: "
	for _, c := range []struct {
		q     string
		finds int
		marks string // of terms
		says  string
		not   string
	}{
		{"web shop", 2, "shop", once, terms},
		{"ns:shop ns:data", 3, "ns:data", once, terms},
		{"NS:shop ns:data api", 1, "ns:data", once, terms},
		{"asked:RR-2=yes asked:RR-3.may-go=no", 0, "asked:RR-3.may-go=no", once, terms},
		{"since:2020-01-01 until:2026-11-22 since:1s", 4, "since:1s", once, terms},
		{"class:none class:other ns:data ns:shop", 1, "class:none class:other ns:shop", terms, ""},
		{"is:unchanged is:failed name:api ap", 2, "", "", once},
		{"is:nothing_to_write loop:deploy ns:data", 1, "", "", terms},
		{"loop:rs", 0, "", "", terms},
		{"shop/web", 2, "", "", terms},
		{"data/ap", 1, "", "", terms},
		{"op/web", 0, "", "Nothing that is kept matches op/web.", terms},
		{"Deployment shop/web", 2, "", "", terms},
		{"kind:ReplicaSet", 4, "kind:ReplicaSet", "kind:ReplicaSet is not understood, and was left out. Terms: a part of a name, NAMESPACE/PART,", once},
		{"reason:quota since:abc web api", 2, "reason:quota since:abc api", "reason:quota and since:abc are not understood, and were left out. Terms: ", "api is not"},
		{"web api", 2, "api", "api was left out. Only the first term of each kind is searched for", terms},
		{"asked:RR-3.nowhere", 0, "", "Nothing that is kept matches asked:RR-3.nowhere. No loop here asks a question RR-3.nowhere: here are all questions.", terms},
		{"asked:RR-3.may-go", 0, "", "Nothing that is kept matches asked:RR-3.may-go.", "No loop here"},
		{"is:failed", 0, "", "Nothing that is kept matches is:failed. Here, is: asks how a sync ended, not how its object was. To find syncs that saw an object in trouble, search for one of the codes of its sentence, such as code:image-pull.", terms},
		{"is:stale", 0, "", "Nothing that is kept matches is:stale.", "how its object was"},
		{"is:settled", 4, "is:settled", "is:settled is not understood, and was left out.", once},
		{"is:moving", 4, "is:moving", "RESULT is how the sync ended, not how its object was (see code:)", once},
		{"is:done loop:pods ns:data", 1, "is:done loop:pods", ": wrote, unchanged,", once},
	} {
		var twin struct {
			Page struct {
				Syncs  []views.Found
				Filter views.Filter
			}
		}
		_, raw := get(t, h.URL, "/history.json?q="+url.QueryEscape(c.q))
		if err := json.Unmarshal([]byte(raw), &twin); err != nil {
			t.Fatalf("%s: %v: %s", c.q, err, raw)
		}
		var marked []string
		for _, chip := range twin.Page.Filter.Chips {
			if chip.Unknown {
				marked = append(marked, chip.Text)
			}
		}
		_, body := get(t, h.URL, "/history?q="+url.QueryEscape(c.q))
		text := parse(t, body).one("main")
		if len(twin.Page.Syncs) != c.finds || strings.Join(marked, " ") != c.marks || !strings.Contains(text, c.says) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%q finds %d syncs and marks %q: %.400s", c.q, len(twin.Page.Syncs), marked, text)
		}
	}
}

func TestHistoryPaging(t *testing.T) {
	longUnderRace(t)
	_, base := archived(t)
	seen, address := map[string]bool{}, "/history.json"
	for pages := 0; address != ""; pages++ {
		var twin foundTwin
		_, raw := get(t, base, address)
		if err := json.Unmarshal([]byte(raw), &twin); err != nil || pages > 50 {
			t.Fatalf("page %d: %v", pages, err)
		}
		for _, f := range twin.Page.Syncs {
			if seen[f.Href] {
				t.Errorf("%s is listed twice", f.Href)
			}
			seen[f.Href] = true
		}
		address = strings.Replace(twin.Page.Next, "/history?", "/history.json?", 1)
	}
	if len(seen) <= 50 {
		t.Errorf("all pages together list %d syncs", len(seen))
	}
	res, _ := get(t, base, "/history?after=no-cursor")
	if res.StatusCode != 400 {
		t.Errorf("a cursor that was never given out: status %d", res.StatusCode)
	}
}

// TestPagesOfAnEarlierRun opens what only the history has: permalinks, chains,
// the object as of then, and its story.
func TestPagesOfAnEarlierRun(t *testing.T) {
	longUnderRace(t)
	earlier, base := archived(t)
	x, _ := earlier.journal.Board().Get(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"})
	for path, want := range map[string]string{
		address.Sync(x):                                       "Sync " + words.Digits(x.Seq) + " of shop/web",
		address.Sync(x) + "/chain":                            "What led to it",
		"/deployments/shop/web":                               "shop/web",
		"/deployments/shop/web?at=2026-11-21T03:00:00Z":       "shop/web",
		"/deployments/shop/web/story":                         "and was not settled then.",
		"/deployments/shop/web/story?at=2026-11-21T03:00:00Z": "and was not settled then.",
		"/deployments/shop/web?at=2020-01-01":                 "No sync of shop/web from that time is kept. It was asked for 2020-01-01T00:00:00Z; syncs are kept since 2026-03-01 12:00:00 UTC.",
		"/deployments/shop/web/story?at=2020-01-01":           "syncs are kept since 2026-03-01 12:00:00 UTC.",
		"/deployments/shop/web?at=2026-03-02":                 "syncs are kept since 2026-03-01 12:00:00 UTC, and none of this object began between then and that time.",
		"/deployments/shop/web/syncs/7c41/999999":             "earlier run",
	} {
		_, body := get(t, base, path)
		d := parse(t, body)
		d.sound()
		if text := d.one("main"); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%.600s", path, want, text)
		}
	}
}

// TestHistoryOfTheJournal searches what is in memory, where there is no file.
func TestHistoryOfTheJournal(t *testing.T) {
	_, base := told(t)
	_, body := get(t, base, "/history?q=name:web+loop:deployment+is:wrote")
	d := parse(t, body)
	d.sound()
	text := d.one("main")
	for _, want := range []string{"are kept", "--history=FILE", "shop/web"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %.400s", want, text)
		}
	}
}

// briefArchive looks at so little for a page that it finds nothing there, which
// a real one does only among many thousands of syncs.
type briefArchive struct{ telemetry.Archive }

func (briefArchive) Search(context.Context, telemetry.Query) (telemetry.Hits, error) {
	return telemetry.Hits{Next: "further"}, nil
}

// TestHistoryLooksFurther: a page that found nothing so far does not say that
// nothing is there.
func TestHistoryLooksFurther(t *testing.T) {
	w, _ := told(t)
	_, h := w.serve(func(o *Options) { o.Archive = briefArchive{w.journal.Archive()} })
	_, body := get(t, h.URL, "/history?q=ns:shop")
	text := parse(t, body).one("main")
	if !strings.Contains(text, "Older syncs have not been searched yet") || strings.Contains(text, "Nothing that is kept") || !strings.Contains(body, "after=further") {
		t.Errorf("the page says %.400s", text)
	}
}

// TestHistoryIsInOrder: syncs are shown by when they started, in whatever order they ended.
func TestHistoryIsInOrder(t *testing.T) {
	w := newWorld(t, storyNow)
	for i, started := range []int{3, 1, 2} {
		x := plain("shop", "web")
		x.Started = storyNow.Add(time.Duration(started-60) * time.Second)
		x.Ended = storyNow.Add(time.Duration(i-20) * time.Second)
		w.journal.Record(x)
	}
	_, h := w.serve(nil)
	var twin foundTwin
	_, body := get(t, h.URL, "/history.json")
	if err := json.Unmarshal([]byte(body), &twin); err != nil {
		t.Fatal(err)
	}
	if len(twin.Page.Syncs) != 3 || !slices.IsSortedFunc(twin.Page.Syncs, func(a, b views.Found) int { return b.At.Compare(a.At) }) {
		t.Errorf("syncs: %+v", twin.Page.Syncs)
	}
}
