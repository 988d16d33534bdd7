package effects

import (
	"crypto/sha256"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// unkeptFor is for how long it is believed that a write would not be kept either: nothing tells when the policy
// or webhook that takes it away is gone.
const unkeptFor = 10 * time.Minute

// unkept is what the API server did not keep of the last write of a ReplicaSet, and what its Deployment asked
// for then.
type unkept struct {
	decision.Unkept
	generation  int64
	annotations [sha256.Size]byte
	at          time.Time
}

// sumOf tells annotations apart, which are no part of a generation.
func sumOf(annotations map[string]string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Append(nil, annotations)) // In the order of their names.
}

// noteUnkept compares what a ReplicaSet was asked to have with what it has. Where nothing was stored at all, no
// echo brings the next sync, and this one has to go on; otherwise the next one knows.
func (t *deploymentSync) noteUnkept(a decision.Action, was, is *appsv1.ReplicaSet) decision.Learnt {
	if a.Stamp == nil || !a.Stamp.Copy && a.Stamp.Revision == "" && a.MinReadySeconds == nil {
		return decision.Learnt{}
	}
	lost := decision.Unkept{
		Copy:     a.Stamp.Copy && copyStale(t.d.Annotations, is.Annotations),
		MinReady: a.MinReadySeconds != nil && int64(is.Spec.MinReadySeconds) != *a.MinReadySeconds,
	}
	if is.Annotations[AnnotationRevision] != a.Stamp.Revision {
		lost.Revision = a.Stamp.Revision
	}
	if lost == (decision.Unkept{}) {
		t.controller.unkept.Forget(t.key)
		return decision.Learnt{}
	}
	t.controller.unkept.Note(t.key, string(is.UID), unkept{lost, t.d.Generation, sumOf(t.d.Annotations), t.controller.now()})
	if is.ResourceVersion != was.ResourceVersion {
		return decision.Learnt{}
	}
	return decision.Learnt{Unkept: &lost}
}

// notKept is what is remembered of a ReplicaSet, as long as its Deployment asks for the same.
func (t *deploymentSync) notKept(rs *appsv1.ReplicaSet) *decision.Unkept {
	last := t.controller.unkept.Of(t.key, string(rs.UID))
	switch {
	case last.Unkept == (decision.Unkept{}), t.controller.opts.Clock.Since(last.at) >= unkeptFor:
		return nil
	case last.generation != t.d.Generation, last.annotations != sumOf(t.d.Annotations):
		return nil
	}
	return &last.Unkept
}
