package whatif

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/plan"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/words"
)

const (
	// Timeout bounds the plans of one page, not counting the time that others draw in
	// between, and MaxPlans how many pages are planned at once. Others wait for their
	// turn for simulationWait.
	Timeout        = 8 * time.Second
	simulationWait = 2 * time.Minute
	MaxPlans       = 1
	// maxAsItIs is of how many syncs the plans as it is are kept.
	maxAsItIs = 8
	// MaxQuery bounds the query of an address: a form sends every field, and images are long.
	MaxQuery = 8192
)

// Page is the page of a plan as it is beside the plan as it would be. It
// decides on a copy of a recorded snapshot, and has no way to a cluster.
func (s *Pages) Page(q *page.Query) (*page.Page, error) {
	x, err := s.Find(q)
	if err != nil {
		return nil, err
	}
	p, err := s.propose(q, x)
	if err != nil {
		return nil, err
	}
	v, err := s.whatIfView(q, x, p)
	if err != nil {
		return nil, err
	}
	status := http.StatusOK
	if q.Twin && !p.Asked().OK() { // The page is a form with a message; a program asked for what cannot be.
		status = http.StatusBadRequest
	}
	return s.whatIfPage(q, x, status, v), nil
}

func (s *Pages) whatIfPage(q *page.Query, x *subject.Subject, status int, v views.WhatIf) *page.Page {
	p := &page.Page{Status: status, Frame: s.Frame(q, "What if: "+x.Object.Key()), Body: views.WhatIfBody(v), Data: v}
	f := &p.Frame
	f.Tab, f.Up, f.Twin, f.Keys = s.TabOf(x.Object.Loop), address.Of(x.Object), q.TwinHref(), page.WhatIfKeys
	f.Crumbs = s.Under(x.Object, x.Newest.Owner, views.Link{Text: "what if"})
	f.About = append(f.About, views.Say("from ").Link("sync "+words.Digits(x.Cursor.Seq), v.Base.Href).Plain(" of ").Clock(x.Cursor.Started))
	return p
}

// propose reads what the address asks to change of the snapshot of a sync.
func (s *Pages) propose(q *page.Query, x *subject.Subject) (plan.Proposal, error) {
	back := func(e *answer.Problem) error { return e.Link(x.Object.Key(), address.Of(x.Object)) }
	if x.Cursor.Snapshot.IsZero() {
		return nil, back(answer.NewProblem(http.StatusNotFound, "no-snapshot", "Sync "+words.Digits(x.Cursor.Seq)+" has no snapshot to plan from.",
			views.Say("It ended before it had seen its object. Choose another sync.")))
	}
	snap, err := s.Loops.Of(x.Object.Loop).Decode(x.Cursor.Snapshot.JSON()) // The model decides on it: it is checked, wherever it comes from.
	if err != nil {
		return nil, back(answer.NewProblem(http.StatusUnprocessableEntity, "bad-snapshot", "The snapshot of sync "+words.Digits(x.Cursor.Seq)+" cannot be read.", views.Say(prose.Clip(err.Error(), 300))))
	}
	p := plan.Propose(snap, q.Args)
	if why, command := p.Nothing(); why != "" {
		advice := views.Say("Choose an earlier sync.")
		if command != "" {
			advice = views.Say("To see an update planned before anybody asks for it: ").Code(command).Plain(". Or choose an earlier sync.")
		}
		return nil, back(answer.NewProblem(http.StatusNotFound, "gone", x.Object.Key()+" "+why+" as of sync "+words.Digits(x.Cursor.Seq)+": there is nothing to plan.", advice))
	}
	if n := p.MostPods(); n > sim.MaxPods {
		return nil, back(tooLarge(x, n))
	}
	return p, nil
}

// tooLarge says that the model does not hold so many pods.
func tooLarge(x *subject.Subject, pods int64) *answer.Problem {
	return answer.NewProblem(http.StatusUnprocessableEntity, "too-large", "No plan is made for "+x.Object.Key()+": it is too large.",
		views.Sayf("It may have %s pods at once; a plan is made for %s at most, so that no reader can keep this program busy.", prose.Thousands(pods), prose.Thousands(int64(sim.MaxPods))))
}

