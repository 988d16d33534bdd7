// Package family is what Deployments, ReplicaSets, ReplicationControllers and pods are to each
// other, for the effects of the loops that look at them: who owns whom by the indexes of
// caches, what a pod waits for and how it was ended, and what changed of a ReplicaSet or a
// pod. It reads objects of caches and changes none; it may not decide, act or remember.
package family
