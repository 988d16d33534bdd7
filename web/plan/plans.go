// Package plan answers "what if": it reads the changes that an address asks for,
// simulates the rollout with and without them, and says how the two differ. It decides
// on copies of recorded snapshots, and knows no request and no cluster.
package plan

import (
	"context"
	"fmt"
	"time"
)

// Plans are the simulations of a page: as it is and as it would be, from now on and
// of a whole rollout.
type Plans struct {
	now, nowIf, all, allIf simulation
	planned                bool // nowIf and allIf are made
	wholes                 bool // there are plans of a whole rollout
}

// AsItIs is what all plans that begin with one sync have in common.
type AsItIs struct{ now, all simulation }

// Whole reports whether the plans as it is came to their end.
func (f *Plans) Whole() bool { return !f.now.cut && !f.all.cut }

// AsItIs is what other plans from the same sync need not simulate again.
func (f *Plans) AsItIs() *AsItIs { return &AsItIs{f.now, f.all} }

// Simulate makes all plans of a proposal. Each has share as its time, so that they stay alike;
// after every slice of it yield lets others draw, and its error ends everything. known may be nil.
func Simulate(ctx context.Context, p Proposal, yield func(context.Context) error, share time.Duration, known *AsItIs) (*Plans, error) {
	f := Plans{wholes: p.whole() != nil}
	var err error
	plan := func(to *simulation, how func(*simulator, bool) (simulation, error), changed bool) {
		if err == nil && how != nil {
			*to, err = how(&simulator{ctx: ctx, yield: yield, left: share}, changed)
		}
	}
	if known != nil {
		f.now, f.all = known.now, known.all
	} else {
		plan(&f.now, p.next, false)
		plan(&f.all, p.whole(), false)
	}
	if f.planned = p.Asked().OK(); f.planned {
		plan(&f.nowIf, p.next, true)
		plan(&f.allIf, p.whole(), true)
	}
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return &f, nil
}
