package telemetry

import (
	"cmp"
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Excerpt is some syncs taken out of the record, with the links between them: a
// write of one comes back as a cause of another. Links go by resourceVersion,
// so they hold across a restart of the process. It does not change.
type Excerpt struct {
	loops  decision.Loops
	traces []*Trace // by when they started
	byID   map[syncID]*Trace
	writes map[written]*Trace
	// lives are the beginnings and ends of what had a name, in their order: names come back.
	lives map[written][]turn
	seen  map[written][]observation
	// outages are those that are known beside what the syncs tell.
	outages    []Outage
	leadership Leadership
}

// syncID names a sync in all epochs.
type syncID struct {
	epoch string
	seq   uint64
}

// observation is a sync that took a version of an object as a cause.
type observation struct {
	by    *Trace
	cause *Cause
}

// turn is a sync that created or deleted an object.
type turn struct {
	by      *Trace
	deleted bool
}

// NewExcerpt links the traces of these loops, which may come in any order.
func NewExcerpt(loops decision.Loops, traces []*Trace) *Excerpt {
	e := &Excerpt{
		loops: loops, traces: slices.Clone(traces), byID: make(map[syncID]*Trace, len(traces)),
		writes: make(map[written]*Trace, 2*len(traces)), lives: map[written][]turn{}, seen: make(map[written][]observation, 2*len(traces)),
	}
	slices.SortStableFunc(e.traces, func(a, b *Trace) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Seq, b.Seq))
	})
	for _, t := range e.traces {
		e.byID[idOf(t)] = t
		e.wrote(t)
		for i := range t.Causes {
			if what, ok := seenIn(t, &t.Causes[i]); ok {
				e.seen[what] = append(e.seen[what], observation{t, &t.Causes[i]})
			}
		}
	}
	return e
}

func idOf(t *Trace) syncID { return syncID{t.Epoch, t.Seq} }

func (e *Excerpt) wrote(t *Trace) {
	for _, w := range t.Writes(e.loops) {
		what, ok := w.what(t.Object)
		if !ok {
			continue
		}
		if what.rv != "" {
			e.writes[what] = t
			what.rv = ""
		}
		if w.Kind.Creates() || w.Kind.Deletes() {
			e.lived(what, turn{t, w.Kind.Deletes()})
		}
	}
}

// lived adds a turn to the life of what has that name. A sync that deletes an object and
// creates another of its name has one, which is the deletion.
func (e *Excerpt) lived(name written, x turn) {
	list := e.lives[name]
	if n := len(list); n > 0 && list[n-1].by == x.by {
		list[n-1].deleted = list[n-1].deleted || x.deleted
		return
	}
	e.lives[name] = append(list, x)
}

// what is the version of an object that a write made. A deletion makes none,
// and is known by the name alone.
func (w *Write) what(by Object) (written, bool) {
	kind, namespace, name, named := by.Called(w.Object)
	return written{kind, namespace, name, w.RV}, named && w.Taken()
}

// seenIn is the version of an object that a cause tells of.
func seenIn(t *Trace, c *Cause) (written, bool) {
	kind, namespace, name, named := t.Called(c.Object)
	if !named {
		return written{}, false
	}
	if c.isDeletion() {
		return written{kind: kind, namespace: namespace, name: name}, true
	}
	return written{kind, namespace, name, c.NewRV}, c.NewRV != ""
}

// isDeletion reports whether the event is the end of an object, or its beginning to end.
func (c *Cause) isDeletion() bool {
	if c.ends() {
		return true
	}
	for i := range c.Fields {
		if c.Fields[i].Field == "metadata.deletionTimestamp" {
			return true
		}
	}
	return false
}

// WriterOf is the sync whose write a cause of t tells of; nil where nobody in
// the excerpt wrote that.
func (e *Excerpt) WriterOf(t *Trace, c *Cause) *Trace {
	if c.Sync != 0 {
		return e.byID[syncID{t.Epoch, c.Sync}]
	}
	what, ok := seenIn(t, c)
	switch {
	case !ok:
		return nil
	case what.rv == "":
		return e.deleterOf(what, t, c)
	}
	return e.writes[what]
}

// deleterOf is the sync that deleted what has that name before t was told so; nil where what it
// deleted has been created again since, so that it was somebody else.
func (e *Excerpt) deleterOf(name written, t *Trace, c *Cause) *Trace {
	told := t.Started
	if !c.At.IsZero() {
		told = c.At
	}
	for _, x := range slices.Backward(e.lives[name]) {
		if x.by == t || x.by.Started.After(told) {
			continue
		}
		if x.deleted {
			return x.by
		}
		return nil
	}
	return nil
}

// Hit is the trace in a few lines, as it stood when the sync ended.
func (t *Trace) Hit(class Class) Hit {
	h := Hit{
		Epoch: t.Epoch, Seq: t.Seq, Object: t.Object, Started: t.Started, Took: t.Took(), Result: t.Result,
		Class: class, Leaf: t.Leaf(), Code: t.Sentence.Code, Plans: t.Plans(),
	}
	if t.Sentence.Object != "" {
		h.Text = t.Sentence.At(t.Ended)
	}
	if t.Failure != nil {
		h.Error = t.Failure.Message
	}
	return h
}
