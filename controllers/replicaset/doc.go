// Package replicaset decides for one ReplicaSet or ReplicationController. It
// may not do I/O, read a clock, log, or import anything but the standard
// library and its sibling pure packages: the same Snapshot always gives the
// same Verdict.
package replicaset
