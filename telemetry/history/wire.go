package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/telemetry"
)

// wireVersion is that of the syncs in a block. A field that comes later is read
// and written where the version is at least its own.
const wireVersion = 1

// wire writes the fields of syncs as bytes, or reads them back: one walk over the
// fields does both, so that what the one does the other undoes. Numbers are
// varints, instants are counted from the second in which the sync started, and
// texts are places in a list of all those of the block, which has most of them in
// common: this takes a fifth of the time that JSON does, and of its bytes.
type wire struct {
	data  []byte // what was written, or what is left to read
	reads bool
	texts []string          // the list, without the empty one
	known map[string]uint64 // their places from 1, while it writes
	same  []sameText        // some of those, by where they are in memory
	size  int               // bytes of the texts, while it writes
	start int64             // the second
	err   error
}

// sameText is a text that was looked up lately: most are constants, which are the
// same memory each time and need not be compared.
type sameText struct {
	bytes *byte
	size  int
	place uint64
}

const sameBits = 9

// wires are for blocks that are written.
var wires = sync.Pool{New: func() any { return &wire{known: make(map[string]uint64, 1024), same: make([]sameText, 1<<sameBits)} }}

// free is for another block then.
func (w *wire) free() {
	clear(w.texts)
	clear(w.known)
	clear(w.same)
	w.data, w.texts, w.size, w.err = w.data[:0], w.texts[:0], 0, nil
	wires.Put(w)
}

// written is all of it: the list of texts, and what was written.
func (w *wire) written() []byte {
	all := make([]byte, 0, 16+2*len(w.texts)+w.size+len(w.data))
	all = binary.AppendUvarint(binary.AppendUvarint(all, wireVersion), uint64(len(w.texts)))
	for _, s := range w.texts {
		all = binary.AppendUvarint(all, uint64(len(s)))
	}
	for _, s := range w.texts {
		all = append(all, s...)
	}
	return append(all, w.data...)
}

// readTexts reads the list of texts, and leaves the rest to be read.
func readTexts(all []byte) (*wire, error) {
	w := &wire{data: all, reads: true}
	if version := w.uvarint(0); version > wireVersion {
		return nil, fmt.Errorf("history: syncs of version %d, and this program reads up to %d: use the release that wrote them", version, wireVersion)
	}
	n := w.uvarint(0)
	if n > uint64(len(w.data)) {
		w.fail()
		n = 0
	}
	sizes := make([]uint64, n)
	var total uint64
	for i := range sizes {
		sizes[i] = w.uvarint(0)
		if total += sizes[i]; sizes[i] > maxBlock || total > uint64(len(w.data)) {
			w.fail()
			break
		}
	}
	if w.err != nil {
		return nil, fmt.Errorf("%w: its texts: %w", errDamaged, w.err)
	}
	text := string(w.data[:total])
	w.data, w.texts = w.data[total:], make([]string, n)
	for i, size := range sizes {
		w.texts[i], text = text[:size], text[size:]
	}
	return w, nil
}

var errShort = errors.New("it ends too early or has a value out of bounds")

// fail ends reading: what follows is empty.
func (w *wire) fail() { w.err, w.data = errShort, nil }

func (w *wire) uvarint(n uint64) uint64 {
	if !w.reads {
		if n < 0x80 {
			w.data = append(w.data, byte(n))
		} else {
			w.data = binary.AppendUvarint(w.data, n)
		}
		return n
	}
	n, size := binary.Uvarint(w.data)
	if size <= 0 {
		w.fail()
		return 0
	}
	w.data = w.data[size:]
	return n
}

func (w *wire) varint(n int64) int64 {
	u := w.uvarint(uint64(n<<1) ^ uint64(n>>63))
	return int64(u>>1) ^ -int64(u&1)
}

func count(w *wire, n *uint64) { *n = w.uvarint(*n) }

func integer[T ~int | ~int64](w *wire, n *T) { *n = T(w.varint(int64(*n))) }

func (w *wire) truth(b *bool) {
	var n uint64
	if *b {
		n = 1
	}
	*b = w.uvarint(n) == 1
}

func str[T ~string](w *wire, s *T) { *s = T(w.text(string(*s))) }

