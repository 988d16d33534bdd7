package web

// Past is a verb as of a moment that is over.

// ResultMark says how a sync ended, by its result alone.

// StateMark says how one write ended.

// Of is the page of an object.

// SyncOf is the permalink of the sync with that number in that run.

// kindOf is what a loop works on, as a person says it.
func (s *Server) kindOf(loop string) string { return s.loops.Kind(loop) }
