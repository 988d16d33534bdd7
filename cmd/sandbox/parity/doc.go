// Package parity plays the same scenario against Kubernetes' own loops and
// against Loopscope's, and compares what is left at rest. It may not know how
// either decides: it sees the API server, as every client does.
//
// A scenario is a script of a few lines (testdata/scenarios, one archive for
// each subject; [Scenario] tells the language) that is played in a namespace of
// its own, twice with upstream's loops and once with ours. When nothing moves
// any more, every Deployment, ReplicaSet, ReplicationController, group of pods
// and event is taken down as a [Record]: an object, a field, a value. Times,
// UIDs, versions and the random endings of pod names are not part of it.
//
// What upstream does not do the same way twice is not compared, field by field;
// a scenario that differs is played once more, and counts if it differs again.
// Everything else that differs is a failure, unless it follows from an entry of
// the register of departures in controllers/DESIGN.md; departures names those.
//
// Of events the set of (object, type, reason, message) is compared, with the
// numbers in the message left out. How many there were and with which numbers
// depends on how the steps of a rollout fell together, and the recorder,
// which is client-go's on both sides, drops what exceeds its rate: of an object
// with 25 events or more none is compared. The order of a list of conditions is
// not compared either: it is keyed by type, and says only which was written last.
// The generation of a ReplicaSet counts its writes, so only whether its status
// has caught up is compared.
//
// "make parity-shadow" has `loopscope manager --watch` run beside upstream's loops meanwhile. It
// has to agree with them, and may only read.
//
// What our loops say of each sync on the way is held against itself by package
// agreement: no two places may name different causes.
package parity
