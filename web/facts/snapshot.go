package facts

import (
	"errors"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Deployment reads what a Deployment's sync decided on. It fails where the trace has no such
// snapshot.
func Deployment(loops decision.Loops, t *telemetry.Trace) (*deployment.Snapshot, error) {
	return snapshotOf[*deployment.Snapshot](loops, t)
}

// snapshotOf is what a sync decided on, where that is a T.
func snapshotOf[T decision.Snapshot](loops decision.Loops, t *telemetry.Trace) (s T, err error) {
	decided, err := t.Decided(loops)
	if err != nil {
		return s, errSnapshot
	}
	s, ok := decided.(T)
	if !ok {
		return s, errSnapshot
	}
	return s, nil
}

// errSnapshot says that a trace carries no snapshot that can be read here.
var errSnapshot = errors.New("the trace has no readable snapshot")

// RollingUpdate reads what the sync of a rolling update decided on. It fails where the trace has
// no such snapshot.
func RollingUpdate(loops decision.Loops, t *telemetry.Trace) (*rollingupdate.Snapshot, error) {
	return snapshotOf[*rollingupdate.Snapshot](loops, t)
}

// ReplicaSet reads what the sync of a ReplicaSet or ReplicationController decided on. It fails
// where the trace has no such snapshot.
func ReplicaSet(loops decision.Loops, t *telemetry.Trace) (*replicaset.Snapshot, error) {
	return snapshotOf[*replicaset.Snapshot](loops, t)
}
