// Package controllers holds the effects of the loops: informers, the work
// queue, observing, acting and publishing. It may not decide: every choice is
// made by the pure packages below it, and recorded there.
//
// A sync is four verbs, each done by one method of a turn:
//
//	observe  caches -> Snapshot, or a wait for the echo of our own last write
//	decide   Snapshot -> Verdict (pure)
//	act      the Verdict's actions, each under its own discipline
//	settle   Snapshot and rounds -> Report (pure), then publish it
//
// One body serves ReplicaSets and ReplicationControllers, which are put into the
// form of the former where they are read.
//
// Constructors register handlers and start nothing. Run starts the queue, the
// event broadcaster and the workers, and returns after all of them have ended.
package controllers
