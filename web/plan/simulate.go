package plan

import (
	"context"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

const (
	// paceGap is the time of the model between pods that become ready. It is
	// longer than a status is held back and a pod takes to end, so that every
	// event has had its effects before the next one.
	paceGap = 5 * time.Second
	// paceEvents is about how often pods become ready in a rollout of a whole
	// Deployment; the pods of a larger one come in groups.
	paceEvents = 60
	// MostSyncs bounds the syncs of a simulation, and simulationWork the pods that all of them
	// look at, so that a plan ends at the same step however busy the machine is.
	// simulationSlice is how many syncs are folded between looks at the clock.
	MostSyncs, simulationWork, simulationSlice = 6_000, 2_000_000, 30
	// simulationSpan bounds the time of the model.
	simulationSpan = 365 * 24 * time.Hour
	// planRows is how many rows of a plan the page shows.
	planRows = 60
)

// readySchedule makes pods ready one after the other, the oldest first.
type readySchedule struct {
	cluster *sim.Cluster
	size    int64 // how many at a time
	at      time.Time
	taken   int64
}

// pace lets the new pods of a cluster become ready one after the other.
func pace(c *sim.Cluster, want int64) *readySchedule {
	steady := &readySchedule{cluster: c, size: readyScheduleOf(want)}
	c.Rules.Fate = func(string, int) sim.Fate { return sim.ReadyAfter(steady.next()) }
	return steady
}

// readyScheduleOf is the pace for a Deployment of so many pods.
func readyScheduleOf(want int64) int64 { return max(1, (want+paceEvents-1)/paceEvents) }

// next is how long the next pod takes.
func (p *readySchedule) next() time.Duration {
	now := p.cluster.Now()
	if p.taken >= p.size || !p.at.After(now) {
		if p.at.Before(now) {
			p.at = now
		}
		p.at, p.taken = p.at.Add(paceGap), 0
	}
	p.taken++
	return p.at.Sub(now)
}

// stage is what one step of a simulation left behind.
type stage struct {
	at                             time.Time
	newSize, old, total, available int64
	by                             map[string]int64 // available by ReplicaSet
	writes                         int              // of sizes
	held                           []decision.Held
	decided                        bool   // a sync of the loop that is planned for
	says                           string // what it did, where its time is told
}

// simulation is a run with its beginning and its end.
type simulation struct {
	began   stage
	stages  []stage
	end     sim.Result // without its steps
	cut     bool
	floor   int64
	ceiling int64
	// deadline is how long there may be no progress; zero for no bound.
	deadline time.Duration
	// timed plans tell when each step is, and begin a row with it.
	timed bool
}

// simulator runs one plan: it lets others draw after every slice, and ends when
// nobody waits for it any more.
type simulator struct {
	ctx   context.Context
	yield func(context.Context) error
	left  time.Duration // of its own, not that of others in between
	room  int           // most pods at once; 0 for no such bound
	// refuse says why one more pod is refused, as in sim.Rules.
	refuse func(wanted bool, ofWanted, ofOthers int) string
}

// run advances a cluster slice by slice, until it settles, so many slices are over or
// the time is. That is the last resort.
func (f *simulator) run(c *sim.Cluster, slices int64, each func(*sim.Result)) (end sim.Result, err error) {
	for range slices {
		began := time.Now()
		end = c.Run(sim.Bound{Syncs: simulationSlice, Time: simulationSpan})
		each(&end)
		if f.left -= time.Since(began); end.End != sim.Unsettled || f.left <= 0 {
			break
		}
		if err := f.yield(f.ctx); err != nil {
			return end, err
		}
	}
	return end, nil
}

// simulate runs a cluster until nothing is left to happen, or a bound is met.
func (f *simulator) simulate(c *sim.Cluster) (simulation, error) {
	start := c.Snapshot()
	x := simulation{began: beginning(start)}
	end, err := f.run(c, simulateInSlices(start), func(r *sim.Result) {
		for i := range r.Steps {
			x.stages = append(x.stages, stageOf(&r.Steps[i]))
		}
	})
	end.Steps = nil
	x.end, x.cut = end, end.End == sim.Unsettled
	n := facts.Numbers(deployment.Numbers(c.Snapshot()))
	x.floor, x.ceiling = n.Or("floor"), n.Or("ceiling")
	return x, err
}

// simulateInSlices is how many slices a simulation has at most.
func simulateInSlices(s *deployment.Snapshot) int64 {
	pods := facts.Numbers(deployment.Numbers(s)).Or("ceiling")
	return min(MostSyncs, simulationWork/max(1, pods))/simulationSlice + 1
}

// beginning is the sizes before anything happens.
func beginning(s *deployment.Snapshot) stage {
	m := stage{at: s.Now}
	for i := range s.ReplicaSets {
		rs := &s.ReplicaSets[i]
		switch {
		case !rs.Mine:
			continue
		case rs.SameTemplate:
			m.newSize += rs.Replicas
		default:
			m.old += rs.Replicas
		}
	}
	m.total = m.newSize + m.old
	return m
}

func stageOf(s *sim.Step) stage {
	m := stage{at: s.At, total: s.Asked, available: s.Available, by: make(map[string]int64, len(s.Sets)), held: s.Round.Verdict.Held, decided: s.Snapshot != nil}
	for _, set := range s.Sets {
		if m.by[set.Name] = set.Available; set.New {
			m.newSize += set.Replicas
		}
	}
	m.old = m.total - m.newSize
	for _, a := range s.Round.Verdict.Actions {
		if a.Size != nil {
			m.writes++
		}
	}
	return m
}

// gained is how many pods have become available since the stage before.
func (m *stage) gained(before *stage) (n int64) {
	for name, available := range m.by {
		n += max(0, available-before.by[name])
	}
	return n
}

// row is what one event and its effects came to.
type row struct {
	available int64 // pods that have become available since the beginning
	last      stage
	held      []decision.Held
	at        time.Time
	says      string
}

// rows merges stages into one row for every event: the change, and then every
// time that pods become available. Those of a timed plan are its steps.
func (f *simulation) rows() []row {
	var list []row
	var available int64
	for i := range f.stages {
		m := &f.stages[i]
		if f.timed && m.says != "" {
			list = append(list, row{at: m.at, says: m.says})
		}
		if i > 0 && !f.timed {
			if n := m.gained(&f.stages[i-1]); n > 0 {
				available += n
				list = append(list, row{available: available})
			}
		}
		if len(list) == 0 {
			list = append(list, row{at: m.at})
		}
		r := &list[len(list)-1]
		if r.last = *m; m.decided {
			r.held = m.held
		}
	}
	return list
}

// extremes are the fewest pods available and the most asked for at any stage, and how many
// scale writes it takes.
func (f *simulation) extremes() (least, most, writes int64) {
	most = f.began.total
	for i := range f.stages {
		m := &f.stages[i]
		if i == 0 || m.available < least {
			least = m.available
		}
		most, writes = max(most, m.total), writes+int64(m.writes)
	}
	return least, most, writes
}

// planOf is a simulation as the page shows it.
func planOf(title string, f *simulation) views.Plan {
	least, most, writes := f.extremes()
	p := views.Plan{Title: title, Sentence: f.end.Sentence.At(f.toldAt()), Facts: []views.Figured{
		{Label: "fewest available", Value: least}, {Label: "most pods", Value: most}, {Label: "scale writes", Value: writes}}}
	o, _ := words.OutcomeOf(f.end.Sentence.Tone)
	p.End = views.Mark{Tone: o.View, Word: string(f.end.End)}
	p.Takes = f.takes()
	before := f.began
	for _, r := range f.rows() {
		when, then := whenText(r.available), sizesText(&before, &r.last)
		if f.timed {
			when, then = afterText(r.at.Sub(f.began.at)), r.says
		}
		x := views.PlanRow{When: when, Then: then, New: views.Cell{N: r.last.newSize},
			Old: views.Cell{N: r.last.old}, Total: views.Cell{N: r.last.total}, Available: views.Cell{N: r.last.available}}
		if x.Then == "" && len(r.held) > 0 {
			x.Mark = &views.Mark{Tone: views.Waiting, Word: "held"}
		}
		p.Rows, before = append(p.Rows, x), r.last
	}
	if f.cut {
		p.Cut, p.Sentence = "This plan is longer than what is simulated for a page, so it stops here. Fewer pods, or a larger maxSurge or maxUnavailable, make it shorter.", ""
	} else if n := len(p.Rows); n > 0 {
		if f.end.End == sim.Overdue {
			last := p.Rows[n-1]
			last.When, last.Then = "the deadline", ""
			p.Rows, n = append(p.Rows, last), n+1
		}
		p.Rows[n-1].Mark = endMark(f)
	}
	p.Hidden = max(0, len(p.Rows)-planRows)
	return p
}

// toldAt is as of when the end is told: at the deadline itself, and not the seconds later that it is seen to be over.
func (f *simulation) toldAt() time.Time {
	if since := f.end.Sentence.Since; f.end.End == sim.Overdue && f.deadline > 0 && !since.IsZero() {
		return since.Add(f.deadline)
	}
	return f.end.At
}

// takes is when a plan that tells times comes to its end; "" where it tells none.
func (f *simulation) takes() string {
	if !f.timed || f.cut || f.end.End != sim.Complete && f.end.End != sim.Aborted {
		return ""
	}
	last := f.began.at
	for i := range f.stages {
		if f.stages[i].says != "" { // What follows are timers that find nothing to do.
			last = f.stages[i].at
		}
	}
	return afterText(last.Sub(f.began.at))
}

// deeds are what the steps of a timed plan do.
func (f *simulation) deeds() string {
	var text strings.Builder
	for i := range f.stages {
		if f.timed {
			text.WriteString(f.stages[i].says)
		}
	}
	return text.String()
}

// endMark is how a simulation ended, at its last row.
func endMark(f *simulation) *views.Mark {
	o, _ := words.OutcomeOf(f.end.Sentence.Tone)
	word := map[sim.End]string{sim.Complete: "complete", sim.Waiting: "waiting", sim.Overdue: "deadline exceeded", sim.Aborted: "taken back", sim.Failed: "failed"}[f.end.End]
	return &views.Mark{Tone: o.View, Word: word}
}

// afterText is how long after the beginning of its plan a row is.
func afterText(d time.Duration) string {
	if d < time.Second {
		return "at once"
	}
	return prose.Span(d)
}

func whenText(available int64) string {
	if available == 0 {
		return "at once"
	}
	return prose.Thousands(available) + " available"
}

// sizesText is what changed of the sizes between two rows.
func sizesText(before, after *stage) string {
	text := ""
	for _, x := range []struct {
		word     string
		was, now int64
	}{{"old", before.old, after.old}, {"new", before.newSize, after.newSize}} {
		if x.was == x.now {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += x.word + " " + words.Digits(x.was) + " → " + words.Digits(x.now)
	}
	return text
}

// differ marks in both plans what the other has otherwise.
func differ(a, b *views.Plan) {
	for i := range a.Facts {
		is := a.Facts[i].Value != b.Facts[i].Value
		a.Facts[i].Differs, b.Facts[i].Differs = false, is
	}
	for i := range b.Rows {
		r, other := &b.Rows[i], views.PlanRow{New: views.Cell{N: -1}, Old: views.Cell{N: -1}, Total: views.Cell{N: -1}, Available: views.Cell{N: -1}}
		if i < len(a.Rows) {
			other = a.Rows[i]
		}
		r.New.Differs, r.Old.Differs = r.New.N != other.New.N, r.Old.N != other.Old.N
		r.Total.Differs, r.Available.Differs = r.Total.N != other.Total.N, r.Available.N != other.Available.N
	}
}
