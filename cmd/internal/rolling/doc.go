// Package rolling starts, steers and watches rolling updates of ReplicationControllers, which
// a loop of the manager carries out. Whoever watches may leave and come back: everything that
// it has to know stands on the cluster.
package rolling
