// Package whatif is the page of a plan as it is beside the plan as it would be. It says
// who may plan and when; what is planned is worked out by package plan.
package whatif

import (
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/plan"
	"github.com/loopscope/loopscope/web/subject"
)

// Pages builds pages of plans, few at a time. It is safe for concurrent use.
type Pages struct {
	*subject.Finder
	asItIs      facts.Cache[*plan.AsItIs]
	simulations *semaphore.Weighted // first come, first served
	// Within bounds the plans of one page, not counting the time that others draw in between.
	Within time.Duration
}

// NewPlaces are those for plans of all builders together.
func NewPlaces() *semaphore.Weighted { return semaphore.NewWeighted(MaxPlans) }

// NewPages returns a builder of plans for what the finder finds, each in one of these places.
func NewPages(find *subject.Finder, places *semaphore.Weighted) *Pages {
	return &Pages{Finder: find, asItIs: facts.Cache[*plan.AsItIs]{Most: maxAsItIs}, simulations: places, Within: Timeout}
}
