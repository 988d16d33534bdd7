package standby

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/telemetry"
)

// A leader that has more than can be kept for a follower says how many are missing, and its
// objects are there all the same.
func TestGap(t *testing.T) {
	l, w := newLeader(t, "a", "run1", 4), newWorld(t)
	l.record(1, "old", nil)
	l.record(9, "web", nil)
	w.leads("a", "http://"+l.address)
	w.shows(t, "run1", 1, 7, 8, 9, 10)
	w.wantMissed(t) // It was before this process looked.
	l.cut()
	l.record(1, "api", nil)
	l.record(10, "web", nil) // 11 to 21, of which 18 to 21 are kept, and 11 is the newest of its object.
	l.serve(t)
	w.shows(t, "run1", 1, 7, 8, 9, 10, 11, 18, 19, 20, 21)
	w.wantMissed(t, telemetry.MissedSyncs{Leader: "a", Count: 6, To: time.Now()})
}

// received waits until that sync has come, whatever became of it.
func (w *world) received(t *testing.T, seq uint64) {
	t.Helper()
	w.until(t, "syncs that came", func(telemetry.Leadership, *telemetry.Journal) error {
		w.Follower.mu.Lock()
		defer w.Follower.mu.Unlock()
		if w.run.seq != seq {
			return fmt.Errorf("%d came last, want %d", w.run.seq, seq)
		}
		return nil
	})
}

func standsBy(x *telemetry.Trace) { x.Standby = true }

func ofTheLease(x *telemetry.Trace) { x.Loop = "lease" }

// A leader that has stood by for long keeps no longer all that it would have done: nothing that it did
// is missing for that.
func TestGapOfAStandby(t *testing.T) {
	for name, change := range map[string]func(*telemetry.Trace){"standby": standsBy, "lease": ofTheLease} {
		t.Run(name, func(t *testing.T) {
			l, w := newLeader(t, "b", "run1", 4), newWorld(t)
			l.record(6, "web", standsBy)
			l.record(4, "web", change)
			w.leads("b", "http://"+l.address)
			w.received(t, 10)
			l.record(2, "web", nil)
			w.shows(t, "run1", 11, 12)
			w.wantMissed(t)
		})
	}
}

// Each gap is told, also where what comes after it is of no loop that is known, or is what its sender would have done.
func TestGaps(t *testing.T) {
	for name, change := range map[string]func(*telemetry.Trace){"standby": standsBy, "lease": ofTheLease} {
		t.Run(name, func(t *testing.T) {
			l, w := newLeader(t, "a", "run1", 4), newWorld(t)
			l.record(1, "web", nil)
			w.leads("a", "http://"+l.address)
			w.shows(t, "run1", 1)
			l.cut()
			l.record(10, "web", nil)
			l.record(4, "other", change) // 12 to 15
			l.serve(t)
			w.received(t, 15)
			l.cut()
			l.record(10, "web", nil) // 16 to 25
			l.serve(t)
			w.shows(t, "run1", 1, 11, 22, 23, 24, 25)
			w.wantMissed(t, telemetry.MissedSyncs{Leader: "a", Count: 9, To: time.Now()}, telemetry.MissedSyncs{Leader: "a", Count: 6, To: time.Now()})
		})
	}
}

// Two gaps between which nothing came are one, of which nothing counts twice.
func TestGapAfterAGap(t *testing.T) {
	var told []telemetry.MissedSyncs
	began := time.Now()
	f := New(Options{Logger: quiet, Missed: func(m telemetry.MissedSyncs) { told = append(told, m) }, Known: func(string) bool { return true },
		Begin: func(epoch string) *telemetry.Journal {
			return telemetry.FollowJournal(telemetry.JournalOptions{Epoch: epoch})
		}})
	f.run.ended = began
	takes := func(m message) {
		t.Helper()
		if err := f.take(leaderA, m, m.hello != nil); err != nil {
			t.Fatal(err)
		}
	}
	greet := message{hello: &hello{Epoch: "run1", By: "a"}}
	sync := func(seq uint64) message {
		at := began.Add(time.Duration(seq) * time.Second)
		return message{trace: &telemetry.Trace{Epoch: "run1", Seq: seq, Object: telemetry.Object{Loop: "toy", Name: "web"}, Started: at, Ended: at}}
	}
	takes(greet)
	takes(sync(1))
	takes(message{gap: &gap{Missed: 17, Next: 20}}) // 2 to 19, but for one that is the newest of its object
	takes(message{gap: &gap{Missed: 10, Next: 30}}) // 20 to 29
	takes(sync(8))                                  // the newest of that object
	takes(greet)                                    // The connection was lost before anything else came.
	takes(message{gap: &gap{Missed: 31, Next: 40}}) // 9 to 39
	takes(sync(40))
	takes(sync(41))
	want := telemetry.MissedSyncs{Leader: "a", Count: 37, From: began.Add(time.Second).UTC(), To: began.Add(40 * time.Second).UTC()}
	if len(told) != 1 || told[0].Leader != want.Leader || told[0].Count != want.Count || !told[0].From.Equal(want.From) || !told[0].To.Equal(want.To) {
		t.Errorf("missed are %+v, want %+v", told, want)
	}
}

// The log leaves out what is not known of a gap.
func TestGapInTheLog(t *testing.T) {
	var text strings.Builder
	f := New(Options{Logger: slog.New(slog.NewTextHandler(&text, nil)), Missed: func(telemetry.MissedSyncs) {},
		Leadership: func() telemetry.Leadership { return telemetry.Leadership{Leader: "b"} }, Console: func() leadership.Console { return leadership.Console{} }})
	from := time.Date(2026, 11, 30, 3, 38, 44, 0, time.UTC)
	f.state.Leader, f.run.ended = "a", from
	f.see()
	if !strings.HasSuffix(text.String(), "leader=a from=2026-11-30T03:38:44.000Z\n") {
		t.Errorf("the log says %q", text.String())
	}
	text.Reset()
	f.miss(telemetry.MissedSyncs{Leader: "a", From: from, To: from.Add(time.Second), Count: 3})
	if !strings.HasSuffix(text.String(), "leader=a from=2026-11-30T03:38:44.000Z to=2026-11-30T03:38:45.000Z count=3\n") {
		t.Errorf("the log says %q", text.String())
	}
}
