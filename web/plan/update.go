package plan

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

// updateSpec is what can be changed of a rolling update.
type updateSpec struct {
	request rollingupdate.Request
	// desired is how many pods it ends with; settled is set where that cannot be changed.
	desired int64
	settled bool
	// startup is how long a new pod takes to become ready, and fails is set where none does.
	startup time.Duration
	fails   bool
}

// updateProposal is what an address asks to change of a rolling update.
type updateProposal struct {
	Form
	From     *rollingupdate.Snapshot
	from, to updateSpec
}

var updateFields = []field[updateSpec]{
	{name: "desired", only: func(s *updateSpec) bool { return !s.settled },
		now: func(s *updateSpec) string { return words.Digits(s.desired) },
		set: func(s *updateSpec, text string) (bad string) { s.desired, bad = wholeNumber(text, 1); return bad }},
	{name: "surge",
		now: func(s *updateSpec) string { return s.request.Surge.String() },
		set: func(s *updateSpec, text string) (bad string) { s.request.Surge, bad = share(text); return bad }},
	{name: "unavailable",
		now: func(s *updateSpec) string { return s.request.Unavailable.String() },
		set: func(s *updateSpec, text string) (bad string) { s.request.Unavailable, bad = share(text); return bad }},
	{name: "updatePeriod",
		now: func(s *updateSpec) string { return time.Duration(*s.request.UpdatePeriod).String() },
		set: func(s *updateSpec, text string) (bad string) {
			s.request.UpdatePeriod, bad = period(text, 0)
			return bad
		}},
	{name: "timeout",
		now: func(s *updateSpec) string { return time.Duration(*s.request.Timeout).String() },
		set: func(s *updateSpec, text string) (bad string) { s.request.Timeout, bad = period(text, 1); return bad }},
	{name: "cleanup",
		choices: []views.Choice{{Value: "delete", Word: "delete"}, {Value: "rename", Word: "rename"}, {Value: "preserve", Word: "preserve"}},
		now:     func(s *updateSpec) string { return string(s.request.Cleanup) },
		set:     setCleanup},
	{name: "paused", choices: noOrYes,
		now: func(s *updateSpec) string { return strconv.FormatBool(s.request.Paused) },
		set: func(s *updateSpec, text string) (bad string) { s.request.Paused, bad = yes(text); return bad }},
	{name: "abort", choices: noOrYes,
		now: func(s *updateSpec) string { return strconv.FormatBool(s.request.Abort) },
		set: func(s *updateSpec, text string) (bad string) { s.request.Abort, bad = yes(text); return bad }},
	{name: "startup",
		now: func(s *updateSpec) string { return s.startup.String() },
		set: func(s *updateSpec, text string) string {
			v, bad := period(text, 0)
			if bad == "" {
				s.startup = time.Duration(*v)
			}
			return bad
		}},
	{name: "newPods", choices: []views.Choice{{Value: becomeReady, Word: becomeReady}, {Value: neverReady, Word: neverReady}},
		now: func(s *updateSpec) string { return map[bool]string{false: becomeReady, true: neverReady}[s.fails] },
		set: func(s *updateSpec, text string) string {
			if text != becomeReady && text != neverReady {
				return "Enter " + becomeReady + " or " + neverReady + "."
			}
			s.fails = text == neverReady
			return ""
		}},
}

// What becomes of new pods.
const (
	becomeReady = "ready"
	neverReady  = "stuck"
)

// share reads a number of pods or a percentage.
func share(text string) (*intstr.IntOrString, string) {
	v, bad := amount(text, maxInt32)
	if bad != "" {
		return nil, bad
	}
	if v.Percent != "" {
		return &intstr.IntOrString{Type: intstr.String, StrVal: v.Percent}, ""
	}
	return &intstr.IntOrString{IntVal: int32(v.Int)}, ""
}

// longestPeriod is that of a request.
const longestPeriod = 365 * 24 * time.Hour

func period(text string, least time.Duration) (*rollingupdate.Period, string) {
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > longestPeriod {
		return nil, "Enter a length of time such as 30s or 1m30s."
	}
	return new(rollingupdate.Period(d)), ""
}

func setCleanup(s *updateSpec, text string) (complaint string) {
	all := []rollingupdate.Cleanup{rollingupdate.Delete, rollingupdate.Rename, rollingupdate.Preserve}
	if s.request.Cleanup = rollingupdate.Cleanup(text); !slices.Contains(all, s.request.Cleanup) {
		return "Enter delete, rename or preserve."
	}
	return ""
}

