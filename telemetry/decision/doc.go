// Package decision is the vocabulary in which the loops think: questions and
// their answers, facts, actions, held-back writes, outcomes and sentences.
//
// It may not do I/O, read a clock, log, or depend on anything but the standard
// library; a test of the module enforces that. Values of this package are
// recorded, streamed, replayed and compared, so they hold no pointers into live
// objects, no secrets, and marshal to the same JSON every time.
//
// The four verbs of a sync meet here:
//
//	observe  caches            -> Snapshot (of the loop's own package)
//	decide   Snapshot          -> Verdict
//	act      Verdict.Actions   -> []Outcome
//	settle   Snapshot, Rounds  -> Report
package decision
