// Package controllers lists the loops of the program and holds what is said about all of them:
// how they are built (DESIGN.md), their rules, questions and codes, and the tests that hold
// the source to that. It has no code of any loop.
//
//	engine               what is true of every loop
//	deployment           decides for Deployments; deployment/effects observes and acts
//	replicaset           decides for ReplicaSets and ReplicationControllers; replicaset/effects observes and acts
//	rollingupdate        decides for rolling updates of ReplicationControllers; rollingupdate/effects observes and acts
//	family               what their objects are to each other
//	diagnosis, rollout, sim, agreement   are below and beside the deciding
package controllers