func proposeUpdate(s *rollingupdate.Snapshot, args url.Values) *updateProposal {
	p := &updateProposal{From: s}
	if why, _ := p.Nothing(); why != "" {
		return p
	}
	p.from = updateSpec{request: *s.Request, desired: factsOf(s).Or("wanted"), startup: usualStartup(s), fails: stuckUpdate(s) != "",
		settled: s.Request.Abort || s.New == nil && (s.Old == nil || s.Old.Original != nil) || s.New != nil && s.New.Desired == nil}
	p.to = p.from
	read(&p.Form, updateFields, &p.from, &p.to, args)
	if most := p.most(p.snapshot(true)); p.OK() && most > sim.MaxPods {
		p.refuse(tooMany(most, sim.MaxPods), "desired", "surge")
	}
	return p
}

// Nothing says why there is nothing to plan.
func (p *updateProposal) Nothing() (why, command string) {
	s := p.From
	switch {
	case s.Old == nil && s.New == nil:
		return "is gone", ""
	case s.Request == nil && s.RequestError != "":
		return "has a request that cannot be read", ""
	case s.Request == nil && s.Old != nil && s.Old.Parked != nil:
		return "has no request any more and only takes over its new pods", ""
	case s.Request == nil:
		return "is not being updated", "loopscope -n " + s.Namespace + " rolling-update " + s.Name + " --image=IMAGE --dry-run"
	}
	return "", ""
}

// MostPods is the most that the two may have.
func (p *updateProposal) MostPods() int64 { return p.most(p.From) }

func (p *updateProposal) most(s *rollingupdate.Snapshot) int64 {
	n := factsOf(s)
	return max(n.Or("ceiling"), n.Or("pods"))
}

// factsOf are the numbers of an update, as its loop tells them.
func factsOf(s *rollingupdate.Snapshot) facts.Numbers { return facts.Numbers(numbersOf(s)) }

func numbersOf(s *rollingupdate.Snapshot) []decision.Fact {
	x := decision.Sync{Core: s.Begin()}
	x.Run(decision.Nobody)
	return x.Tell(decision.Try{}, s.Now).Numbers
}

func (p *updateProposal) limits() []views.WhatIfBound {
	return limitsOf(numbersOf(p.From), numbersOf(p.snapshot(true)))
}

// snapshot is what the loop would see with the changes, or sees without them.
func (p *updateProposal) snapshot(changed bool) *rollingupdate.Snapshot {
	s := *p.From
	if !changed || s.Request == nil {
		return &s
	}
	s.Request = &p.to.request
	switch n := p.to.desired; {
	case n == p.from.desired:
	case s.New != nil:
		one := *s.New
		one.Desired, s.New = &n, &one
	case s.Old != nil:
		one := *s.Old
		one.Size, one.Generation, s.Old = n, one.Generation+1, &one
	}
	return &s
}

// Assumptions say what a plan is worth.
func (p *updateProposal) Assumptions(seq uint64) []views.Text {
	stuck := ""
	if p.from.fails && p.to.fails {
		stuck = stuckUpdate(p.From)
	}
	return assumptions(seq, "A new pod becomes ready "+words.Digits(int64(p.to.startup/time.Second))+" s after it was created, if it does.", stuck)
}

// stuckUpdate is why a new pod waits that time does not fix, "" where none does.
func stuckUpdate(s *rollingupdate.Snapshot) string {
	if s.New == nil {
		return ""
	}
	for i := range s.New.Pods {
		if x := &s.New.Pods[i]; !x.Ready && !sim.Passing(x.Reason) {
			return x.Reason
		}
	}
	return ""
}

// Commands are what would make the changes for real.
func (p *updateProposal) Commands() []string {
	s := p.From
	of := s.Old
	if of == nil {
		of = s.New
	}
	in := " -n " + quoted(s.Namespace)
	var list []string
	if p.changed("desired") {
		if s.New != nil {
			list = append(list, "kubectl annotate rc "+quoted(s.New.Name)+in+" --overwrite "+quoted(rollingupdate.AnnotationDesired+"="+words.Digits(p.to.desired)))
		} else {
			list = append(list, "kubectl scale rc "+quoted(of.Name)+in+" --replicas="+words.Digits(p.to.desired))
		}
	}
	asks := slices.ContainsFunc([]string{"surge", "unavailable", "updatePeriod", "timeout", "cleanup", "paused", "abort"}, p.changed)
	if asks && (p.to.request.Image == "" || imageRef.MatchString(p.to.request.Image)) { // Another image is masked in a snapshot.
		list = append(list, "kubectl annotate rc "+quoted(of.Name)+in+" --overwrite "+quoted(rollingupdate.AnnotationRequest+"="+p.to.request.Text()))
	}
	return list
}

