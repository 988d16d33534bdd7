package telemetry

import (
	"math"
	"slices"
	"time"
)

// Mark is what the journal knows of a kept trace without a look at the trace.
type Mark struct {
	Seq   uint64
	UID   string // of the object
	Ended time.Time
	// Wrote and WroteSize are the trace's answers.
	Wrote, WroteSize bool
	// Managers are the programs, other than this one, whose writes woke the sync.
	Managers []string
	Sizes    Sizes
}

// Sizes are those that the numbers of a sync tell, in pods: of what replaces pods by others the
// new and the old ones, of what only has pods those. They are not Known without such numbers.
type Sizes struct {
	New, Old, Ceiling int32
	Known             bool
}

// Sizes reads them.
func (t *Trace) Sizes() (s Sizes) {
	var only Sizes
	counted := false
	for i := range t.Numbers {
		var at *int32
		switch t.Numbers[i].Name {
		case "new":
			at, s.Known = &s.New, true
		case "old":
			at = &s.Old
		case "ceiling":
			at = &s.Ceiling
		case "pods":
			at, counted = &only.New, true
		case "wanted":
			at, only.Known = &only.Ceiling, true
		default:
			continue
		}
		n, _ := t.Numbers[i].Value.Int()
		*at = int32(max(0, min(n, math.MaxInt32)))
	}
	if !s.Known && counted && only.Known {
		return only
	}
	return s
}

func markOf(t *Trace) Mark {
	m := Mark{Seq: t.Seq, UID: t.UID, Ended: t.Ended, Wrote: t.Wrote(), Sizes: t.Sizes()}
	m.WroteSize = m.Wrote && t.WroteSize()
	for i := range t.Causes {
		c := &t.Causes[i]
		if c.Sync != 0 {
			continue
		}
		for _, manager := range c.Managers() {
			if !slices.Contains(m.Managers, manager) {
				m.Managers = append(m.Managers, manager)
			}
		}
	}
	return m
}
