// Package replay decides and settles recorded syncs once more and compares what
// comes out with what was recorded. It may not reach a cluster, a clock or a
// file: a trace holds everything that its sync was decided on, and this is the
// proof of that.
package replay
