package web

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
)

// decisionsTwin is what programs read of the page.
type decisionsTwin struct {
	Page struct{ Branches []views.Branch }
}

// TestDecisionsPage counts the story's syncs and goes from an answer to them.
func TestDecisionsPage(t *testing.T) {
	longUnderRace(t)
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	stuckRollout(w)
	tally := telemetry.NewTally()
	ctx, cancel := context.WithCancel(t.Context())
	cancel2 := context.AfterFunc(t.Context(), cancel)
	defer cancel2()
	ended := make(chan struct{})
	go func() { defer close(ended); w.journal.Run(ctx) }()
	cancel() // Ended: readers take what is there and stop.
	<-ended
	tally.Run(t.Context(), w.journal)
	_, h := w.serve(func(o *Options) { o.Tally = tally })
	for _, loop := range testLoops.Names() {
		_, body := get(t, h.URL, "/decisions/"+loop)
		parse(t, body).sound()
	}
	var twin decisionsTwin
	_, raw := get(t, h.URL, "/decisions/deployment.json")
	if err := json.Unmarshal([]byte(raw), &twin); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, b := range twin.Page.Branches {
		for _, q := range b.Questions {
			sum := uint64(0)
			for _, a := range q.Answers {
				sum += a.Count
				if a.Count == 0 || a.Answer == "a number or name" {
					continue
				}
				if n := len(listed(t, h.URL, a.Href)); n == 0 {
					t.Errorf("%s=%s was given %d times, and its link lists no sync", q.ID, a.Answer, a.Count)
				}
				checked++
			}
			if sum != q.Asked {
				t.Errorf("%s was asked %d times and answered %d times", q.ID, q.Asked, sum)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d answers were ever given", checked)
	}
	if res, body := get(t, h.URL, "/decisions/daemonset"); res.StatusCode != 404 || !strings.Contains(body, "There is no loop daemonset.") {
		t.Errorf("a loop that there is not: %d", res.StatusCode)
	}
}

func listed(t *testing.T, base, href string) []views.Found {
	t.Helper()
	var twin foundTwin
	_, raw := get(t, base, strings.Replace(href, "/history?", "/history.json?", 1))
	if err := json.Unmarshal([]byte(raw), &twin); err != nil {
		t.Fatalf("%s: %v", href, err)
	}
	return twin.Page.Syncs
}

// TestEveryQuestionIsOnTheDecisionsPage holds the page to the catalogues.
func TestEveryQuestionIsOnTheDecisionsPage(t *testing.T) {
	w := newWorld(t, storyNow)
	s, h := w.serve(nil)
	for _, c := range catalogues(s.src.Loops) {
		_, body := get(t, h.URL, "/decisions/"+c.Loop)
		d := parse(t, body)
		for _, q := range c.Questions {
			if text := d.one("#" + q.ID); !strings.Contains(text, q.Text) || !hasAll(text, q.Answers) {
				t.Errorf("%s: %s", q.ID, text)
			}
		}
	}
}

func hasAll(text string, answers []decision.Answer) bool {
	for _, a := range answers {
		if !strings.Contains(text, a.Then) {
			return false
		}
	}
	return true
}
