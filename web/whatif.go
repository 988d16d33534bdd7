package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
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
func (s *Server) whatIf(q *query) (*page, error) {
	x, err := s.subject(q)
	if err != nil {
		return nil, err
	}
	snap, err := planned(x)
	if err != nil {
		return nil, err
	}
	p := propose(snap, q.args)
	v, err := s.whatIfView(q, x, p)
	if err != nil {
		return nil, err
	}
	status := http.StatusOK
	if q.twin && !p.ok() { // The page is a form with a message; a program asked for what cannot be.
		status = http.StatusBadRequest
	}
	return s.whatIfPage(q, x, status, v), nil
}

func (s *Server) whatIfPage(q *query, x *subject, status int, v views.WhatIf) *page {
	p := &page{status: status, frame: s.frame(q, "What if: "+x.object.Key()), body: views.WhatIfBody(v), data: v}
	f := &p.frame
	f.Tab, f.Up, f.Twin, f.Keys = s.tabOf(x.object.Loop), hrefOf(x.object), q.twinHref(), whatIfKeys
	f.Crumbs = s.under(x.object, views.Link{Text: "what if"})
	f.About = append(f.About, views.Say("from ").Link("sync "+digits(x.cursor.Seq), v.Base.Href).Plain(" of ").Clock(x.cursor.Started))
	return p
}

// planned is the snapshot to plan from.
func planned(x *subject) (*deployment.Snapshot, error) {
	back := func(e *asked) error { return e.link(x.object.Key(), hrefOf(x.object)) }
	if x.cursor.Snapshot.IsZero() {
		return nil, back(problem(http.StatusNotFound, "no-snapshot", "Sync "+digits(x.cursor.Seq)+" has no snapshot to plan from.",
			views.Say("It ended before it had seen its object. Choose another sync.")))
	}
	snap, err := deployment.Decode(x.cursor.Snapshot.JSON()) // The model decides on it: it is checked, wherever it comes from.
	if err != nil {
		return nil, back(problem(http.StatusUnprocessableEntity, "bad-snapshot", "The snapshot of sync "+digits(x.cursor.Seq)+" cannot be read.", views.Say(prose.Clip(err.Error(), 300))))
	}
	if !snap.Found || snap.Deleting {
		return nil, back(problem(http.StatusNotFound, "gone", x.object.Key()+" is gone or being deleted as of sync "+digits(x.cursor.Seq)+": there is nothing to plan.",
			views.Say("Choose an earlier sync.")))
	}
	if n := numbers(deployment.Numbers(snap)).or("ceiling"); n > sim.MaxPods {
		return nil, back(tooLarge(x, n))
	}
	return snap, nil
}

// tooLarge says that the model does not hold so many pods.
func tooLarge(x *subject, pods int64) *asked {
	return problem(http.StatusUnprocessableEntity, "too-large", "No plan is made for "+x.object.Key()+": it is too large.",
		views.Sayf("It may have %s pods in a rollout; a plan is made for %s at most, so that no reader can keep this program busy.", prose.Thousands(pods), prose.Thousands(int64(sim.MaxPods))))
}

// whatIfView simulates both plans, those from now on first.
func (s *Server) whatIfView(q *query, x *subject, p *proposal) (views.WhatIf, error) {
	leave, err := s.simulate(q, x)
	if err != nil {
		return views.WhatIf{}, err
	}
	defer leave()
	known, _ := s.asItIs.get(x.cursor)
	plans, err := p.plans(q, s.within/4, known)
	if q.ctx.Err() != nil {
		return views.WhatIf{}, q.ctx.Err()
	}
	if known == nil && err == nil && !plans.now.cut && !plans.all.cut {
		s.asItIs.put(x.cursor, &asItIs{plans.now, plans.all})
	}
	if err != nil {
		return views.WhatIf{}, tooLarge(x, numbers(deployment.Numbers(p.from)).or("total")).link(x.object.Key(), hrefOf(x.object))
	}
	v := views.WhatIf{Base: views.WhatIfBase{Seq: x.cursor.Seq, Epoch: x.cursor.Epoch, At: x.cursor.Started.UTC(), Href: syncHref(x.cursor)},
		Action: hrefOf(x.object) + "/what-if", Fields: p.fields, Pods: p.pods, All: p.all, PodsError: p.podsError, Permalink: planHref(x, p), Reset: planHref(x, nil)}
	v.Headline, v.Then = plans.headline(x, p), plans.then(p)
	v.Bounds, v.Plans = plans.bounds(p), plans.views(p)
	v.Assumptions = assumptions(x, p)
	if p.ok() {
		v.Commands = commands(p)
	}
	return v, nil
}

