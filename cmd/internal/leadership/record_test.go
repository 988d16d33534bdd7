package leadership_test

import (
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var seconds = regexp.MustCompile(`led for [0-9.]+s`)

// record keeps the syncs of a Lease.
type record struct {
	mu   sync.Mutex
	list []*telemetry.Trace
}

func (r *record) add(t *telemetry.Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, t)
}

// want says what the syncs should have said, each along the questions that are declared.
func (r *record) want(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var said []string
	for _, x := range r.list {
		text := x.Sentence.Lead.At(time.Time{})
		if then := x.Sentence.Then.At(time.Time{}); then != "" {
			text += "; " + seconds.ReplaceAllString(then, "led for a while") // It is looked at with jitter.
		}
		said = append(said, text)
		r.walk(t, x)
	}
	if !slices.Equal(said, want) {
		t.Errorf("it said %q\nwant %q", said, want)
	}
}

// walk goes along the path of a sync, as the catalogue has it, and looks for its code.
func (r *record) walk(t *testing.T, x *telemetry.Trace) {
	t.Helper()
	next := leadership.Loop.Catalogue.Questions[0].ID
	for i, step := range x.Path() {
		q, known := leadership.Loop.Catalogue.Find(step.Question)
		answer, can := q.Answer(step.Answer)
		if !known || !can || step.Question != next {
			t.Fatalf("step %d is %s=%s, want %s", i, step.Question, step.Answer, next)
		}
		if next = ""; len(answer.Next) == 0 {
			if at := slices.IndexFunc(leadership.Loop.Catalogue.Questions, func(other decision.Question) bool { return other.ID == q.ID }); at+1 < len(leadership.Loop.Catalogue.Questions) {
				next = leadership.Loop.Catalogue.Questions[at+1].ID
			}
		}
	}
	if next != "" {
		t.Errorf("the path ends before %s", next)
	}
	if leadership.Loop.Reasons[0].List == nil || !slices.ContainsFunc(leadership.Loop.Reasons[0].List, func(c decision.Reason) bool { return c.Code == x.Sentence.Code }) {
		t.Errorf("the code %q means nothing", x.Sentence.Code)
	}
}
