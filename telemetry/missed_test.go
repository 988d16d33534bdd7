package telemetry

import (
	"slices"
	"testing"
	"time"
)

// A gap says whose syncs are missing, how many and from when to when, as far as that is known.
func TestMissedSyncs(t *testing.T) {
	at := time.Date(2026, 11, 26, 10, 1, 0, 0, time.UTC)
	for want, m := range map[string]MissedSyncs{
		"Syncs of pod-1 after 10:01:00 may be missing":                      {Leader: "pod-1", From: at},
		"Syncs of pod-1 between 10:01:00 and 10:03:00 may be missing":       {Leader: "pod-1", From: at, To: at.Add(2 * time.Minute)},
		"12 syncs of pod-1 between 10:01:00 and 10:03:00 were not received": {Leader: "pod-1", From: at, To: at.Add(2 * time.Minute), Count: 12},
		"1 sync of pod-1 between 10:01:00 and 10:03:00 was not received":    {Leader: "pod-1", From: at, To: at.Add(2 * time.Minute), Count: 1},
	} {
		b := Beat{Kind: BeatMissed, Missed: &m}
		if got := b.Tell().At(at); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A story has the gaps that began in its time, and changes of leader that others made.
func TestMissedInAStory(t *testing.T) {
	at := time.Date(2026, 11, 26, 10, 1, 0, 0, time.UTC)
	e := NewExcerpt(nil, nil).WithLeadership(Leadership{Epoch: "me", Missed: []MissedSyncs{{From: at.Add(-time.Hour)}, {From: at.Add(time.Second), Count: 3}, {From: at.Add(time.Hour)}}})
	s := &Story{Began: at, Settled: at.Add(time.Minute)}
	if got := e.missedBeats(s); len(got) != 1 || got[0].Missed.Count != 3 || got[0].Kind != BeatMissed {
		t.Errorf("%+v", got)
	}
	if got := e.missedBeats(&Story{Began: at}); len(got) != 2 {
		t.Errorf("while it has not settled: %+v", got)
	}
	lead := func(epoch string, after time.Duration) *Trace {
		return &Trace{Epoch: epoch, Causes: []Cause{{Kind: CauseLead, At: at.Add(after)}}}
	}
	var told []string
	for _, b := range e.leaderBeats(s, []*Trace{lead("other", time.Second), lead("me", 20*time.Second)}) {
		told = append(told, b.Tell().At(at))
	}
	if len(told) != 2 || told[0] != "Another process became the leader" || told[1] != "This process became the leader" {
		t.Errorf("%q", told)
	}
	e = NewExcerpt(nil, nil).WithLeadership(Leadership{Epoch: "me", Changes: []LeaderChange{{At: at.Add(time.Hour), To: "pod-2"}, {At: at.Add(2 * time.Hour), From: "pod-2"}}})
	told = nil
	for _, b := range e.leaderBeats(&Story{Began: at}, []*Trace{lead("me", -time.Second), lead("me", time.Hour-sameChange), lead("me", time.Hour+1), lead("me", time.Hour+sameChange)}) {
		told = append(told, b.At.Format("15:04:05 ")+b.Tell().At(at))
	}
	if want := []string{"11:01:00 pod-2 became the leader", "12:01:00 pod-2 gave the Lease back: nobody leads", "11:00:55 This process became the leader", "11:01:05 This process became the leader"}; !slices.Equal(told, want) {
		t.Errorf("while it has not settled: %q, want %q", told, want)
	}
}