func (w *wire) text(s string) string {
	if !w.reads {
		w.uvarint(w.place(s))
		return s
	}
	at := w.uvarint(0)
	switch {
	case at == 0:
		return ""
	case at > uint64(len(w.texts)):
		w.fail()
		return ""
	}
	return w.texts[at-1]
}

// place is where a text stands in the list; it is added if it does not.
func (w *wire) place(s string) uint64 {
	if s == "" {
		return 0
	}
	bytes := unsafe.StringData(s)
	same := &w.same[uint64(uintptr(unsafe.Pointer(bytes)))*0x9e3779b97f4a7c15>>(64-sameBits)]
	if same.bytes == bytes && same.size == len(s) {
		return same.place
	}
	at, ok := w.known[s]
	if !ok {
		w.texts = append(w.texts, s)
		at = uint64(len(w.texts))
		w.known[s] = at
		w.size += len(s)
	}
	*same = sameText{bytes, len(s), at}
	return at
}

// instant keeps the zero time and nanoseconds. It is read back in UTC.
func (w *wire) instant(t *time.Time) {
	switch {
	case w.reads:
		from := w.uvarint(0)
		if *t = (time.Time{}); from > 0 {
			from--
			*t = time.Unix(w.start+(int64(from>>1)^-int64(from&1)), int64(w.uvarint(0))).UTC()
		}
	case t.IsZero():
		w.uvarint(0)
	default:
		from := t.Unix() - w.start
		w.uvarint(uint64(from<<1) ^ uint64(from>>63) + 1)
		w.uvarint(uint64(t.Nanosecond()))
	}
}

// each keeps the difference between no list and an empty one.
func each[S ~[]E, E any](w *wire, s *S, one func(*wire, *E)) {
	if !w.reads {
		if *s == nil {
			w.uvarint(0)
			return
		}
		w.uvarint(uint64(len(*s)) + 1)
		for i := range *s {
			one(w, &(*s)[i])
		}
		return
	}
	n := w.uvarint(0)
	if n == 0 {
		return
	}
	if n--; n > uint64(len(w.data)) { // Each takes a byte at least.
		w.fail()
		return
	}
	*s = make(S, 0, min(n, 64)) // Some elements take a hundred times their bytes: no number alone takes room for them.
	for range n {
		var e E
		if one(w, &e); w.err != nil {
			return
		}
		*s = append(*s, e)
	}
}

// maybe is a value that need not be there.
func maybe[E any](w *wire, p **E, one func(*wire, *E)) {
	there := *p != nil
	if w.truth(&there); !there {
		return
	}
	if w.reads {
		*p = new(E)
	}
	one(w, *p)
}

func (w *wire) trace(t *telemetry.Trace) {
	start := t.Started.Unix()
	w.start = 0
	integer(w, &start)
	w.start = start
	integer(w, &t.Version)
	str(w, &t.Epoch)
	count(w, &t.Seq)
	str(w, &t.Loop)
	str(w, &t.Namespace)
	str(w, &t.Name)
	str(w, &t.UID)
	str(w, &t.Owner)
	each(w, &t.Causes, (*wire).cause)
	integer(w, &t.Folded)
	count(w, &t.TakenBy)
	integer(w, &t.Worker)
	w.instant(&t.Queued)
	w.instant(&t.Started)
	w.instant(&t.Ended)
	for _, d := range []*time.Duration{&t.Phases.Observe, &t.Phases.Decide, &t.Phases.Act, &t.Phases.Settle, &t.Phases.Publish} {
		integer(w, d)
	}
	each(w, &t.Rounds, (*wire).round)
	maybe(w, &t.Report, (*wire).report)
	each(w, &t.Timers, (*wire).timer)
	str(w, &t.Result)
	integer(w, &t.Try.Number)
	integer(w, &t.Try.Limit)
	w.instant(&t.Try.Next)
	w.truth(&t.Try.Dropped)
	w.sentence(&t.Sentence)
	each(w, &t.Numbers, (*wire).fact)
	maybe(w, &t.Estimate, (*wire).estimate)
	maybe(w, &t.Failure, (*wire).failure)
	w.truth(&t.Gone)
	w.snapshot(&t.Snapshot)
}