// whatIfView simulates both plans, those from now on first.
func (s *Pages) whatIfView(q *page.Query, x *subject.Subject, p plan.Proposal) (views.WhatIf, error) {
	leave, err := s.simulate(q, x)
	if err != nil {
		return views.WhatIf{}, err
	}
	defer leave()
	known, _ := s.asItIs.Get(x.Cursor)
	plans, err := plan.Simulate(q.Ctx, p, q.Slot.Yield, s.Within/4, known)
	if q.Ctx.Err() != nil {
		return views.WhatIf{}, q.Ctx.Err()
	}
	if known == nil && err == nil && plans.Whole() {
		s.asItIs.Put(x.Cursor, plans.AsItIs())
	}
	if err != nil {
		return views.WhatIf{}, tooLarge(x, p.MostPods()).Link(x.Object.Key(), address.Of(x.Object))
	}
	form := p.Asked()
	v := views.WhatIf{Base: views.WhatIfBase{Seq: x.Cursor.Seq, Epoch: x.Cursor.Epoch, At: x.Cursor.Started.UTC(), Href: address.Sync(x.Cursor)},
		Action: address.Of(x.Object) + "/what-if", Fields: form.Fields, Pods: form.Pods, All: form.All, PodsError: form.PodsError, Permalink: planHref(x, p), Reset: planHref(x, nil)}
	v.Headline, v.Then = plans.Headline(x.Object.Key(), p), plans.Then(p)
	v.Bounds, v.Plans = plans.Bounds(p), plans.Views(p)
	v.Assumptions = p.Assumptions(x.Cursor.Seq)
	if form.OK() {
		v.Commands = p.Commands()
	}
	return v, nil
}

// simulate waits for one of the places for simulations, or says that there is none to be had now. Nobody who
// waits for one keeps a slot meanwhile.
func (s *Pages) simulate(q *page.Query, x *subject.Subject) (leave func(), err error) {
	wait := func() error {
		leave, err := s.Slots.Queue(q.Ctx)
		if err != nil {
			return err
		}
		defer leave()
		ctx, cancel := context.WithTimeout(q.Ctx, simulationWait)
		defer cancel()
		err = s.simulations.Acquire(ctx, 1)
		if err != nil && q.Ctx.Err() == nil {
			return answer.NewProblem(http.StatusServiceUnavailable, "busy", "Other plans are being computed.",
				views.Sayf("One is computed at a time, and this one was not reached within %s. Reload the page in a moment.", simulationWait)).
				RetryIn(5*time.Second).Link(x.Object.Key(), address.Of(x.Object))
		}
		return err
	}
	got := false
	err = q.Slot.Without(q.Ctx, func() error { err := wait(); got = err == nil; return err })
	leave = func() { s.simulations.Release(1) }
	if err != nil && got {
		leave()
	}
	return leave, err
}

// Planning reports whether a plan is being made.
func (s *Pages) Planning() bool {
	if !s.simulations.TryAcquire(1) {
		return true
	}
	s.simulations.Release(1)
	return false
}

// planHref is the address of a plan with every change of the proposal, which
// names the sync that it begins with.
func planHref(x *subject.Subject, of plan.Proposal) string {
	args := url.Values{"sync": {words.Digits(x.Cursor.Seq)}, "epoch": {x.Cursor.Epoch}}
	if of != nil {
		p := of.Asked()
		for _, f := range p.Fields {
			if f.Changed {
				args.Set(f.Name, f.Value)
			}
		}
		if p.All != nil && p.All.Ready {
			args.Add("ready", plan.EveryPod)
		}
		for _, x := range p.Pods {
			if x.Ready {
				args.Add("ready", x.Value)
			}
			if x.Fails {
				args.Add("fails", x.Value)
			}
		}
	}
	return address.Of(x.Object) + "/what-if?" + args.Encode()
}

// CanPlan reports whether what a loop would do can be planned.
func CanPlan(l *decision.Loop) bool { return len(Fields(l)) > 0 }

// Fields are the parameters of an address that change what a loop decides on; none for one
// that cannot be planned.
func Fields(l *decision.Loop) []string {
	if l.New == nil {
		return nil
	}
	return plan.Fields(l.New())
}