// assumedStartup is how long a pod takes of which nothing is known.
const assumedStartup = 30 * time.Second

// usualStartup is how long pods took to become ready: new ones, or else old ones.
func usualStartup(s *rollingupdate.Snapshot) time.Duration {
	for _, c := range []*rollingupdate.Controller{s.New, s.Old} {
		var took []time.Duration
		for i := 0; c != nil && i < len(c.Pods); i++ {
			if x := &c.Pods[i]; x.Ready && x.Restarts == 0 && x.ReadySince.After(x.Created) {
				took = append(took, x.ReadySince.Sub(x.Created).Round(time.Second))
			}
		}
		if slices.Sort(took); len(took) > 0 {
			return max(time.Second, took[len(took)/2])
		}
	}
	return assumedStartup
}

// whole is nil: an update is planned from where it is.
func (*updateProposal) whole() func(*simulator, bool) (simulation, error) { return nil }

func (p *updateProposal) next(f *simulator, changed bool) (simulation, error) {
	spec := &p.from
	if changed {
		spec = &p.to
	}
	return f.update(p.snapshot(changed), spec.startup, spec.fails)
}

// update simulates a rolling update, whose new pods take that long or never become ready.
func (f *simulator) update(s *rollingupdate.Snapshot, startup time.Duration, fails bool) (simulation, error) {
	c, err := sim.FromRollingUpdate(s)
	if err != nil {
		return simulation{}, err
	}
	c.Rules.Quota, c.Rules.Fate = f.room, func(string, int) sim.Fate { return sim.ReadyAfter(startup) }
	prepare(c, s, startup, fails)
	n := factsOf(s)
	x := simulation{timed: true, began: podsStage(c.Now(), c.Sizes()), floor: n.Or("floor"), ceiling: n.Or("ceiling")}
	slices := min(MostSyncs, simulationWork/max(1, n.Or("pods")))/simulationSlice + 1
	end, err := f.run(c, slices, func(r *sim.Result) {
		for i := range r.Steps {
			x.stages = append(x.stages, updateStage(&r.Steps[i]))
		}
	})
	end.Steps = nil
	x.end, x.cut = end, end.End == sim.Unsettled
	return x, err
}

// prepare gives those pods their fates that are not ready yet.
func prepare(c *sim.Cluster, s *rollingupdate.Snapshot, startup time.Duration, fails bool) {
	if s.New == nil {
		if fails {
			c.Edit(sim.NewPods("", sim.Stuck("ImagePullBackOff")))
		}
		return
	}
	stuck := stuckUpdate(s)
	if fails && stuck == "" {
		c.Edit(sim.NewPods("", sim.Stuck("ImagePullBackOff")))
	}
	if !fails {
		c.Edit(sim.NewPods("", sim.ReadyAfter(startup)))
	}
	for i := range s.New.Pods {
		switch x := &s.New.Pods[i]; {
		case x.Ready || fails && !sim.Passing(x.Reason):
		case fails:
			c.Edit(sim.Pod(x.Name, sim.Stuck("ImagePullBackOff")))
		case sim.Passing(x.Reason):
			c.Edit(sim.Pod(x.Name, sim.ReadyAfter(max(0, x.Created.Add(startup).Sub(c.Now())))))
		default:
			c.Edit(sim.Pod(x.Name, sim.ReadyAfter(startup)))
		}
	}
}

// podsStage counts the pods that there are.
func podsStage(at time.Time, sets []sim.Size) stage {
	m := stage{at: at, by: map[string]int64{}}
	for _, s := range sets {
		if s.New {
			m.newSize += s.Pods
		} else {
			m.old += s.Pods
		}
		m.available += s.Available
	}
	m.total = m.newSize + m.old
	return m
}

func updateStage(s *sim.Step) stage {
	m := podsStage(s.At, s.Sets)
	m.decided = s.Leads()
	if !m.decided {
		return m
	}
	m.held = s.Round.Verdict.Held
	for i := range s.Round.Verdict.Actions {
		switch s.Round.Verdict.Actions[i].Kind {
		case decision.Scale:
			m.writes++
			fallthrough
		case decision.Create, decision.Update, decision.Delete, decision.Label:
			m.says = s.Sentence.Lead.At(s.At)
		}
	}
	return m
}
