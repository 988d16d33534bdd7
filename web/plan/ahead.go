package plan

import (
	"context"
	"fmt"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/views"
)

// aheadWithin is how long a plan for somebody who waits may take.
const aheadWithin = 10 * time.Second

func ahead(ctx context.Context, room int) *simulator {
	return &simulator{ctx: ctx, yield: context.Context.Err, left: aheadWithin, room: room}
}

// Ahead plans what a Deployment's snapshot leads to by itself, with every new pod becoming
// ready. refuse says why one more is refused, of the template that is wanted or of another one, while so
// many of it and of others are there; "" where it is not, and nil for never.
func Ahead(ctx context.Context, s *deployment.Snapshot, refuse func(wanted bool, ofWanted, ofOthers int) string) (views.Plan, error) {
	a := ahead(ctx, 0)
	a.refuse = refuse
	f, err := next(a, s, nil)
	if err != nil {
		return views.Plan{}, fmt.Errorf("plan: %w", err)
	}
	return planOf("", &f), nil
}

// AheadOfReplicaSet is Ahead for a ReplicaSet or a ReplicationController that no Deployment
// owns. Its pods stand in the plan as the new ones, and all are of the template that is wanted.
func AheadOfReplicaSet(ctx context.Context, s *replicaset.Snapshot, refuse func(wanted bool, ofWanted, ofOthers int) string) (views.Plan, error) {
	c, err := sim.FromReplicaSet(s)
	if err != nil {
		return views.Plan{}, fmt.Errorf("plan: %w", err)
	}
	c.Rules.Refuse = refuse
	pace(c, s.Want)
	x := simulation{began: podStage(c.Now(), c.Size())}
	slices := min(MostSyncs, simulationWork/max(1, s.Want))/simulationSlice + 1
	end, err := ahead(ctx, 0).run(c, slices, func(r *sim.Result) {
		for i := range r.Steps {
			m := podStage(r.Steps[i].At, r.Steps[i].Sets[0])
			m.held, m.decided = r.Steps[i].Round.Verdict.Held, true
			x.stages = append(x.stages, m)
		}
	})
	if err != nil {
		return views.Plan{}, fmt.Errorf("plan: %w", err)
	}
	end.Steps = nil
	x.end, x.cut = end, end.End == sim.Unsettled
	return planOf("", &x), nil
}

// AheadOfRollingUpdate is Ahead for a rolling update of a ReplicationController, that need not
// have begun.
func AheadOfRollingUpdate(ctx context.Context, s *rollingupdate.Snapshot, room int) (views.Plan, error) {
	x, err := ahead(ctx, room).update(s, usualStartup(s), false)
	if err != nil {
		return views.Plan{}, fmt.Errorf("plan: %w", err)
	}
	return planOf("", &x), nil
}

// podStage counts the pods that there are where a Deployment's stage has those asked for.
func podStage(at time.Time, s sim.Size) stage {
	return stage{at: at, newSize: s.Pods, total: s.Pods, available: s.Available, by: map[string]int64{s.Name: s.Available}}
}
