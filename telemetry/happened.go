package telemetry

import "sort"

// mostStretches bounds how many gaps are told apart. Beyond them old ones are taken to be none.
const mostStretches = 4096

// happened counts the syncs that were recorded, kept or not, by their numbers. What a process would have
// done while another one led did not happen, and is a gap, as is what did not come from another process.
type happened struct {
	stretches   []stretch
	last, total uint64
}

// stretch is numbers without a gap, up to the next one.
type stretch struct {
	first  uint64
	before uint64 // how many there are before the first
}

func (h *happened) note(t *Trace) {
	if t.Standby {
		return
	}
	if h.total == 0 || t.Seq != h.last+1 {
		h.thin()
		h.stretches = append(h.stretches, stretch{t.Seq, h.total})
	}
	h.last = t.Seq
	h.total++
}

// thin makes room for a stretch: of the older half every two become one.
func (h *happened) thin() {
	if len(h.stretches) < mostStretches {
		return
	}
	list := h.stretches[:0]
	for i, s := range h.stretches {
		if i%2 == 0 || i >= mostStretches/2 {
			list = append(list, s)
		}
	}
	h.stretches = list
}

// upTo is how many there are up to a number.
func (h *happened) upTo(seq uint64) uint64 {
	next := sort.Search(len(h.stretches), func(i int) bool { return h.stretches[i].first > seq })
	if next == 0 {
		return 0
	}
	s, end := h.stretches[next-1], h.total
	if next < len(h.stretches) {
		end = h.stretches[next].before
	}
	return s.before + min(seq-s.first, end-s.before-1) + 1
}

// Happened is how many syncs with numbers after the first and up to the second were recorded, whether they
// are kept or not. What a process would have done while another one led is not counted.
func (j *Journal) Happened(after, upto uint64) uint64 {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.happened.upTo(max(after, upto)) - j.happened.upTo(after)
}