func (w *wire) cause(c *telemetry.Cause) {
	str(w, &c.Kind)
	w.instant(&c.At)
	str(w, &c.Object)
	str(w, &c.OldRV)
	str(w, &c.NewRV)
	each(w, &c.Fields, (*wire).change)
	str(w, &c.Manager)
	count(w, &c.Sync)
	str(w, &c.Code)
	w.instant(&c.Due)
}

func (w *wire) change(c *decision.Change) {
	str(w, &c.Field)
	str(w, &c.From)
	str(w, &c.To)
}

func (w *wire) round(r *decision.Round) {
	w.learnt(&r.Learnt)
	each(w, &r.Verdict.Path, (*wire).step)
	each(w, &r.Verdict.Actions, (*wire).action)
	each(w, &r.Verdict.Held, (*wire).held)
	each(w, &r.Verdict.Timers, (*wire).timer)
	w.truth(&r.Verdict.Stop)
	str(w, &r.Verdict.Invalid)
	each(w, &r.Outcomes, (*wire).outcome)
}

func (w *wire) learnt(l *decision.Learnt) {
	maybe(w, &l.NameTaken, func(w *wire, n *decision.NameTaken) {
		str(w, &n.Name)
		str(w, &n.UID)
		w.truth(&n.Mine)
		w.truth(&n.SameTemplate)
	})
	str(w, &l.Parent)
	each(w, &l.ChildrenGone, str[string])
	w.truth(&l.NamespaceTerminating)
}

func (w *wire) step(s *decision.Step) {
	str(w, &s.Question)
	str(w, &s.Answer)
	each(w, &s.Facts, (*wire).fact)
	maybe(w, &s.Equation, (*wire).equation)
	w.truth(&s.Holds)
}

// Kinds of a fact's value. They stand in files: none may change its meaning.
const (
	wireText uint64 = iota
	wireCount
	wireFalse
	wireTrue
	wireDuration
	wireInstant
)

func (w *wire) fact(f *decision.Fact) {
	str(w, &f.Name)
	if w.reads {
		f.Value = w.readValue(f.Name)
		return
	}
	v := f.Value
	if n, ok := v.Int(); ok {
		w.uvarint(wireCount)
		w.varint(n)
	} else if b, ok := v.Bool(); ok && b {
		w.uvarint(wireTrue)
	} else if ok {
		w.uvarint(wireFalse)
	} else if d, ok := v.Duration(); ok {
		w.uvarint(wireDuration)
		w.varint(int64(d))
	} else if t, ok := v.Time(); ok {
		w.uvarint(wireInstant)
		w.instant(&t)
	} else {
		w.uvarint(wireText)
		w.text(v.String())
	}
}

func (w *wire) readValue(name string) decision.Value {
	switch w.uvarint(0) {
	case wireText:
		return decision.Text(name, w.text("")).Value
	case wireCount:
		return decision.Count(name, w.varint(0)).Value
	case wireFalse:
		return decision.Truth(name, false).Value
	case wireTrue:
		return decision.Truth(name, true).Value
	case wireDuration:
		return decision.Duration(name, time.Duration(w.varint(0))).Value
	case wireInstant:
		var t time.Time
		w.instant(&t)
		return decision.Instant(name, t).Value
	}
	w.fail()
	return decision.Value{}
}

func (w *wire) equation(e *decision.Equation) {
	each(w, &e.Terms, (*wire).term)
	w.term(&e.Result)
}

func (w *wire) term(t *decision.Term) {
	str(w, &t.Label)
	integer(w, &t.Value)
	str(w, &t.Origin)
}

func (w *wire) ref(r *decision.Ref) {
	str(w, &r.Kind)
	str(w, &r.Namespace)
	str(w, &r.Name)
	str(w, &r.UID)
	str(w, &r.RV)
}

func (w *wire) resize(s *decision.Size) {
	integer(w, &s.From)
	integer(w, &s.To)
}

