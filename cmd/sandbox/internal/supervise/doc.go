// Package supervise keeps child processes running: it starts them, restarts
// those that die, kills and delays them on demand, and stops all of them.
//
// It may not know what its children are, import anything of Kubernetes but its
// clock, or let a child outlive the process that supervises it.
package supervise
