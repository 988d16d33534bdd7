package telemetry

import "time"

const (
	// share is one part of how many of a processor's time comparing may take in the long run, and saved
	// what it may take at once after a time without anything to compare.
	share = 5
	saved = 4 * time.Second
)

// budget bounds the time that comparing takes: the loops decide on the same processors, and what they
// decide must not wait for it.
type budget struct {
	now  func() time.Time
	left time.Duration
	at   time.Time // as of when that is left
}

func newBudget(now func() time.Time) budget { return budget{now, saved, now()} }

// has reports whether any time is left.
func (b *budget) has() bool {
	now := b.now()
	if passed := now.Sub(b.at); passed > 0 {
		b.left = min(saved, b.left+passed/share)
	}
	b.at = now
	return b.left > 0
}

// spend does what takes time.
func (b *budget) spend(do func()) {
	began := b.now()
	do()
	b.left -= b.now().Sub(began)
}
