// Package effects is the acting part of the loops that keep pods at a number. One body serves
// ReplicaSets and ReplicationControllers, which are put into the form of the former where they
// are read. It may not decide: every choice is made and recorded by package replicaset.
package effects
