// Package telemetry keeps what the loops did: traces, the journal they are
// recorded in, the board of newest traces, and the states that can be looked at
// while they run. It may not decide, write to a cluster, render, or make a sync
// wait: recording never blocks, whatever the readers do.
package telemetry
