package create

import (
	"cmp"
	"context"
	"slices"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/plan"
)

// foresee adds the sequence, and how quotas and LimitRanges bound it. room is how many pods more there will be.
func (f *Forecast) foresee(ctx context.Context, w *workload, s *surroundings, snapshot decision.Snapshot) (room int64) {
	switch x := snapshot.(type) {
	case *deployment.Snapshot:
		there, stay := podsOf(x)
		fresh, old := s.podsBy(x)
		return f.within(w, s, there, stay, s.replacementOf(&w.template, fresh, old), func(refuse refusal) (views.Plan, error) { return plan.Ahead(ctx, x, refuse) })
	case *replicaset.Snapshot:
		if w.owned() {
			f.Unplanned = "a Deployment owns it and decides on its size"
			return 0
		}
		there, stay := podsIn(x)
		return f.within(w, s, there, stay, s.replacementOf(&w.template, there, nil), func(refuse refusal) (views.Plan, error) { return plan.AheadOfReplicaSet(ctx, x, refuse) })
	}
	return 0
}

// refusal says why one more pod is refused, as plan.Ahead asks for it.
type refusal = func(isNew bool, fresh, old int) string

// within plans what quotas and LimitRanges leave room for, of something that has so many pods, of which so many
// of its template stay.
func (f *Forecast) within(w *workload, s *surroundings, there, stay int64, r *replacement, ahead func(refusal) (views.Plan, error)) (room int64) {
	p, err := ahead(nil)
	if err != nil {
		f.Unplanned = err.Error()
		return 0
	}
	room, clash := s.room(&w.template, mostPods(&p)-there)
	bounded, err := ahead(r.refuse)
	if err != nil {
		bounded = p
	}
	if clash == "" && bounded.End.Word != p.End.Word {
		clash = r.last
	}
	text := cmp.Or(s.barred(&w.template), w.refused)
	barred := text != "" && newPods(&p) > stay
	if barred {
		room = 0
	}
	s.claims(w, room)
	s.sheds(w, there+room, keeps(&p))
	if barred {
		f.bar(text, there)
		if clash != "" { // It is in the way of pods that nothing else bars any more.
			f.bar(clash, there)
		}
		return 0
	}
	switch {
	case clash != "" && there+room == 0:
		f.bar(clash, 0)
		return room
	case clash != "":
		f.Clashes, p = append(f.Clashes, clash), bounded
	}
	f.Plan = &p
	return room
}

// bar tells what refuses every pod more, of something that has so many.
func (f *Forecast) bar(clash string, there int64) {
	f.Unplanned = "no pod could be created"
	if !slices.Contains(f.Clashes, clash) {
		f.Clashes = append(f.Clashes, clash)
	}
	if there > 0 {
		f.Unplanned = "no new pod could be created"
	}
}

// podsOf counts the pods of a Deployment, and those of its template that stay.
func podsOf(x *deployment.Snapshot) (all, stay int64) {
	for i := range x.ReplicaSets {
		rs := &x.ReplicaSets[i]
		if !rs.Mine && (!rs.Matches || rs.Deleting) { // Orphans are adopted.
			continue
		}
		pods := rs.NonTerminal
		if !rs.Mine { // Those of an orphan are not counted.
			pods = rs.StatusReplicas
		}
		if all += pods; rs.SameTemplate {
			stay += pods - rs.TerminatingNow
		}
	}
	return all, stay
}

// podsIn counts the pods of a ReplicaSet or ReplicationController, and those that stay.
func podsIn(x *replicaset.Snapshot) (all, stay int64) {
	for i := range x.Pods {
		p := &x.Pods[i]
		if ended := p.Phase == "Succeeded" || p.Phase == "Failed"; !p.Matches || ended { // Orphans are adopted.
			continue
		}
		if all++; p.Active() {
			stay++
		}
	}
	return all, stay
}

func mostPods(p *views.Plan) int64 {
	for _, x := range p.Facts {
		if x.Label == "most pods" {
			return x.Value
		}
	}
	return 0
}

// keeps is the most pods of a plan but for those that go at once.
func keeps(p *views.Plan) (most int64) {
	if len(p.Rows) == 0 {
		return mostPods(p)
	}
	for i := range p.Rows {
		most = max(most, p.Rows[i].Total.N)
	}
	return most
}

// newPods is the most of the new pods that a plan asks for.
func newPods(p *views.Plan) (most int64) {
	for i := range p.Rows {
		most = max(most, p.Rows[i].New.N)
	}
	return most
}
