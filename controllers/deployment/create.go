package deployment

import (
	"strconv"

	"github.com/loopscope/loopscope/controllers/rollout"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// hasNew asks whether there is a ReplicaSet for the template ([RR-1], [RC-4], and
// first thing in a rollback).
func (t *decider) hasNew(question string) bool {
	if t.newSet == nil {
		return t.ask(question, false, decision.Text("name", t.s.NextName),
			decision.Count(fStart, t.initialSize()), decision.Count("newRevision", t.newRevision()))
	}
	return t.ask(question, true, decision.Text("replicaSet", t.newSet.Name), decision.Text("revision", t.newSet.Revision))
}

// create makes the ReplicaSet for the template, with what an earlier round of
// this sync learnt about its name and namespace ([N-4], [N-5]).
func (t *decider) create(question string) {
	switch {
	case t.namespaceTerminatingNow():
		t.stop(leafNamespace)
	case t.learnt.NameTaken == nil:
		t.createAs(question, t.s.NextName, t.s.NextHash)
	case t.takenByOwn():
		t.lookAgain(leafNotCached, timerCache, qTaken)
	case t.learnt.NameTaken.Name == t.s.CollisionName:
		// The next name is taken as well. Settle counts one collision, and
		// the next sync starts from there.
		t.leaf = leafCollides
	default:
		t.createAs(qTaken, t.s.CollisionName, t.s.CollisionHash)
		t.leaf = leafCollides
	}
}

// namespaceTerminatingNow is only asked after a refusal said so.
func (t *decider) namespaceTerminatingNow() bool {
	return t.learnt.NamespaceTerminating && t.ask(qNamespace, true, decision.Text("namespace", t.s.Namespace))
}

// takenByOwn is asked where the name exists already: one of ours with the same
// template will be in the cache soon, anything else is a collision of hashes.
func (t *decider) takenByOwn() bool {
	n := t.learnt.NameTaken
	facts := []decision.Fact{decision.Text("name", n.Name), decision.Bool("own", n.Mine), decision.Bool("sameTemplate", n.SameTemplate)}
	own := n.Mine && n.SameTemplate
	if !own {
		facts = append(facts, decision.Count("collisions", collided(t.s)))
	}
	return t.ask(qTaken, own, facts...)
}

// collided is the collision count after one more collision.
func collided(s *Snapshot) int64 {
	if s.Status.Collisions == nil {
		return 1
	}
	return *s.Status.Collisions + 1
}

func (t *decider) createAs(question, name, hash string) {
	t.leaf = leafCreates
	size := t.initialSize()
	want, ceiling, minReady := t.s.Want, t.bounds.Ceiling(), t.s.MinReady
	t.write(decision.Action{
		Kind:       decision.CreateReplicaSet,
		Target:     decision.Ref{Kind: "ReplicaSet", Namespace: t.s.Namespace, Name: name},
		Discipline: decision.StopAtFirst,
		Question:   question,
		Size:       &decision.Size{To: size},
		Stamp: &decision.Stamp{Revision: strconv.FormatInt(t.newRevision(), 10),
			Desired: &want, Max: &ceiling, Copy: true},
		MinReadySeconds: &minReady,
		Hash:            hash,
		Changes: []decision.Change{
			{Field: "spec.replicas", To: digits(size)},
			{Field: "metadata.annotations[" + annRevision + "]", To: digits(t.newRevision())},
		},
	})
}

// initialSize is the size a new ReplicaSet starts with ([B-3]): what fits under the
// ceiling for a rolling update, all of it for Recreate. Before a rollback
// Kubernetes starts all pods of a Recreate beside the old ones; here none.
func (t *decider) initialSize() int64 {
	switch {
	case t.s.Strategy == rollingUpdate:
		return t.bounds.NewSize(0, t.total)
	case t.total > 0:
		return 0
	default:
		return t.s.Want
	}
}

// rollingSets are the active old ReplicaSets for the arithmetic, oldest first.
func rollingSets(sets []*ReplicaSet) []rollout.Set {
	list := make([]rollout.Set, len(sets))
	for i, rs := range sets {
		list[i] = rollout.Set{Size: rs.Replicas, Available: rs.Available}
	}
	return list
}
