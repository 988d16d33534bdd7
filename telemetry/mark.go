package telemetry

import (
	"slices"
	"time"
)

// Mark is what the journal knows of a kept trace without its bytes being unpacked.
type Mark struct {
	Seq   uint64
	Ended time.Time
	// Wrote and WroteSize are the trace's answers.
	Wrote, WroteSize bool
	// Managers are the programs, other than this one, whose writes woke the sync.
	Managers []string
}

func markOf(t *Trace) Mark {
	m := Mark{Seq: t.Seq, Ended: t.Ended, Wrote: t.Wrote()}
	m.WroteSize = m.Wrote && t.WroteSize()
	for i := range t.Causes {
		if c := &t.Causes[i]; c.Manager != "" && c.Sync == 0 && !slices.Contains(m.Managers, c.Manager) {
			m.Managers = append(m.Managers, c.Manager)
		}
	}
	return m
}
