package controllers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// actingRow is one row of the table of requests: what a loop finds, and what becomes of
// the request that it sends.
type actingRow struct {
	section, name string
	loop          string
	arrange       func(s *scene)
	over          lab.Transport
	// keep is set where the next sync's requests are answered like those of the first.
	keep bool
}

// played is what a row came to, as the table has it.
type played struct {
	cells    []string
	requests []lab.Sent // of the sync
	all      []lab.Sent // of the next one, too
}

// columns of the table.
var actingColumns = []string{"answer", "sent", "outcome", "sync", "remembered", "next sync"}

// play runs a row: one sync, and then another one of the same caches, whose
// requests are all answered.
func (x actingRow) play(t *testing.T) played {
	t.Helper()
	s := newScene(t, x.loop, x.over)
	x.arrange(s)
	trace := s.sync()
	if x.over != lab.ToNobody {
		s.events(s.told(trace))
	}
	requests := s.server.Requests()
	checkAgents(t, userAgents[x.loop], requests)
	cells := []string{x.name, shortOf(requests), outcomesOf(trace), endOf(trace), s.remembered(), ""}
	if x.over != lab.ToNobody {
		if !x.keep {
			s.server.AnswerAll()
		}
		next := s.sync()
		s.events(s.told(next))
		more := s.server.Requests()
		cells[5] = cmp.Or(shortOf(more), "nothing") + "; " + endOf(next)
	}
	return played{cells, requests, s.server.Everything()}
}

// checkAgents sees to it that the API server signs every request with the loop's name: it
// takes what the user agent begins with, as no request names another field manager.
func checkAgents(t *testing.T, agent string, requests []lab.Sent) {
	t.Helper()
	for _, r := range requests {
		if r.UserAgent != agent || strings.Contains(r.Query, "fieldManager") || strings.Contains(r.Query, "dryRun") {
			t.Errorf("%s %s?%s was sent by %q, want %q", r.Method, r.Path, r.Query, r.UserAgent, agent)
		}
	}
}

// told is how many events a sync has sent.
func (s *scene) told(t *telemetry.Trace) int {
	if t.Report == nil || s.opts.Mode == engine.Watch {
		return 0
	}
	return len(t.Report.Events)
}

// shortOf is the requests without their bodies. Those that go out at once, and events,
// which nobody waits for, are sorted.
func shortOf(requests []lab.Sent) string {
	var list, told []string
	for _, r := range requests {
		resource, name, sub := r.Parts()
		if resource == "events" {
			told = append(told, strings.TrimSpace(r.Method+" events "+r.Answer+" "+reasonOfEvent(r.Body)))
			continue
		}
		path := strings.TrimSuffix(strings.TrimSuffix(resource+"/"+name+"/"+sub, "/"), "/")
		line := r.Method + " " + path + " " + r.Answer
		list = append(list, line)
	}
	for i := 0; i < len(list); {
		end := i + 1
		for end < len(list) && kindOfLine(list[end]) == kindOfLine(list[i]) && kindOfLine(list[i]) != "" {
			end++
		}
		slices.Sort(list[i:end])
		i = end
	}
	slices.Sort(told)
	return strings.Join(timesOf(slices.Concat(list, told)), ", ")
}

// kindOfLine tells which requests go out at once: those of pods.
func kindOfLine(line string) string {
	for _, k := range []string{"POST pods", "DELETE pods"} {
		if strings.HasPrefix(line, k) {
			return k
		}
	}
	return ""
}

func reasonOfEvent(body any) string {
	event, _ := body.(map[string]any)
	reason, _ := event["reason"].(string)
	return reason
}

// timesOf puts a number behind what is said several times in a row.
func timesOf(list []string) (short []string) {
	for i := 0; i < len(list); {
		end := i + 1
		for end < len(list) && list[end] == list[i] {
			end++
		}
		line := list[i]
		if end-i > 1 {
			line += fmt.Sprint(" ×", end-i)
		}
		short = append(short, line)
		i = end
	}
	return short
}

// outcomesOf is how every action ended, round by round, and the status write.
func outcomesOf(t *telemetry.Trace) string {
	var rounds []string
	for _, r := range t.Rounds {
		var list []string
		if learnt := learntOf(r.Learnt); learnt != "" {
			list = append(list, "learnt "+learnt)
		}
		for i, o := range r.Outcomes {
			list = append(list, string(r.Verdict.Actions[i].Kind)+" "+outcomeText(o))
		}
		if len(list) > 0 {
			rounds = append(rounds, strings.Join(list, ", "))
		}
	}
	if t.Report != nil && t.Report.Outcome != nil {
		rounds = append(rounds, "status "+outcomeText(*t.Report.Outcome))
	}
	if t.Report != nil && t.Report.Hold {
		rounds = append(rounds, "status held back")
	}
	return strings.Join(rounds, "; ")
}

func learntOf(l decision.Learnt) string {
	if l.IsZero() {
		return ""
	}
	text, _ := json.Marshal(l)
	return string(text)
}

func outcomeText(o decision.Outcome) string {
	text := string(o.State)
	if o.RV != "" {
		text += " at " + o.RV
	}
	if len(o.Names) > 0 {
		slices.Sort(o.Names)
		text += " " + strings.Join(o.Names, "+")
	}
	if o.Done+o.Failed+o.Untried > 0 {
		text += fmt.Sprintf(" (%d done, %d failed, %d untried)", o.Done, o.Failed, o.Untried)
	}
	if o.Other != nil {
		text += fmt.Sprintf(" after %s's %s at %s", cmp.Or(o.Other.Manager, "nobody"), strings.Join(o.Other.Fields, "+"), o.Other.RV)
	}
	if o.Failure == nil {
		return text
	}
	return text + " [" + failureText(o.Failure) + "]"
}

func failureText(f *decision.Failure) string {
	text := strings.TrimSpace(fmt.Sprint(f.Code, " ", f.Reason))
	if f.Terminal {
		text += ", terminal"
	}
	return text
}

// endOf is the result of a sync and when its key is looked at again.
func endOf(t *telemetry.Trace) string {
	text := string(t.Result)
	if t.Failure != nil {
		text += " [" + failureText(t.Failure) + "]"
	}
	var timers []string
	for _, timer := range t.Timers {
		timers = append(timers, timer.Code)
	}
	if len(timers) > 0 {
		slices.Sort(timers)
		text += ", timers " + strings.Join(slices.Compact(timers), "+")
	}
	if !t.Try.Next.IsZero() {
		text += fmt.Sprint(", try ", t.Try.Number)
	}
	return text
}

// remembered is what the ledger and the expectations hold after a sync, and whether the
// next one has to read live.
func (s *scene) remembered() string {
	var list []string
	for _, e := range s.opts.Ledger.All() {
		text := e.Object + " at " + e.Written
		if e.Owner != "" && e.UID != e.Owner {
			text += " of " + string(e.Owner)
		}
		list = append(list, text)
	}
	for _, x := range s.loop.Waits().Expectations {
		list = append(list, fmt.Sprintf("expects %d creations, %d deletions", x.Creates, x.Deletes))
	}
	if s.loop.Unresolved("shop/web") {
		list = append(list, "reads live next")
	}
	if !s.loop.HeldSince("shop/web", "uid-web").IsZero() {
		since := lab.At.Sub(s.loop.HeldSince("shop/web", "uid-web"))
		list = append(list, fmt.Sprint("status due since ", since))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
