package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/plan"
	"github.com/loopscope/loopscope/web/words"
)

const (
	// simulationTimeout bounds the plans of one page, not counting the time that others draw in
	// between, and maxSimulations how many pages are planned at once. Others wait for their
	// turn for simulationWait.
	simulationTimeout = 8 * time.Second
	simulationWait    = 2 * time.Minute
	maxSimulations    = 1
	// maxAsItIs is of how many syncs the plans as it is are kept.
	maxAsItIs = 8
)

// whatIf is the page of a plan as it is beside the plan as it would be. It
// decides on a copy of a recorded snapshot, and has no way to a cluster.
func (s *Server) whatIf(q *page.Query) (*page.Page, error) {
	x, err := s.subject(q)
	if err != nil {
		return nil, err
	}
	snap, err := planned(x)
	if err != nil {
		return nil, err
	}
	p := plan.Propose(snap, q.Args)
	v, err := s.whatIfView(q, x, p)
	if err != nil {
		return nil, err
	}
	status := http.StatusOK
	if q.Twin && !p.OK() { // The page is a form with a message; a program asked for what cannot be.
		status = http.StatusBadRequest
	}
	return s.whatIfPage(q, x, status, v), nil
}

func (s *Server) whatIfPage(q *page.Query, x *subject, status int, v views.WhatIf) *page.Page {
	p := &page.Page{Status: status, Frame: s.pages.Frame(q, "What if: "+x.object.Key()), Body: views.WhatIfBody(v), Data: v}
	f := &p.Frame
	f.Tab, f.Up, f.Twin, f.Keys = s.src.TabOf(x.object.Loop), address.Of(x.object), q.TwinHref(), page.WhatIfKeys
	f.Crumbs = s.pages.Under(x.object, views.Link{Text: "what if"})
	f.About = append(f.About, views.Say("from ").Link("sync "+words.Digits(x.cursor.Seq), v.Base.Href).Plain(" of ").Clock(x.cursor.Started))
	return p
}

// planned is the snapshot to plan from.
func planned(x *subject) (*deployment.Snapshot, error) {
	back := func(e *answer.Problem) error { return e.Link(x.object.Key(), address.Of(x.object)) }
	if x.cursor.Snapshot.IsZero() {
		return nil, back(answer.NewProblem(http.StatusNotFound, "no-snapshot", "Sync "+words.Digits(x.cursor.Seq)+" has no snapshot to plan from.",
			views.Say("It ended before it had seen its object. Choose another sync.")))
	}
	var snap *deployment.Snapshot
	text, err := x.cursor.Snapshot.JSON()
	if err == nil {
		snap, err = deployment.Decode(text) // The model decides on it: it is checked, wherever it comes from.
	}
	if err != nil {
		return nil, back(answer.NewProblem(http.StatusUnprocessableEntity, "bad-snapshot", "The snapshot of sync "+words.Digits(x.cursor.Seq)+" cannot be read.", views.Say(prose.Clip(err.Error(), 300))))
	}
	if !snap.Found || snap.Deleting {
		return nil, back(answer.NewProblem(http.StatusNotFound, "gone", x.object.Key()+" is gone or being deleted as of sync "+words.Digits(x.cursor.Seq)+": there is nothing to plan.",
			views.Say("Choose an earlier sync.")))
	}
	if n := facts.Numbers(deployment.Numbers(snap)).Or("ceiling"); n > sim.MaxPods {
		return nil, back(tooLarge(x, n))
	}
	return snap, nil
}

// tooLarge says that the model does not hold so many pods.
func tooLarge(x *subject, pods int64) *answer.Problem {
	return answer.NewProblem(http.StatusUnprocessableEntity, "too-large", "No plan is made for "+x.object.Key()+": it is too large.",
		views.Sayf("It may have %s pods in a rollout; a plan is made for %s at most, so that no reader can keep this program busy.", prose.Thousands(pods), prose.Thousands(int64(sim.MaxPods))))
}

// whatIfView simulates both plans, those from now on first.
func (s *Server) whatIfView(q *page.Query, x *subject, p *plan.Proposal) (views.WhatIf, error) {
	leave, err := s.simulate(q, x)
	if err != nil {
		return views.WhatIf{}, err
	}
	defer leave()
	known, _ := s.asItIs.Get(x.cursor)
	plans, err := p.Simulate(q.Ctx, q.Slot.Yield, s.within/4, known)
	if q.Ctx.Err() != nil {
		return views.WhatIf{}, q.Ctx.Err()
	}
	if known == nil && err == nil && plans.Whole() {
		s.asItIs.Put(x.cursor, plans.AsItIs())
	}
	if err != nil {
		return views.WhatIf{}, tooLarge(x, facts.Numbers(deployment.Numbers(p.From)).Or("total")).Link(x.object.Key(), address.Of(x.object))
	}
	v := views.WhatIf{Base: views.WhatIfBase{Seq: x.cursor.Seq, Epoch: x.cursor.Epoch, At: x.cursor.Started.UTC(), Href: address.Sync(x.cursor)},
		Action: address.Of(x.object) + "/what-if", Fields: p.Fields, Pods: p.Pods, All: p.All, PodsError: p.PodsError, Permalink: planHref(x, p), Reset: planHref(x, nil)}
	v.Headline, v.Then = plans.Headline(x.object.Key(), p), plans.Then(p)
	v.Bounds, v.Plans = plans.Bounds(p), plans.Views(p)
	v.Assumptions = plan.Assumptions(x.cursor.Seq, p)
	if p.OK() {
		v.Commands = plan.Commands(p)
	}
	return v, nil
}

// simulate waits for one of the places for simulations, or says that there is none to be had now. Nobody who
// waits for one keeps a slot meanwhile.
func (s *Server) simulate(q *page.Query, x *subject) (leave func(), err error) {
	wait := func() error {
		leave, err := s.pages.Slots.Queue()
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
				RetryIn(5*time.Second).Link(x.object.Key(), address.Of(x.object))
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

// AsItIs is what other plans from the same sync need not simulate again.

// planning reports whether a plan is being made.
func (s *Server) planning() bool {
	if !s.simulations.TryAcquire(1) {
		return true
	}
	s.simulations.Release(1)
	return false
}

// planHref is the address of a plan with every change of the proposal, which
// names the sync that it begins with.
func planHref(x *subject, p *plan.Proposal) string {
	args := url.Values{"sync": {words.Digits(x.cursor.Seq)}, "epoch": {x.cursor.Epoch}}
	if p != nil {
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
	return address.Of(x.object) + "/what-if?" + args.Encode()
}

// whatIfHref leads from a Deployment to its plans: those of the sync under the
// cursor, if that is pinned.
func (x *subject) whatIfHref() string {
	href := address.Of(x.object) + "/what-if"
	if x.pinned {
		href += "?sync=" + words.Digits(x.cursor.Seq) + "&epoch=" + url.QueryEscape(x.cursor.Epoch)
	}
	return href
}
