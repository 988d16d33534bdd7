package telemetry

// Kept returns the kept traces after that number, oldest first and limit at
// most: those that stand on a shelf alone, too, which Next no longer gives. None
// means that there is nothing newer. It looks at limit traces under the lock and
// not at all of them, so that a reader of everything holds up no sync.
func (j *Journal) Kept(after uint64, limit int) []*Trace {
	j.mu.RLock()
	defer j.mu.RUnlock()
	var list []*Trace
	for len(list) < limit {
		k := j.next(after)
		if k == nil {
			break
		}
		list = append(list, k.trace)
		after = k.Seq
	}
	return list
}

// next is the oldest kept trace after that number. The journal is locked for
// reading at least.
func (j *Journal) next(after uint64) *kept {
	var first *kept
	for i := range j.shelves {
		if k := j.shelves[i].after(after); k != nil && (first == nil || k.Seq < first.Seq) {
			first = k
		}
	}
	last := j.last.Load()
	for seq := max(after+1, j.oldest); seq <= last; seq++ {
		if first != nil && first.Seq <= seq {
			break
		}
		if k := j.recent[seq%uint64(len(j.recent))].Load(); k != nil {
			return k
		}
	}
	return first
}
