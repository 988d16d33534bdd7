package telemetry

import "slices"

// ends reports whether a sync found gone what the one before it, which is kept too, had found.
func (k *kept) ends() bool {
	return k.trace.FoundGone() && k.older != nil && !k.older.trace.FoundGone()
}

// keepEnd keeps a sync that ends its object, and that nothing else holds any more, as long as the
// one before it is kept: that one alone would say that the object is still there. There are
// never more of these than of others. The journal is locked.
func (j *Journal) keepEnd(k *kept) {
	if k.shelves != 0 {
		return
	}
	k.shelves = 1 << shelfEnds
	j.shelved += k.size
	s := &j.shelves[shelfEnds]
	s.items = slices.Insert(s.items, s.behind(k.Seq), k)
	s.bytes += k.size
}

// dropEnd undoes keepEnd. The journal is locked.
func (j *Journal) dropEnd(k *kept) {
	if k.shelves == 0 {
		return
	}
	k.shelves = 0
	j.shelved -= k.size
	s := &j.shelves[shelfEnds]
	at := s.behind(k.Seq) - 1
	s.items = slices.Delete(s.items, at, at+1)
	s.bytes -= k.size
}
