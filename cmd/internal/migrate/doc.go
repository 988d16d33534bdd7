// Package migrate has a Deployment take over the pods of a ReplicationController, and goes
// back, without a pod being deleted, restarted or created beyond those that are wanted.
//
// next decides on what is in the cluster alone, so whoever is interrupted continues by asking
// again. Its steps are what a plan prints and what Run writes: a plan is next folded over a
// model of the loops (ideal.go), which the tests run with caches that lag behind.
//
// What makes it safe is that no loop may be trusted to have seen what was written before. While
// pods have no owner, and until the status of their next one counts them, the template of that
// one is sealed: the API server refuses its pods. A Deployment is created paused until it has
// taken the ReplicaSet for its own revision. An owner that is deleted on the way back is held by
// a finalizer until nothing refers to it, as the garbage collector deletes what refers to an
// owner that is gone.
package migrate
