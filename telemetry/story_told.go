package telemetry

import "slices"

// Told are the beats that are news, or all of them. What was waited before a sync that is left out is
// added to the wait of the next one of its object.
func (s *Story) Told(all bool) []Beat {
	if all {
		return s.Beats
	}
	list := make([]Beat, 0, len(s.Beats))
	waits := map[Object]*Waited{}
	for _, b := range s.Beats {
		if b.Kind == BeatSync && b.Sync != nil {
			o := b.Sync.Object
			b.Waited = waits[o].and(b.Waited)
			if delete(waits, o); b.Quiet {
				waits[o] = b.Waited
				continue
			}
		}
		list = append(list, b)
	}
	return list
}

// and is this wait and a later one, told as the later one; either may be nil.
func (w *Waited) and(later *Waited) *Waited {
	if w == nil {
		return later
	}
	if later == nil {
		return w
	}
	sum := *later
	sum.For, sum.Codes = w.For+later.For, slices.Clone(w.Codes)
	for _, code := range later.Codes {
		if !slices.Contains(sum.Codes, code) {
			sum.Codes = append(sum.Codes, code)
		}
	}
	return &sum
}
