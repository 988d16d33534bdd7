// Package sim may not write to a cluster, read a clock or draw a random number:
// whatever it does happens in a value in memory, and time is counted in it.
//
// It folds verdicts over a model. A Cluster is made from one snapshot of a
// Deployment; Run lets the real loops observe it, decide and settle, carries out
// what they decide and publish in the model, and goes on to the next moment at
// which anything happens, until nothing does any more. That answers "what if":
// edit the cluster and look at the steps. A ReplicaSet or ReplicationController that
// nobody owns can be modelled alone, and a rolling update of ReplicationControllers with
// both of them. It also lets properties be tested over
// whole rollouts instead of single syncs.
//
// The model's caches are never behind and its writes never fail, quota aside.
// Nothing else writes in it: no autoscaler, no person but the edits.
package sim