func (w *wire) action(a *decision.Action) {
	str(w, &a.Kind)
	w.ref(&a.Target)
	str(w, &a.Discipline)
	str(w, &a.Question)
	maybe(w, &a.Size, (*wire).resize)
	maybe(w, &a.Stamp, (*wire).stamp)
	maybe(w, &a.MinReadySeconds, integer[int64])
	str(w, &a.Hash)
	integer(w, &a.Count)
	each(w, &a.Victims, (*wire).victim)
	maybe(w, &a.Restore, (*wire).ref)
	each(w, &a.Changes, (*wire).change)
}

func (w *wire) stamp(s *decision.Stamp) {
	str(w, &s.Revision)
	str(w, &s.History)
	maybe(w, &s.Desired, integer[int64])
	maybe(w, &s.Max, integer[int64])
	w.truth(&s.Copy)
}

func (w *wire) victim(v *decision.Victim) {
	str(w, &v.Name)
	str(w, &v.UID)
	integer(w, &v.Rank)
	each(w, &v.Facts, (*wire).fact)
}

func (w *wire) held(h *decision.Held) {
	str(w, &h.Code)
	str(w, &h.Question)
	str(w, &h.Kind)
	w.ref(&h.Target)
	maybe(w, &h.Size, (*wire).resize)
	maybe(w, &h.Equation, (*wire).equation)
	each(w, &h.Unblocks, (*wire).part)
	str(w, &h.When.Event)
	w.ref(&h.When.Of)
	integer(w, &h.When.Needed)
	w.instant(&h.When.At)
	each(w, &h.Blockers, (*wire).blocker)
	integer(w, &h.BlockerCount)
}

func (w *wire) blocker(b *decision.Blocker) {
	str(w, &b.Kind)
	str(w, &b.Name)
	str(w, &b.Reason)
	str(w, &b.Message)
	w.instant(&b.Since)
}

func (w *wire) timer(t *decision.Timer) {
	w.instant(&t.At)
	str(w, &t.Code)
	str(w, &t.Question)
}

func (w *wire) failure(f *decision.Failure) {
	integer(w, &f.Code)
	str(w, &f.Reason)
	str(w, &f.Message)
	w.truth(&f.Terminal)
}

func (w *wire) outcome(o *decision.Outcome) {
	str(w, &o.State)
	str(w, &o.RV)
	each(w, &o.Names, str[string])
	each(w, &o.RVs, str[string])
	integer(w, &o.Done)
	integer(w, &o.Failed)
	integer(w, &o.Untried)
	maybe(w, &o.Failure, (*wire).failure)
	maybe(w, &o.Other, func(w *wire, x *decision.Writer) {
		str(w, &x.Manager)
		str(w, &x.RV)
		each(w, &x.Fields, str[string])
	})
	integer(w, &o.Took)
}

func (w *wire) report(r *decision.Report) {
	each(w, &r.Path, (*wire).step)
	w.truth(&r.Publish)
	w.truth(&r.Hold)
	each(w, &r.Changes, (*wire).change)
	each(w, &r.Events, (*wire).event)
	each(w, &r.Timers, (*wire).timer)
	maybe(w, &r.Outcome, (*wire).outcome)
}

func (w *wire) event(e *decision.Event) {
	str(w, &e.Type)
	str(w, &e.Reason)
	str(w, &e.Message)
}

func (w *wire) sentence(s *decision.Sentence) {
	str(w, &s.Namespace)
	str(w, &s.Object)
	str(w, &s.Tone)
	str(w, &s.Verb)
	str(w, &s.State)
	each(w, &s.Lead, (*wire).part)
	each(w, &s.Then, (*wire).part)
	w.instant(&s.Since)
	w.instant(&s.Turns)
	str(w, &s.Code)
}

func (w *wire) part(p *decision.Part) {
	str(w, &p.Kind)
	str(w, &p.Text)
	str(w, &p.Fact)
	integer(w, &p.N)
	w.instant(&p.At)
}

func (w *wire) estimate(e *decision.Estimate) {
	str(w, &e.Code)
	w.instant(&e.From)
	w.instant(&e.To)
	integer(w, &e.Pods)
	integer(w, &e.Fastest)
	integer(w, &e.Slowest)
	integer(w, &e.Steps)
	each(w, &e.Words, (*wire).part)
}
