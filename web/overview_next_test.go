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
	"github.com/loopscope/loopscope/web/words"
)

// listTwin is what programs read of a list.
type listTwin struct {
	Page struct {
		Groups []struct{ Rows []struct{ Name string } }
		Shown  string
		Next   string
		Empty  *struct{ Code string }
	}
}

// rowsAt are the names of one page of a list, and the address of the next.
func rowsAt(t *testing.T, base, address string) (names []string, twin listTwin) {
	t.Helper()
	res, body := get(t, base, strings.Replace(address, "/deployments", "/deployments.json", 1))
	if err := json.Unmarshal([]byte(body), &twin); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %.300s", address, res.Status, err, body)
	}
	for _, g := range twin.Page.Groups {
		for _, r := range g.Rows {
			names = append(names, r.Name)
		}
	}
	return names, twin
}

// syncedAs is a sync of a Deployment, which has had that tone since then.
func syncedAs(name string, since time.Duration, tone decision.Tone) *telemetry.Trace {
	x := plain("many", name)
	x.Ended, x.Sentence.Tone = storyNow.Add(-since), tone
	return x
}

// TestNextPage: whatever becomes of the last row of a page, the next one goes on where that ended.
func TestNextPage(t *testing.T) {
	for change, changed := range map[string]func(name string) *telemetry.Trace{
		"settled": func(name string) *telemetry.Trace { return syncedAs(name, 0, decision.ToneOK) },
		"failed":  func(name string) *telemetry.Trace { return syncedAs(name, 0, decision.ToneFailed) },
		"moves":   func(name string) *telemetry.Trace { return syncedAs(name, 0, decision.ToneMoving) },
		"gone": func(name string) *telemetry.Trace {
			x := syncedAs(name, 0, decision.ToneOK)
			x.Gone = true
			return x
		},
		"nothing": nil,
	} {
		for _, first := range []string{"/deployments", "/deployments?q=is:waiting", "/deployments?q=is:waiting+ns:many"} {
			t.Run(change+" "+first, func(t *testing.T) {
				w := newWorld(t, storyNow.Add(-2*time.Hour))
				var want []string
				for i := range 250 {
					want = append(want, "d-"+words.Digits(i*7%250)) // The order is not that of the names.
					w.journal.Record(syncedAs(want[i], time.Hour-time.Duration(i)*time.Second, decision.ToneWaiting))
				}
				_, h := w.serve(nil)
				got, twin := rowsAt(t, h.URL, first)
				if !slices.Equal(got, want[:100]) {
					t.Fatalf("the first page has %v", got)
				}
				if changed != nil {
					w.journal.Record(changed(want[99]))
				}
				got, twin = rowsAt(t, h.URL, twin.Page.Next)
				if !slices.Equal(got, want[100:200]) {
					t.Fatalf("the second page, %q, has %v", twin.Page.Shown, got)
				}
				got, twin = rowsAt(t, h.URL, twin.Page.Next)
				if len(got) < 50 || !slices.Equal(got[:50], want[200:]) || twin.Page.Next != "" {
					t.Fatalf("the third page has %v", got)
				}
			})
		}
	}
}

// TestNextPageIsEmpty: where nothing comes after a place any more, the page says that and leads
// to the first one of the same filter.
func TestNextPageIsEmpty(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.journal.Record(syncedAs("a", time.Hour, decision.ToneWaiting))
	_, h := w.serve(nil)
	res, body := get(t, h.URL, "/deployments?q=is:waiting&after=waiting~2026-11-21T23:00:00Z~many/b")
	d := parse(t, body)
	d.sound()
	if text := d.one("main"); res.StatusCode != http.StatusOK || !strings.Contains(text, "No Deployment comes after this place in the list any more.") || strings.Contains(text, " of 1.") ||
		!strings.Contains(body, `href="/deployments?q=is%3Awaiting">the first page`) {
		t.Errorf("%s: %s", res.Status, text)
	}
}

// TestCursorOfAKey: an address of before, whose cursor is a key alone, leads to what comes after
// that row now, also where the filter leaves the row itself out.
func TestCursorOfAKey(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.journal.Record(syncedAs("a", time.Hour, decision.ToneFailed))
	w.journal.Record(syncedAs("c", time.Hour, decision.ToneWaiting))
	w.journal.Record(syncedAs("b", time.Minute, decision.ToneWaiting))
	_, h := w.serve(nil)
	for address, want := range map[string]string{"/deployments?after=many/a": "c b", "/deployments?after=many/c": "b", "/deployments?q=is:waiting&after=many/a": "c b"} {
		if got, _ := rowsAt(t, h.URL, address); strings.Join(got, " ") != want {
			t.Errorf("%s has %v, want %s", address, got, want)
		}
	}
}
