// Package rollingupdate decides for rolling updates of ReplicationControllers: what kubectl's
// rolling-update did from a terminal, as a loop. An update is known by its old
// ReplicationController, which carries the request; the state stands in the annotations that
// kubectl used, so that either can continue what the other began. The package is pure.
package rollingupdate
