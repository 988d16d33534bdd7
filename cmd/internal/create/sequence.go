package create

import (
	"context"
	"fmt"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/plan"
)

// foresee adds the sequence, and how quotas and LimitRanges bound it.
func (f *Forecast) foresee(ctx context.Context, w *workload, s *surroundings, snapshot decision.Snapshot) {
	switch x := snapshot.(type) {
	case *deployment.Snapshot:
		f.ofDeployment(ctx, w, s, x)
	case *replicaset.Snapshot:
		if w.owned() {
			f.Unplanned = "a Deployment owns it and decides on its size"
			return
		}
		f.ofReplicaSet(ctx, w, s, x)
	}
}

func (f *Forecast) ofDeployment(ctx context.Context, w *workload, s *surroundings, x *deployment.Snapshot) {
	p, err := plan.Ahead(ctx, x, nil)
	if err != nil {
		f.Unplanned = err.Error()
		return
	}
	there, fresh := podsOf(x)
	if text := s.barred(&w.template); text != "" && newPods(&p) > fresh {
		f.bar(text, there)
		return
	}
	more := mostPods(&p) - there
	room, clash := s.room(&w.template, more)
	r := s.replacementOf(&w.template, x)
	s.claims(w, room)
	bounded, err := plan.Ahead(ctx, x, r.refuse)
	if err != nil {
		bounded = p
	}
	if clash == "" && bounded.End.Word != p.End.Word {
		clash = r.last
	}
	switch {
	case clash != "" && there+room == 0:
		f.bar(clash, 0)
		return
	case clash != "":
		f.Clashes, p = append(f.Clashes, clash), bounded
	}
	f.Plan = &p
}

func (f *Forecast) ofReplicaSet(ctx context.Context, w *workload, s *surroundings, x *replicaset.Snapshot) {
	p, err := plan.AheadOfReplicaSet(ctx, x, 0)
	if err != nil {
		f.Unplanned = err.Error()
		return
	}
	there := int64(0)
	for i := range x.Pods {
		p := &x.Pods[i]
		if ended := p.Phase == "Succeeded" || p.Phase == "Failed"; p.Matches && !ended { // Orphans are adopted.
			there++
		}
	}
	more := mostPods(&p) - there
	if text := s.barred(&w.template); text != "" && more > 0 {
		f.bar(text, there)
		return
	}
	room, clash := s.room(&w.template, more)
	s.claims(w, room)
	switch {
	case clash != "" && there+room == 0: // A bound of 0 pods is none to the model.
		f.bar(clash, 0)
		return
	case clash != "":
		f.Clashes = append(f.Clashes, clash)
		if bounded, err := plan.AheadOfReplicaSet(ctx, x, int(there+room)); err == nil {
			p = bounded
			p.Sentence = fmt.Sprintf("%s, until the quota leaves room for more.", prose.Count(there+room, "pod"))
		}
	}
	f.Plan = &p
}

// bar tells what refuses every pod more, of something that has so many.
func (f *Forecast) bar(clash string, there int64) {
	f.Clashes, f.Unplanned = append(f.Clashes, clash), "no pod could be created"
	if there > 0 {
		f.Unplanned = "no new pod could be created"
	}
}

// podsOf counts the pods of a Deployment, and those of its template that stay.
func podsOf(x *deployment.Snapshot) (all, fresh int64) {
	for i := range x.ReplicaSets {
		rs := &x.ReplicaSets[i]
		if !rs.Mine && (!rs.Matches || rs.Deleting) { // Orphans are adopted.
			continue
		}
		if all += rs.NonTerminal; rs.SameTemplate {
			fresh += rs.NonTerminal - rs.TerminatingNow
		}
	}
	return all, fresh
}

func mostPods(p *views.Plan) int64 {
	for _, x := range p.Facts {
		if x.Label == "most pods" {
			return x.Value
		}
	}
	return 0
}

// newPods is the most of the new pods that a plan asks for.
func newPods(p *views.Plan) (most int64) {
	for i := range p.Rows {
		most = max(most, p.Rows[i].New.N)
	}
	return most
}