// simulate waits for one of the places for simulations, or says that there is none to be had now. Nobody who
// waits for one keeps a slot meanwhile.
func (s *Server) simulate(q *query, x *subject) (leave func(), err error) {
	wait := func() error {
		leave, err := s.slots.queue()
		if err != nil {
			return err
		}
		defer leave()
		ctx, cancel := context.WithTimeout(q.ctx, simulationWait)
		defer cancel()
		err = s.simulations.Acquire(ctx, 1)
		if err != nil && q.ctx.Err() == nil {
			return problem(http.StatusServiceUnavailable, "busy", "Other plans are being computed.",
				views.Sayf("One is computed at a time, and this one was not reached within %s. Reload the page in a moment.", simulationWait)).
				retryIn(5*time.Second).link(x.object.Key(), hrefOf(x.object))
		}
		return err
	}
	got := false
	err = q.slot.without(q.ctx, func() error { err := wait(); got = err == nil; return err })
	leave = func() { s.simulations.Release(1) }
	if err != nil && got {
		leave()
	}
	return leave, err
}

// plans are the simulations of a page: as it is and as it would be, from now on and
// of a whole rollout.
type plans struct {
	now, nowIf, all, allIf simulation
	planned                bool // nowIf and allIf are made
}

// asItIs is what all plans that begin with one sync have in common.
type asItIs struct{ now, all simulation }

// Each has as much time, so that the plans stay alike. known may be nil.
func (p *proposal) plans(q *query, share time.Duration, known *asItIs) (*plans, error) {
	var f plans
	var err error
	plan := func(to *simulation, how func(*simulator, *deployment.Snapshot, *proposal) (simulation, error), with *proposal) {
		if err == nil {
			*to, err = how(&simulator{ctx: q.ctx, slot: q.slot, left: share}, p.from, with)
		}
	}
	if known != nil {
		f.now, f.all = known.now, known.all
	} else {
		plan(&f.now, next, nil)
		plan(&f.all, whole, nil)
	}
	if f.planned = p.ok(); f.planned {
		plan(&f.nowIf, next, p)
		plan(&f.allIf, whole, p)
	}
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return &f, nil
}

// planHref is the address of a plan with every change of the proposal, which
// names the sync that it begins with.
func planHref(x *subject, p *proposal) string {
	args := url.Values{"sync": {digits(x.cursor.Seq)}, "epoch": {x.cursor.Epoch}}
	if p != nil {
		for _, f := range p.fields {
			if f.Changed {
				args.Set(f.Name, f.Value)
			}
		}
		if p.all != nil && p.all.Ready {
			args.Add("ready", everyPod)
		}
		for _, x := range p.pods {
			if x.Ready {
				args.Add("ready", x.Value)
			}
			if x.Fails {
				args.Add("fails", x.Value)
			}
		}
	}
	return hrefOf(x.object) + "/what-if?" + args.Encode()
}

// whatIfHref leads from a Deployment to its plans: those of the sync under the
// cursor, if that is pinned.
func whatIfHref(x *subject) string {
	href := hrefOf(x.object) + "/what-if"
	if x.pinned {
		href += "?sync=" + digits(x.cursor.Seq) + "&epoch=" + url.QueryEscape(x.cursor.Epoch)
	}
	return href
}
