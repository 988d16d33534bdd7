package decision

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// making is a sync that makes a ReplicaSet and two pods, and deletes another one. It says so in its events, or stops.
type making struct{ stops bool }

func (m making) Begin() Core                                 { return m }
func (making) Taken() time.Time                              { return time.Time{} }
func (making) Learn(Round, Learnt)                           {}
func (making) Tell([]Round, *Report, Try, time.Time) Telling { return Telling{} }

func (making) Decide() Verdict {
	return Verdict{Actions: []Action{
		{Kind: CreateReplicaSet, Target: Ref{Kind: "ReplicaSet", Name: "web-1"}, Count: 1},
		{Kind: Create, Target: Ref{Kind: "ReplicaSet", Name: "single"}, Count: 1},
		{Kind: CreatePods, Target: Ref{Kind: "Pod"}, Count: 1},
		{Kind: DeleteReplicaSet, Target: Ref{Kind: "ReplicaSet", Name: "old-2"}},
	}}
}

func (m making) Settle(rounds []Round) *Report {
	if m.stops {
		return nil
	}
	report := &Report{}
	for i, o := range rounds[0].Outcomes {
		target := rounds[0].Verdict.Actions[i].Target.Name
		switch {
		case o.State == Refused:
			report.Events = append(report.Events, Event{Message: cmp.Or(target, "pod") + " refused: " + o.Failure.Message})
		case len(o.Names) > 0:
			report.Events = append(report.Events, Event{Message: cmp.Or(target, "pod") + " made as " + o.Names[0]})
		default:
			report.Events = append(report.Events, Event{Message: target + " written"})
		}
	}
	return report
}

// What only the API server knows is left open, and beside another release the hashes of names that a sync gives.
func TestEventsOn(t *testing.T) {
	for rehashed, want := range map[bool][]string{
		false: {"web-1 made as …", "single made as …", "pod made as …", "old-2 written", "web-1 refused: …", "single refused: …", "pod refused: …", "old-2 refused: …"},
		true:  {"web-… made as …", "single made as …", "pod made as …", "old-2 written", "web-… refused: …", "single refused: …", "pod refused: …", "old-2 refused: …"},
	} {
		var got []string
		for _, e := range EventsOn(making{}, rehashed) {
			got = append(got, e.Message)
		}
		if !slices.Equal(got, want) {
			t.Errorf("rehashed %t: %q, want %q", rehashed, got, want)
		}
	}
	if got := EventsOn(making{stops: true}, true); len(got) != 0 {
		t.Errorf("a sync that stops publishes %v", got)
	}
}

func TestBeforeHash(t *testing.T) {
	for name, want := range map[string]string{"web-1": "web", "web-x-1": "web-x", "web": "", "-1": "", "": "", "w-": "w"} {
		if got := BeforeHash(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
