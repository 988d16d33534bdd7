// Package standby keeps the syncs of the leader in a process that stands by: it reads the leader's
// stream of traces, which web/PROTOCOL.md describes, from where the Lease says that it is, and goes
// on after a cut where it stopped. What did not come is known by its gaps. It may not know who
// looks at the syncs, or what a loop is.
package standby
