// Package conformance runs Kubernetes' own end-to-end tests of the three loops
// against the sandbox: with Loopscope's loops, and with upstream's, which say
// what a sandbox whose pods run nothing lets pass. What passes with upstream's
// loops must pass with Loopscope's.
//
// It may not change, leave out or repeat a spec to make it pass: the suite is
// built as Kubernetes publishes it, and a run in which not every spec ran is a
// failure. It looks at the loops through the suite alone.
//
// Without environment it is a sample of one spec for each loop, with Loopscope's
// loops, of which each must pass. The environment makes it the whole suite:
//
//	LOOPSCOPE_CONFORMANCE_RUNS  runs of the whole suite, one after the other
//	LOOPSCOPE_CONFORMANCE_SIDE  "ours" or "upstream": this side alone
//	LOOPSCOPE_SANDBOX           a sandbox that is built already
package conformance
