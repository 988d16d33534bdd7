package web

import (
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/filter"
	"github.com/loopscope/loopscope/web/live"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/plan"
	"github.com/loopscope/loopscope/web/slots"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/whatif"
)

// limits says what no reader can exceed, of all rooms.
func limits() []views.Line {
	return []views.Line{
		{Label: "list", Text: views.Sayf("%d Deployments on a page, %d terms in a filter", page.MaxRows, filter.MaxTerms)},
		{Label: "an object", Text: views.Sayf("%d of its syncs on its page", source.HistoryRows)},
		{Label: "a plan", Text: views.Sayf("%s pods and %s syncs, in %s at most; %d at once", prose.Thousands(int64(sim.MaxPods)), prose.Thousands(plan.MostSyncs), whatif.Timeout, whatif.MaxPlans)},
		{Label: "a snapshot", Text: views.Sayf("%d pods that are not available are described one by one, others counted", deployment.MaxBlocking)},
		{Label: "an address", Text: views.Sayf("%s characters in the query string, %s in that of a plan", prose.Thousands(page.MaxQuery), prose.Thousands(whatif.MaxQuery))},
		{Label: "rendering", Text: views.Sayf("one processor is left to the loops, and syncs come first; %d requests wait, for %s each", slots.MaxWaiting, slots.Within)},
		{Label: "a websocket", Text: views.Sayf("%d subscriptions a second", live.SubscribeRate)},
		{Label: "exports", Text: views.Sayf("%d at once", maxExports)}}
}
