package telemetry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// clock is a moment of the stories below.
func clock(seconds float64) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// between is a sync of an object that ran from one moment to another.
func between(from, to float64) *Trace {
	t := quiet("web")
	t.Started, t.Ended = clock(from), clock(to)
	return t
}

var down = &decision.Failure{Reason: decision.Unreachable, Message: "connection refused"}

// unansweredBy is a sync whose action got no answer.
func unansweredBy(a decision.Action) *Trace {
	t := outcome(ResultFailed, "web", a, decision.Outcome{State: decision.Unanswered, Failed: 1, Untried: a.Count, Failure: down})
	t.Failure = down
	return t
}

func TestFamilyIsADeploymentAndItsReplicaSets(t *testing.T) {
	head := object("web")
	set := Object{"replicaset", "shop", "web"}
	for name, c := range map[string]struct {
		head, x Object
		owner   string
		want    bool
	}{
		"itself":                       {head, head, "", true},
		"its ReplicaSet":               {head, Object{"replicaset", "shop", "web-1"}, "web", true},
		"of another":                   {head, Object{"replicaset", "shop", "api-1"}, "api", false},
		"of nobody":                    {head, Object{"replicaset", "shop", "web-1"}, "", false},
		"in another namespace":         {head, Object{"replicaset", "bank", "web-1"}, "web", false},
		"a Deployment with an owner":   {head, object("api"), "web", false},
		"a ReplicaSet has none of its": {set, Object{"replicaset", "shop", "web-1"}, "web", false},
	} {
		if got := kinOf(TestLoops, c.head).has(c.x, c.owner); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestStoryBeginsWithTheFirstChange by others, and is whole where its object is new.
func TestStoryBeginsWithTheFirstChange(t *testing.T) {
	for name, c := range map[string]struct {
		cause  Cause
		began  time.Time
		begins bool
	}{
		"a change":                 {Cause{Kind: CauseModified, Object: "Deployment web", At: clock(1)}, clock(1), false},
		"its creation":             {Cause{Kind: CauseAdded, Object: "Deployment web", At: clock(1)}, clock(1), true},
		"another one's creation":   {Cause{Kind: CauseAdded, Object: "ReplicaSet web-1", At: clock(1)}, clock(1), false},
		"a change during it":       {Cause{Kind: CauseModified, Object: "Deployment web", At: clock(3)}, clock(2), false},
		"a change of no time":      {Cause{Kind: CauseModified, Object: "Deployment web"}, clock(2), false},
		"a change by this program": {Cause{Kind: CauseModified, Object: "Deployment web", At: clock(1), Sync: 4}, clock(2), false},
		"a timer":                  {Cause{Kind: CauseTimer, At: clock(1)}, clock(2), false},
	} {
		x := between(2, 4)
		x.Causes = []Cause{c.cause}
		if at := NewExcerpt(TestLoops, nil).began(kinOf(TestLoops, x.Object), x, time.Time{}); !at.Equal(c.began) {
			t.Errorf("%s: it began at %s, want %s", name, at.Format("05"), c.began.Format("05"))
		}
		if got := begins(TestLoops, x); got != c.begins {
			t.Errorf("%s: begins %t, want %t", name, got, c.begins)
		}
	}
}

// TestRepeatsAreNoNews: a sync that wrote nothing and holds back what the one before it did.
func TestRepeatsAreNoNews(t *testing.T) {
	held := func(code string, kind decision.ActionKind, name string) *Trace {
		x := quiet("web")
		x.Rounds = []decision.Round{{Verdict: decision.Verdict{Held: []decision.Held{{Code: code, Kind: kind, Target: decision.Ref{Name: name}}}}}}
		return x
	}
	one := held("readiness", decision.UpdateReplicaSet, "web-0")
	failed := held("readiness", decision.UpdateReplicaSet, "web-0")
	failed.Failure = &decision.Failure{Message: "no"}
	wrote := outcome(ResultWrote, "web", decision.Action{}, decision.Outcome{State: decision.Written})
	for name, c := range map[string]struct {
		before, now *Trace
		want        bool
	}{
		"the same":         {one, held("readiness", decision.UpdateReplicaSet, "web-0"), true},
		"for another code": {one, held("echo", decision.UpdateReplicaSet, "web-0"), false},
		"another kind":     {one, held("readiness", decision.DeleteReplicaSet, "web-0"), false},
		"of another":       {one, held("readiness", decision.UpdateReplicaSet, "web-1"), false},
		"nothing any more": {one, quiet("web"), false},
		"it failed":        {one, failed, false},
		"it wrote":         {quiet("web"), wrote, false},
		"the first":        {nil, quiet("web"), true},
		"the first, held":  {nil, one, false},
	} {
		if got := repeats(c.before, c.now); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestTriedAgainIsTheSame writes of the same object, again without an answer.
func TestTriedAgainIsTheSame(t *testing.T) {
	set := decision.Ref{Kind: "ReplicaSet", Name: "web-1"}
	create, update := decision.Action{Kind: decision.CreatePods, Count: 2, Target: set}, decision.Action{Kind: decision.UpdateReplicaSet, Target: set}
	other := update
	other.Target.Name = "web-2"
	more, deletes := create, create
	more.Count, deletes.Kind = 3, decision.DeletePods
	bare := quiet("web")
	bare.Failure = down
	wrote := unansweredBy(update)
	wrote.Report = &decision.Report{Outcome: &decision.Outcome{State: decision.Written}}
	for name, c := range map[string]struct {
		before, now *Trace
		want        bool
	}{
		"the same pods":          {unansweredBy(create), unansweredBy(create), true},
		"more pods":              {unansweredBy(create), unansweredBy(more), false},
		"pods, the other way":    {unansweredBy(create), unansweredBy(deletes), false},
		"the same object":        {unansweredBy(update), unansweredBy(update), true},
		"another object":         {unansweredBy(update), unansweredBy(other), false},
		"no decision, twice":     {bare, bare, true},
		"a decision at last":     {bare, unansweredBy(update), false},
		"no decision any more":   {unansweredBy(update), bare, false},
		"the first":              {nil, bare, false},
		"answered before":        {quiet("web"), bare, false},
		"answered now":           {bare, quiet("web"), false},
		"something written":      {unansweredBy(update), wrote, false},
		"something written then": {wrote, unansweredBy(update), false},
	} {
		if got := triedAgain(TestLoops, c.before, c.now); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestUndoneIsWhatGotNoAnswer, pods by their number, and the sync where it decided nothing.
func TestUndoneIsWhatGotNoAnswer(t *testing.T) {
	set := decision.Ref{Kind: "ReplicaSet", Name: "web-1"}
	for name, c := range map[string]struct {
		action  decision.Action
		outcome decision.Outcome
		object  string // "" for none
		count   int64
	}{
		"pods":               {decision.Action{Kind: decision.CreatePods, Target: set}, decision.Outcome{State: decision.Unanswered, Failed: 1, Untried: 4}, "Pod", 5},
		"pods without count": {decision.Action{Kind: decision.DeletePods, Target: set}, decision.Outcome{State: decision.Unknown}, "Pod", 1},
		"one pod":            {decision.Action{Kind: decision.Adopt, Target: decision.Ref{Kind: "Pod", Name: "x"}}, decision.Outcome{State: decision.Unanswered, Failed: 2}, "Pod x", 0},
		"a ReplicaSet":       {decision.Action{Kind: decision.UpdateReplicaSet, Target: set}, decision.Outcome{State: decision.Unanswered, Failed: 2}, "ReplicaSet web-1", 0},
		"partly, then down":  {decision.Action{Kind: decision.CreatePods, Target: set}, decision.Outcome{State: decision.Partly, Failed: 2, Failure: down}, "Pod", 2},
		"partly, then a no":  {decision.Action{Kind: decision.CreatePods, Target: set}, decision.Outcome{State: decision.Partly, Failed: 2, Failure: &decision.Failure{Code: 403}}, "", 0},
		"a no while down":    {decision.Action{Kind: decision.UpdateReplicaSet, Target: set}, decision.Outcome{State: decision.Refused, Failure: down}, "", 0},
	} {
		list := outcome(ResultFailed, "web", c.action, c.outcome).undone(TestLoops)
		if len(list) != 1 || list[0].Object != "Deployment web" || (list[0].Write == nil) != (c.object == "") {
			t.Errorf("%s: %+v", name, list)
		} else if w := list[0].Write; w != nil && (w.Object != c.object || w.Count != c.count) {
			t.Errorf("%s: %s %d, want %s %d", name, w.Object, w.Count, c.object, c.count)
		}
	}
	status := quiet("web")
	status.Report = &decision.Report{Outcome: &decision.Outcome{State: decision.Unanswered}}
	if list := status.undone(TestLoops); len(list) != 1 || list[0].Write == nil || list[0].Write.Kind != WriteStatus || list[0].Write.Object != "Deployment web" {
		t.Errorf("a status: %+v", list)
	}
}

// TestOutagesThatAreOne: what begins within an outage or just after it, and does not last.
func TestOutagesThatAreOne(t *testing.T) {
	for name, c := range map[string]struct {
		ended    float64 // of one that begins at 10; 0 while it lasts
		from, to float64
		want     bool
	}{
		"over before":                {20, 5, 9, false},
		"over as it begins":          {20, 5, 10, true},
		"within":                     {20, 12, 15, true},
		"begun at its end":           {20, 20, 0, true},
		"begun after, over at once":  {20, 21, 25, true},
		"begun after, over later":    {20, 21, 25.1, false},
		"begun after, and lasts":     {20, 21, 0, false},
		"while it lasts":             {0, 50, 90, true},
		"over before one that lasts": {0, 5, 9, false},
	} {
		o, m := StoryOutage{Outage: Outage{Began: clock(10)}}, StoryOutage{Outage: Outage{Began: clock(c.from)}}
		if c.ended != 0 {
			o.Ended = clock(c.ended)
		}
		if c.to != 0 {
			m.Ended = clock(c.to)
		}
		if got := o.covers(&m); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestAnsweredSyncs: a sync met a server that serves where it wrote, or was woken by that; not where another write got no answer.
func TestAnsweredSyncs(t *testing.T) {
	unanswered := []decision.Round{{Verdict: decision.Verdict{Actions: make([]decision.Action, 1)}, Outcomes: []decision.Outcome{{State: decision.Unanswered}}}}
	for name, c := range map[string]struct {
		trace Trace
		want  bool
	}{
		"it wrote":                    {Trace{Result: ResultWrote}, true},
		"it was woken by that":        {Trace{Causes: []Cause{{Code: CodeAnswersAgain}}}, true},
		"it was woken by another one": {Trace{Causes: []Cause{{Kind: CauseModified}}}, false},
		"neither":                     {Trace{}, false},
		"it wrote, and then it broke": {Trace{Result: ResultWrote, Rounds: unanswered}, false},
	} {
		if got := c.trace.answered(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestOutagesThatLastAreNarrowed: a write just after the beginning was answered before it, and one after a failure ends nothing.
func TestOutagesThatLastAreNarrowed(t *testing.T) {
	wrote := &Trace{Result: ResultWrote, Ended: clock(12)}
	failed := &Trace{Ended: clock(11), Rounds: []decision.Round{{Verdict: decision.Verdict{Actions: make([]decision.Action, 1)}, Outcomes: []decision.Outcome{{State: decision.Unanswered}}}}}
	for name, c := range map[string]struct {
		syncs []*Trace
		began float64
	}{"a write": {[]*Trace{wrote}, 12}, "a failure, and a write": {[]*Trace{failed, wrote}, 10}} {
		o := StoryOutage{Outage: Outage{Began: clock(10)}}
		if o.narrow(c.syncs); !o.Began.Equal(clock(c.began)) || !o.Ended.IsZero() {
			t.Errorf("%s: from %s to %s", name, o.Began, o.Ended)
		}
	}
}

// TestSyncsAfterAnOutage are those that began after it, or that were answered at its end.
func TestSyncsAfterAnOutage(t *testing.T) {
	o := StoryOutage{Outage: Outage{Began: clock(10), Ended: clock(20)}}
	failed := func(x *Trace) *Trace { x.Failure = down; return x }
	for name, c := range map[string]struct {
		sync *Trace
		want bool
	}{
		"before the end":             {between(15, 19), false},
		"answered at the end":        {between(15, 20), true},
		"unanswered at the end":      {failed(between(15, 20)), false},
		"begun at the end":           {between(20, 21), true},
		"begun after, but no answer": {failed(between(21, 22)), true},
	} {
		if got := o.over(c.sync); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		at   float64
		want bool
	}{"before": {9, false}, "at the beginning": {10, true}, "within": {15, true}, "at the end": {20, false}} {
		if got := o.during(clock(c.at)); got != c.want {
			t.Errorf("%s: during %t, want %t", name, got, c.want)
		}
	}
	if o.Ended = (time.Time{}); !o.during(clock(99)) || o.during(clock(9)) {
		t.Error("one that lasts is over, or began before")
	}
}

// TestEventsThatAreTold: what somebody else did to a named object, once.
func TestEventsThatAreTold(t *testing.T) {
	e := NewExcerpt(TestLoops, nil)
	x := between(1, 2)
	fields := []decision.Change{{Field: "status.phase", To: "Running"}}
	for name, c := range map[string]struct {
		cause Cause
		want  BeatKind // "" for none
	}{
		"a change":       {Cause{Kind: CauseModified, Object: "Deployment web", NewRV: "1"}, BeatChange},
		"a pod":          {Cause{Kind: CauseModified, Object: "Pod x", NewRV: "1", Fields: fields}, BeatPod},
		"nothing of it":  {Cause{Kind: CauseModified, Object: "Pod x", NewRV: "1"}, ""},
		"no reason":      {Cause{Kind: CausePodReason, Object: "Pod x", NewRV: "1"}, ""},
		"our own change": {Cause{Kind: CauseModified, Object: "Deployment web", NewRV: "1", Sync: 3}, ""},
		"our own pod":    {Cause{Kind: CauseAdded, Object: "Pod x", NewRV: "1", Sync: 3}, BeatPod},
		"no name":        {Cause{Kind: CauseModified, Object: "Pod"}, ""},
		"a resync":       {Cause{Kind: CauseResync, Object: "Deployment web"}, ""},
		"a start":        {Cause{Kind: CauseStart, Object: "Deployment web"}, ""},
		"a back-off":     {Cause{Kind: CauseBackoff, Object: "Deployment web"}, ""},
		"a timer":        {Cause{Kind: CauseTimer, Object: "Deployment web"}, ""},
	} {
		told := map[event]bool{}
		b, ok := e.happened(kinOf(TestLoops, x.Object), x, &c.cause, told)
		if b.Kind != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %t; want %q", name, b.Kind, ok, c.want)
		}
		if _, again := e.happened(kinOf(TestLoops, x.Object), x, &c.cause, told); again {
			t.Errorf("%s: told twice", name)
		}
	}
	told := map[event]bool{}
	for _, c := range []struct {
		cause Cause
		news  bool
	}{
		{Cause{Kind: CauseModified, Object: "Pod x", NewRV: "1", Fields: fields}, true},
		{Cause{Kind: CausePodReason, Object: "Pod x", NewRV: "1", Fields: fields}, false}, // The same event, as its owner was told.
		{Cause{Kind: CauseModified, Object: "Pod x", NewRV: "2", Fields: fields}, true},
		{Cause{Kind: CauseModified, Object: "Pod y", NewRV: "2", Fields: fields}, true},
		{Cause{Kind: CauseDeleted, Object: "Pod x", OldRV: "2"}, true},
		{Cause{Kind: CauseDeleted, Object: "Pod x", OldRV: "2"}, false},
	} {
		if _, ok := e.happened(kinOf(TestLoops, x.Object), x, &c.cause, told); ok != c.news {
			t.Errorf("%s of %s at %s: told %t, want %t", c.cause.Kind, c.cause.Object, cmp.Or(c.cause.NewRV, c.cause.OldRV), ok, c.news)
		}
	}
}

// TestPausesOfWhatWasHeldUp: by what it held back, or by its sentence, and what ended it.
func TestPausesOfWhatWasHeldUp(t *testing.T) {
	holding := func(tone decision.Tone, codes ...string) *Trace {
		x := between(1, 2)
		x.Sentence.Tone, x.Sentence.Code = tone, "said"
		x.Rounds = []decision.Round{{}}
		for _, code := range codes {
			x.Rounds[0].Verdict.Held = append(x.Rounds[0].Verdict.Held, decision.Held{Code: code})
		}
		return x
	}
	for name, c := range map[string]struct {
		before *Trace
		from   float64
		want   string
	}{
		"the first":            {nil, 5, ""},
		"held":                 {holding(decision.ToneMoving, "readiness", "echo", "readiness"), 5, "readiness echo"},
		"held and waiting":     {holding(decision.ToneWaiting, "readiness"), 5, "readiness"},
		"waiting":              {holding(decision.ToneWaiting), 5, "said"},
		"failed":               {holding(decision.ToneFailed), 5, "said"},
		"neutral":              {holding(decision.ToneNeutral), 5, "said"},
		"moving":               {holding(decision.ToneMoving), 5, ""},
		"settled":              {holding(decision.ToneOK), 5, ""},
		"without a pause":      {holding(decision.ToneWaiting), 2, ""},
		"begun before its end": {holding(decision.ToneWaiting), 1.5, ""},
	} {
		now := between(c.from, 9)
		now.Causes = []Cause{{Object: "Pod x"}, {Object: "Pod y"}}
		w := NewExcerpt(TestLoops, nil).waited(c.before, now)
		switch {
		case (w == nil) != (c.want == ""):
			t.Errorf("%s: %+v, want %q", name, w, c.want)
		case w != nil && (strings.Join(w.Codes, " ") != c.want || w.For != 3*time.Second || w.Over.Object != "Pod x"):
			t.Errorf("%s: %+v over by %+v, want %q", name, w, w.Over, c.want)
		}
	}
	if w := NewExcerpt(TestLoops, nil).waited(holding(decision.ToneWaiting), between(5, 6)); w == nil || w.Over != nil {
		t.Errorf("nothing is known to have ended it: %+v", w)
	}
}

// TestStoryEndsWhenItIsQuiet: what its family did soon after it was settled belongs to it,
// as far as that wrote something, and up to a pause.
func TestStoryEndsWhenItIsQuiet(t *testing.T) {
	at := func(from float64, tone decision.Tone, name string, wrote bool) *Trace {
		x := between(from, from+1)
		x.Report, x.Sentence.Tone = &decision.Report{}, tone
		if x.Seq = uint64(from) + 1; name != "web" {
			x.Object, x.Owner = Object{"replicaset", "shop", name}, strings.TrimSuffix(name, "-1")
		}
		if wrote {
			x.Result = ResultWrote
		}
		return x
	}
	traces := []*Trace{
		at(0, decision.ToneOK, "web", false), at(10, decision.ToneMoving, "web", true), at(12, decision.ToneMoving, "web-1", true),
		at(14, decision.ToneMoving, "api-1", true), at(20, decision.ToneOK, "web", true),
		at(30, decision.ToneOK, "web", false),
		at(81, decision.ToneOK, "web-1", true), // 60 s after the end
		at(142, decision.ToneOK, "web-1", true), at(150, decision.ToneOK, "web-1", false), at(204, decision.ToneOK, "web-1", true),
	}
	story, ok := NewExcerpt(TestLoops, traces).Story(traces[4])
	if !ok {
		t.Fatal("there is no story")
	}
	var got []uint64
	for _, b := range story.Beats {
		got = append(got, b.Sync.Seq)
	}
	if want := []uint64{11, 13, 21, 31, 82, 143}; !slices.Equal(got, want) {
		t.Errorf("syncs %v, want %v", got, want)
	}
}

// TestStoryIsQuietAfterItsLastWrite, be it of a sync that began later and ended sooner.
func TestStoryIsQuietAfterItsLastWrite(t *testing.T) {
	sync := func(from, to float64, tone decision.Tone) *Trace {
		x := between(from, to)
		x.Report, x.Sentence.Tone, x.Result = &decision.Report{}, tone, ResultWrote
		return x
	}
	set := func(from, to float64) *Trace {
		x := sync(from, to, decision.ToneOK)
		x.Object, x.Owner = Object{"replicaset", "shop", "web-1"}, "web"
		return x
	}
	head := []*Trace{sync(10, 11, decision.ToneMoving), sync(20, 22, decision.ToneOK)}
	e := NewExcerpt(TestLoops, append(head, set(20.5, 21), set(82, 83)))
	if got := e.within(kinOf(TestLoops, head[1].Object), head, storyRange{last: 1, settled: true}, clock(10)); len(got) != 4 {
		t.Errorf("%d syncs, want the one a minute after the end as well", len(got))
	}
	// The next story begins before that.
	head = append(head, sync(30, 31, decision.ToneMoving))
	e = NewExcerpt(TestLoops, append(head, set(20.5, 21), set(29, 33), set(40, 41)))
	if got := e.within(kinOf(TestLoops, head[1].Object), head, storyRange{last: 1, settled: true}, clock(10)); len(got) != 4 {
		t.Errorf("%d syncs, want those that began before the next story", len(got))
	}
}

// TestRanks: an outage stands before what it kept, and an event before the sync that it woke.
func TestRanks(t *testing.T) {
	if outage, pod, change, sync := rank(BeatOutage), rank(BeatPod), rank(BeatChange), rank(BeatSync); outage >= pod || pod != change || change >= sync {
		t.Errorf("outage %d, pod %d, change %d, sync %d", outage, pod, change, sync)
	}
}

// TestIdleOutages: nothing was to be done in them.
func TestIdleOutages(t *testing.T) {
	wrote, failed, earlier := between(12, 13), between(12, 13), between(8, 10)
	wrote.Result, failed.Failure, earlier.Result = ResultWrote, down, ResultWrote
	for name, c := range map[string]struct {
		ended time.Time
		sync  *Trace
		want  bool
	}{
		"a look": {clock(20), between(12, 13), true}, "a write": {clock(20), wrote, false}, "no answer": {clock(20), failed, false},
		"a write before it": {clock(20), earlier, true}, "it lasts": {time.Time{}, between(12, 13), false},
	} {
		o := StoryOutage{Outage: Outage{Began: clock(10), Ended: c.ended}}
		if o.settle(TestLoops, []*Trace{c.sync}); o.Idle != c.want {
			t.Errorf("%s: idle %t", name, o.Idle)
		}
	}
}

// TestTrimmed: what came after the end counts as far as it wrote or would have.
func TestTrimmed(t *testing.T) {
	last, late, wrote, failed := between(10, 11), between(12, 13), between(14, 15), between(16, 17)
	wrote.Result, failed.Failure = ResultWrote, down
	took := func(object string, at float64) *Trace {
		t := between(12, 13)
		t.Causes = []Cause{{Kind: CauseModified, Object: object, At: clock(at)}}
		return t
	}
	for name, c := range map[string]struct {
		list []*Trace
		want int
	}{
		"a pod before the end":        {[]*Trace{last, late, took("Pod web-1-x", 9.9), late}, 3},
		"a pod with the end":          {[]*Trace{last, took("Pod web-1-x", 10)}, 2},
		"a pod after the end":         {[]*Trace{last, took("Pod web-1-x", 10.1)}, 1},
		"a ReplicaSet before the end": {[]*Trace{last, took("ReplicaSet web-1", 9.9)}, 1},
		"nothing":                     {nil, 0},
		"all of it is late":           {[]*Trace{late, late}, 0},
		"the end":                     {[]*Trace{last, late, late}, 1},
		"begun with it":               {[]*Trace{between(10, 20), late}, 1},
		"a write":                     {[]*Trace{last, late, wrote, late}, 3},
		"no answer":                   {[]*Trace{last, late, failed, late}, 3},
	} {
		if got := trimmed(c.list, last); len(got) != c.want {
			t.Errorf("%s: %d syncs, want %d", name, len(got), c.want)
		}
	}
}

// TestQuietBeats: a sync that is no news is quiet, but not the one that settles.
func TestQuietBeats(t *testing.T) {
	syncs := []*Trace{between(1, 2), between(3, 4), between(5, 6)}
	e := NewExcerpt(TestLoops, syncs)
	for settles, want := range map[bool]string{true: "[true true false] [false false true]", false: "[true true true] [false false false]"} {
		var quiet, end []bool
		for _, b := range e.beats(kinOf(TestLoops, syncs[0].Object), syncs, syncs[2], settles, clock(0)) {
			quiet, end = append(quiet, b.Quiet), append(end, b.Settles)
		}
		if got := fmt.Sprint(quiet, end); got != want {
			t.Errorf("settles %t: %s, want %s", settles, got, want)
		}
	}
}

// TestStepsEnd where somebody has seen enough.
func TestStepsEnd(t *testing.T) {
	x := Trace{Rounds: []decision.Round{{Verdict: decision.Verdict{Path: make(decision.Path, 3)}}}}
	n := 0
	for range x.Steps() {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 || len(x.Path()) != 3 {
		t.Errorf("%d steps, of %d", n, len(x.Path()))
	}
}

// TestSyncsOfAStory are those of one object: another of its name has another UID.
func TestSyncsOfAStory(t *testing.T) {
	var all []*Trace
	sync := func(name, uid string, gone bool) *Trace {
		x := quiet(name)
		x.UID, x.Gone, x.Started = uid, gone, clock(float64(len(all)))
		all = append(all, x)
		return x
	}
	one, _, blind := sync("web", "1", false), sync("api", "1", false), sync("web", "", false)
	two, _, lost, gone, still := sync("web", "2", false), sync("api", "", false), sync("web", "", false), sync("web", "", true), sync("web", "", true)
	unseen, three := sync("web", "", false), sync("web", "3", false)
	e := NewExcerpt(TestLoops, all)
	for name, c := range map[string]struct {
		of   []*Trace
		next *Trace
	}{"the first": {[]*Trace{one, blind}, two}, "the second": {[]*Trace{two, lost, gone, still}, unseen}, "the third": {[]*Trace{unseen, three}, nil}} {
		for i, x := range c.of {
			if got, next := e.of(x); !slices.Equal(got, c.of) || next != c.next {
				t.Errorf("%s, by its sync %d: %d syncs, before %+v", name, i, len(got), next)
			}
		}
	}
}

// TestTriedAfterAWrite: what got no answer before the last write is news when it gets none again.
func TestTriedAfterAWrite(t *testing.T) {
	update := decision.Action{Kind: decision.UpdateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-1"}}
	at := func(x *Trace, from float64) *Trace {
		x.Started, x.Ended = clock(from), clock(from+1)
		return x
	}
	wrote := at(outcome(ResultWrote, "web", update, decision.Outcome{State: decision.Written, RV: "7"}), 5)
	syncs := []*Trace{at(unansweredBy(update), 1), at(unansweredBy(update), 3), wrote, at(unansweredBy(update), 7), at(unansweredBy(update), 9)}
	var quiet []bool
	for _, b := range NewExcerpt(TestLoops, syncs).beats(kinOf(TestLoops, syncs[0].Object), syncs, syncs[4], false, clock(0)) {
		quiet = append(quiet, b.Quiet)
	}
	if want := []bool{false, true, false, false, true}; !slices.Equal(quiet, want) {
		t.Errorf("quiet %v, want %v", quiet, want)
	}
}

// TestChainMeetsASyncOnce: what it is reached by again leads no farther.
func TestChainMeetsASyncOnce(t *testing.T) {
	set := func(name string) decision.Action {
		return decision.Action{Kind: decision.UpdateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: name}}
	}
	first, second := between(1, 2), between(3, 4)
	first.Seq, first.Rounds = 1, []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{set("a"), set("b")}},
		Outcomes: []decision.Outcome{{State: decision.Written, RV: "7"}, {State: decision.Written, RV: "8"}}}}
	second.Seq, second.Causes = 2, []Cause{{Object: "ReplicaSet a", NewRV: "7"}, {Object: "ReplicaSet b", NewRV: "8"}}
	second.Rounds = []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{set("c")}}, Outcomes: []decision.Outcome{{State: decision.Written, RV: "9"}}}}
	chain := NewExcerpt(TestLoops, []*Trace{first, second}).Chain(first)
	links := chain.Effects.Links
	if len(links) != 2 || links[0].Elsewhere || len(links[0].Writes) != 1 || !links[1].Elsewhere || links[1].Writes != nil || links[1].Sync.Seq != 2 {
		t.Errorf("%+v, %+v", links[0], links[1])
	}
}

// TestSettledByADecision: a sync that decided nothing neither begins a story nor ends one.
func TestSettledByADecision(t *testing.T) {
	sync := func(tone decision.Tone, report *decision.Report) *Trace {
		return &Trace{Sentence: decision.Sentence{Tone: tone}, Report: report}
	}
	echo, moving, done := sync(decision.ToneOK, nil), sync(decision.ToneMoving, &decision.Report{}), sync(decision.ToneOK, &decision.Report{})
	for name, c := range map[string]struct {
		syncs []*Trace
		at    int
		want  storyRange
	}{
		"after nothing":           {[]*Trace{echo, moving, echo, done, moving}, 1, storyRange{first: 0, last: 3, open: true, settled: true}},
		"after another":           {[]*Trace{done, echo, moving, moving, echo}, 3, storyRange{first: 1, last: 4}},
		"asked of one that is ok": {[]*Trace{done, moving, done, echo}, 3, storyRange{first: 1, last: 2, settled: true}},
	} {
		if got, ok := storyRangeOf(TestLoops, c.syncs, c.at); !ok || got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got, ok := storyRangeOf(TestLoops, []*Trace{done, echo}, 1); ok {
		t.Errorf("without a story: %+v", got)
	}
}

// TestArmed: a timer that fired leads to the last sync that set it.
func TestArmed(t *testing.T) {
	timers := func(from float64, name, code string, at float64) *Trace {
		x := between(from, from+1)
		x.Name, x.Timers = name, []decision.Timer{{Code: code, At: clock(at)}}
		return x
	}
	traces := []*Trace{
		timers(0, "web", "min-ready", 10), timers(1, "web", "min-ready", 10), timers(2, "web", "deadline", 10),
		timers(3, "web", "min-ready", 11), timers(4, "api", "min-ready", 10), timers(20, "web", "min-ready", 10),
	}
	e := NewExcerpt(TestLoops, traces)
	for from, want := range map[float64]*Trace{10: traces[1], 12: traces[1], 9.9: nil, 1: nil} {
		if got := e.armed(between(from, from+1), &Cause{Kind: CauseTimer, Code: "min-ready", Due: clock(10)}); got != want {
			t.Errorf("a sync at %v: %+v, want %+v", from, got, want)
		}
	}
}

// TestWriterOf a cause: the sync that it names, or else who wrote its version.
func TestWriterOf(t *testing.T) {
	set := decision.Action{Kind: decision.UpdateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-1"}}
	x := outcome(ResultWrote, "web", set, decision.Outcome{State: decision.Written, RV: "7"})
	x.Epoch, x.Seq = "e", 1
	e, by := NewExcerpt(TestLoops, []*Trace{x}), &Trace{Epoch: "e", Object: x.Object}
	for name, c := range map[string]struct {
		cause Cause
		want  *Trace
	}{
		"by number":                {Cause{Object: "ReplicaSet web-1", Sync: 1}, x},
		"a number that is missing": {Cause{Object: "ReplicaSet web-1", Sync: 2, NewRV: "7"}, nil},
		"by version":               {Cause{Object: "ReplicaSet web-1", NewRV: "7"}, x},
		"another version":          {Cause{Object: "ReplicaSet web-1", NewRV: "8"}, nil},
		"of another":               {Cause{Object: "ReplicaSet web-2", NewRV: "7"}, nil},
		"no name":                  {Cause{Object: "ReplicaSet", NewRV: "7"}, nil},
	} {
		if got := e.WriterOf(by, &c.cause); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestCovers: what is left open covers all, and times from the first to before the last.
func TestCovers(t *testing.T) {
	o := Object{"deployment", "shop", "web-shop"}
	for _, c := range []struct {
		query Query
		want  bool
	}{
		{Query{}, true},
		{Query{Loop: "deployment"}, true}, {Query{Loop: "replicaset"}, false},
		{Query{Namespace: "shop"}, true}, {Query{Namespace: "bank"}, false},
		{Query{Name: "web-shop"}, true}, {Query{Name: "web"}, false},
		{Query{NamePart: "b-s"}, true}, {Query{NamePart: "api"}, false},
		{Query{Since: clock(5)}, true}, {Query{Since: clock(5.1)}, false},
		{Query{Until: clock(5.1)}, true}, {Query{Until: clock(5)}, false},
	} {
		if got := c.query.Covers(o, clock(5)); got != c.want {
			t.Errorf("%+v covers: %t", c.query, got)
		}
	}
}

// TestPodWrites: pods by name, how many more there are, and how many there are not.
func TestPodWrites(t *testing.T) {
	for name, c := range map[string]struct {
		o    decision.Outcome
		want string
	}{
		"all named":        {decision.Outcome{State: decision.Written, Names: []string{"a", "b"}, RVs: []string{"7"}, Done: 2}, "Pod a 0 written 7, Pod b 0 written , "},
		"one more":         {decision.Outcome{State: decision.Written, Names: []string{"a"}, Done: 2}, "Pod a 0 written , Pod 1 written , "},
		"none named":       {decision.Outcome{State: decision.Written, Done: 3}, "Pod 3 written , "},
		"some refused":     {decision.Outcome{State: decision.Partly, Done: 1, Failed: 2, Failure: &decision.Failure{Code: 403}}, "Pod 1 written , Pod 2 refused , "},
		"one unanswered":   {decision.Outcome{State: decision.Partly, Failed: 1, Failure: down}, "Pod 1 unanswered , "},
		"refused and down": {decision.Outcome{State: decision.Refused, Failed: 1, Failure: down}, "Pod 1 refused , "},
	} {
		got := ""
		for _, w := range podWrites(&decision.Action{Kind: decision.CreatePods}, &c.o) {
			got += fmt.Sprintf("%s %d %s %s, ", w.Object, w.Count, w.State, w.RV)
		}
		if got != c.want {
			t.Errorf("%s: %s; want %s", name, got, c.want)
		}
	}
}

// TestNamesOfWrites: a name that was decided on, or the one that a create found.
func TestNamesOfWrites(t *testing.T) {
	for _, c := range []struct {
		target string
		names  []string
		want   string
	}{{"web", []string{"x"}, "web"}, {"web", nil, "web"}, {"", []string{"x"}, "x"}, {"", []string{"x", "y"}, ""}, {"", nil, ""}} {
		if got := nameOf(&decision.Action{Target: decision.Ref{Name: c.target}}, &decision.Outcome{Names: c.names}); got != c.want {
			t.Errorf("%q of %q: %q, want %q", c.target, c.names, got, c.want)
		}
	}
}

// TestSeenVersions: a cause tells of a version, and the end of an object of its name alone.
func TestSeenVersions(t *testing.T) {
	ends := []decision.Change{{Field: "metadata.deletionTimestamp"}}
	for name, c := range map[string]struct {
		cause Cause
		want  written
		ok    bool
	}{
		"a change":    {Cause{Kind: CauseModified, Object: "Pod x", NewRV: "7"}, written{"Pod", "shop", "x", "7"}, true},
		"no version":  {Cause{Kind: CauseModified, Object: "Pod x"}, written{"Pod", "shop", "x", ""}, false},
		"no name":     {Cause{Kind: CauseModified, Object: "Pod", NewRV: "7"}, written{}, false},
		"deleted":     {Cause{Kind: CauseDeleted, Object: "Pod x", NewRV: "7"}, written{"Pod", "shop", "x", ""}, true},
		"a tombstone": {Cause{Kind: CauseTombstone, Object: "Pod x", NewRV: "7"}, written{"Pod", "shop", "x", ""}, true},
		"terminating": {Cause{Kind: CauseModified, Object: "Pod x", NewRV: "7", Fields: ends}, written{"Pod", "shop", "x", ""}, true},
	} {
		if got, ok := seenIn(quiet("web"), &c.cause); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %t; want %+v, %t", name, got, ok, c.want, c.ok)
		}
	}
}

// TestNearbyIsLessThanFiveSeconds: a write farther from an end of an outage does not move it.
func TestNearbyIsLessThanFiveSeconds(t *testing.T) {
	for at, want := range map[float64]Outage{
		14.9: {Began: clock(14.9), Ended: clock(40)}, 15: {Began: clock(10), Ended: clock(40)},
		35: {Began: clock(10), Ended: clock(40)}, 35.1: {Began: clock(10), Ended: clock(35.1)},
	} {
		o, x := StoryOutage{Outage: Outage{Began: clock(10), Ended: clock(40)}}, between(at-1, at)
		x.Result = ResultWrote
		if o.narrow([]*Trace{x}); o.Outage != want {
			t.Errorf("a write at %v: %+v, want %+v", at, o.Outage, want)
		}
	}
	o := StoryOutage{Outage: Outage{Began: clock(10), Ended: clock(40)}}
	if o.narrow([]*Trace{between(11, 12), between(37, 38)}); o.Outage != (Outage{Began: clock(10), Ended: clock(40)}) {
		t.Errorf("syncs that wrote nothing: %+v", o.Outage)
	}
	// In a short one it moves the end that is nearer, and the later of two.
	for at, want := range map[float64]Outage{12.9: {Began: clock(12.9), Ended: clock(16)}, 13: {Began: clock(10), Ended: clock(13)}} {
		o, x := StoryOutage{Outage: Outage{Began: clock(10), Ended: clock(16)}}, between(at-1, at)
		x.Result = ResultWrote
		if o.narrow([]*Trace{x}); o.Outage != want {
			t.Errorf("a write at %v: %+v, want %+v", at, o.Outage, want)
		}
	}
}

// Pods of which one reply was lost have that in the list of writes, and not what was said of another pod.
func TestWritesWhoseReplyWasLost(t *testing.T) {
	full := &decision.Failure{Code: 403, Message: "exceeded quota"}
	for _, lost := range []*decision.Failure{nil, down} {
		x := outcome(ResultUnknown, "web", decision.Action{Kind: decision.CreatePods, Count: 2}, decision.Outcome{State: decision.Unknown, Failed: 2, Failure: full, Lost: lost})
		want := full
		if lost != nil {
			want = lost
		}
		if list := x.Writes(nil); len(list) != 1 || list[0].State != decision.Unknown || list[0].Failure != want {
			t.Errorf("lost %+v: %+v", lost, list)
		}
	}
}

// TestLostReplyAmongRefusalsIsNoOutage: an API server that refuses some requests as the reply to another is lost
// serves. Where it is not there for those either, it does not.
func TestLostReplyAmongRefusalsIsNoOutage(t *testing.T) {
	full, lost := &decision.Failure{Code: 403, Message: "exceeded quota"}, &decision.Failure{Reason: decision.Unreachable, Message: "EOF"}
	for name, c := range map[string]struct {
		failure *decision.Failure
		status  *decision.Outcome
		outages int
	}{
		"refused":                           {full, nil, 0},
		"no connection":                     {down, nil, 1},
		"refused, and no status afterwards": {full, &decision.Outcome{State: decision.Unanswered, Failure: down}, 1},
	} {
		x := outcome(ResultUnknown, "web", decision.Action{Kind: decision.CreatePods, Count: 6, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-1"}},
			decision.Outcome{State: decision.Unknown, Done: 1, Failed: 2, Untried: 4, Failure: c.failure, Lost: lost})
		x.Started, x.Ended, x.Failure, x.Report = clock(0), clock(1), lost, &decision.Report{Outcome: c.status}
		x.Sentence.Tone = decision.ToneWaiting
		later := outcome(ResultWrote, "web", decision.Action{Kind: decision.CreatePods}, decision.Outcome{State: decision.Written, Done: 6})
		later.Seq, later.Started, later.Ended = x.Seq+1, clock(2), clock(3)
		s, ok := NewExcerpt(TestLoops, []*Trace{x, later}).Story(x)
		if !ok || s.Counts.Outages != c.outages {
			t.Fatalf("%s: %t, %+v", name, ok, s.Counts)
		}
		if c.outages == 0 {
			continue
		}
		if due := s.Beats[0].Outage.Due; len(due) == 0 || due[0].Write.Failure != lost {
			t.Errorf("%s: due is %+v", name, due)
		}
	}
}
