package telemetry

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

const (
	// maxBehind is how many changes of one kind of object are taken back one by one; behind them
	// there is only the state before all that is known.
	maxBehind = 96
	// maxVersions bounds how often one write is decided on.
	maxVersions = 256
	// maxLag is how long before a write a change may have been seen here that was not decided on.
	// Upstream makes up to 500 pods of one decision, and sends 20 requests a second.
	maxLag = 30 * time.Second
)

// version is a state of the caches that another controller may have decided on.
type version struct {
	snapshot decision.Snapshot
	// behind is set where a sync here had seen more before the write came.
	behind bool
	before time.Time // the first change that it lacks
	lacks  []*Cause  // what it lacks of what was written before the write
	// first is the resourceVersion of the first change of what siblings share that it lacks.
	first string
}

// stream is what a cache shows of the objects of one kind, in the order in which it was
// written: a cache always has all of it up to some moment.
type stream struct {
	kind   string
	events []streamed
}

// streamed is a change; old is set where a sync before the write has seen it, and other where it is
// one of what a sibling of the object has.
type streamed struct {
	cause      *Cause
	name       string
	old, other bool
}

// versions are the states of the caches that a write may have been decided on, the latest first:
// what a sync knows, without the write and all that is later. Each kind of objects has a cache
// of its own, that may have been behind the others.
func (s *Shadow) versions(base, seenIn *Trace, w *Cause) iter.Seq[version] {
	return func(yield func(version) bool) {
		own := s.loops.Of(base.Loop).Kind
		r := &rewinder{shadow: s, past: s.upTo(base), kin: s.last.kin(base), own: own}
		now, ok := s.decoded(base).(decision.Versioned)
		if !ok || now.VersionOf(own, base.Name) == "" {
			return // It is not known how it was.
		}
		streams := s.streams(r, seenIn)
		slices.SortStableFunc(streams, func(a, b stream) int { // The object itself changes least.
			switch {
			case a.kind == b.kind || a.kind != own && b.kind != own:
				return 0
			case a.kind == own:
				return -1
			default:
				return 1
			}
		})
		r.write = w
		for i := range streams {
			now = r.without(now, &streams[i], w)
		}
		left := maxVersions
		r.walk(version{snapshot: now.(decision.Snapshot), before: w.At, first: w.written()}, streams, func(v version) bool {
			left--
			return yield(v) && left > 0
		})
	}
}

// streams are the changes that the last syncs of an object up to base have seen, and of its siblings
// those of what they share.
func (s *Shadow) streams(r *rewinder, seenIn *Trace) (list []stream) {
	put := func(t *Trace, c *Cause, other bool) {
		kind, _, name, named := t.Called(c.Object)
		if !named || c.Sync != 0 || c.written() == "" || other && kind == r.own {
			return
		}
		at := slices.IndexFunc(list, func(x stream) bool { return x.kind == kind })
		if at < 0 {
			at = len(list)
			list = append(list, stream{kind: kind})
		}
		list[at].events = append(list[at].events, streamed{c, name, t.Seq < seenIn.Seq, other})
	}
	add := func(t *Trace, other bool) {
		for i := range t.Causes {
			put(t, &t.Causes[i], other)
		}
	}
	for _, t := range r.past {
		add(t, false)
		for _, c := range r.cameBefore(t) {
			put(t, c, false)
		}
	}
	for _, sibling := range r.kin {
		for _, t := range s.last.of(sibling) {
			add(t, true)
		}
	}
	for i := range list {
		slices.SortStableFunc(list[i].events, func(a, b streamed) int { return compareVersions(a.cause.written(), b.cause.written()) })
	}
	return list
}

// cameBefore are causes for what the sync that was the first to see its own object saw beneath it, written later
// and yet shown earlier: it caused no sync, as its owner was not known. Another cache may have shown it last.
func (r *rewinder) cameBefore(t *Trace) (list []*Cause) {
	i := slices.IndexFunc(t.Causes, func(c Cause) bool {
		kind, _, name, named := t.Called(c.Object)
		return named && c.Kind == CauseAdded && kind == r.own && name == t.Name
	})
	if i < 0 {
		return nil
	}
	now, ok := r.shadow.decoded(t).(decision.Versioned)
	if !ok {
		return nil
	}
	kind, names := now.Beneath()
	for _, name := range names {
		c := Cause{Kind: CauseAdded, Object: kind + " " + name, At: t.Causes[i].At, NewRV: now.VersionOf(kind, name)}
		if first := r.first(c.Object); first != nil {
			c.NewRV = first.OldRV // None if it was added.
		}
		if after(c.NewRV, t.Causes[i].NewRV) {
			list = append(list, &c)
		}
	}
	return list
}

// first is the first change of an object that is known; nil for none.
func (r *rewinder) first(object string) *Cause {
	for _, t := range r.past {
		if i := slices.IndexFunc(t.Causes, func(c Cause) bool { return c.Object == object }); i >= 0 {
			return &t.Causes[i]
		}
	}
	return nil
}

// rewinder takes changes back, with what earlier syncs have seen of the objects.
type rewinder struct {
	shadow *Shadow
	past   []*Trace // the newest last
	write  *Cause
	kin    []Object // its siblings
	own    string   // the kind of all of them
}

// without takes back a write, if it is of this stream, and all that is later.
func (r *rewinder) without(now decision.Versioned, st *stream, w *Cause) decision.Versioned {
	first := slices.IndexFunc(st.events, func(e streamed) bool { return e.cause == w || after(e.cause.written(), w.written()) })
	if first < 0 {
		return now
	}
	for at := len(st.events) - 1; at >= first; at-- {
		now = r.undo(now, st, at)
	}
	st.events = st.events[:first]
	return now
}

// undo takes one change of a stream back. What cannot be taken back stays.
func (r *rewinder) undo(now decision.Versioned, st *stream, at int) decision.Versioned {
	e, kind := &st.events[at], st.kind
	if e.other {
		return now
	}
	var earlier decision.Snapshot
	switch c := e.cause; c.Kind {
	case CauseAdded:
		earlier = now.Without(kind, e.name)
	case CauseModified:
		was := r.seen(func(s decision.Versioned) bool { return s.VersionOf(kind, e.name) == c.OldRV })
		if earlier = now.Rewound(kind, e.name, was, nil); was == nil {
			earlier = now.Rewound(kind, e.name, nil, c.Fields)
		}
	default:
		if was := r.seen(func(s decision.Versioned) bool { return s.VersionOf(kind, e.name) != "" }); was != nil {
			earlier = now.Rewound(kind, e.name, was, st.redone(at, was.(decision.Versioned).VersionOf(kind, e.name)))
		}
	}
	if v, ok := earlier.(decision.Versioned); ok {
		return v
	}
	return now
}

// redone are the changes of an object between the version that was seen of it last and its end, the other way
// round: taken back, they bring it to what it was at the end.
func (st *stream) redone(end int, seen string) (list []decision.Change) {
	for _, e := range st.events[:end] {
		if e.name != st.events[end].name || !after(e.cause.written(), seen) {
			continue
		}
		for _, f := range e.cause.Fields {
			f.From, f.To = f.To, f.From
			if f.Field == fieldDeletion {
				f.From = "set" // No cause has its values.
			}
			list = append(list, f)
		}
	}
	return list
}

// seen is the newest state of the past that is such a one; nil for none.
func (r *rewinder) seen(is func(decision.Versioned) bool) decision.Snapshot {
	for _, t := range slices.Backward(r.past) {
		if s := r.shadow.decoded(t); s != nil && is(s.(decision.Versioned)) {
			return s
		}
	}
	return nil
}

// walk goes back in one stream after another, and in each of them step by step. It reports
// whether to go on.
func (r *rewinder) walk(from version, streams []stream, yield func(version) bool) bool {
	if len(streams) == 0 {
		return yield(r.timed(from))
	}
	first, now, knew := &streams[0], from, ""
	for back := 0; ; back++ {
		if !r.walk(now, streams[1:], yield) {
			return false
		}
		at := len(first.events) - 1 - back
		if at < 0 || back > maxBehind || r.tooOld(first.events[at].cause) || knew != "" && !after(first.events[at].cause.written(), knew) {
			return true
		}
		knew = cmp.Or(knew, r.knownBy(first.events[at].cause))
		for now = r.before(now, first, at); back == maxBehind && at > 0; {
			at--
			now = r.before(now, first, at)
		}
	}
}

// tooOld reports whether a write cannot have been decided on a version that lacks a change. Who
// resizes names the version that he saw, and the API server refuses any other.
func (r *rewinder) tooOld(c *Cause) bool {
	own := resizes(r.write) && c.Object == r.write.Object && (c.NewRV != r.write.OldRV || r.shadow.foreignWrite(c))
	return own || r.write.At.Sub(c.At) > maxLag
}

// knownBy is the version of its own object that the other controller had seen when it wrote the status: it
// cannot have decided on an older one afterwards. "" for another write.
func (r *rewinder) knownBy(c *Cause) string {
	kind, _, _ := strings.Cut(c.Object, " ")
	if kind != r.own || r.shadow.foreignWrite(c) || len(c.Fields) == 0 || slices.ContainsFunc(c.Fields, func(f decision.Change) bool { return !strings.HasPrefix(f.Field, "status.") }) {
		return ""
	}
	return c.OldRV
}

// before is a version without one change more.
func (r *rewinder) before(v version, st *stream, at int) version {
	e := &st.events[at]
	v.snapshot = r.undo(v.snapshot.(decision.Versioned), st, at).(decision.Snapshot)
	v.behind, v.before = v.behind || e.old, earlier(v.before, e.cause.At)
	if st.kind != r.own {
		v.first = e.cause.written()
	}
	if !e.other {
		v.lacks = append(slices.Clip(v.lacks), e.cause)
	}
	return v
}

// timed is a version at the moment before the first change that it lacks, beside its siblings as
// they were then.
func (r *rewinder) timed(v version) version {
	was := r.seen(func(s decision.Versioned) bool { return !s.(decision.Snapshot).Taken().After(v.before) })
	v.snapshot = v.snapshot.(decision.Versioned).AsOf(v.before, was)
	if together, shares := v.snapshot.(decision.Together); shares && len(r.kin) > 0 {
		var others []decision.Snapshot
		for _, o := range r.kin {
			if s := r.shadow.kinBefore(o, v.first); s != nil {
				others = append(others, s)
			}
		}
		v.snapshot = together.Beside(others)
	}
	return v
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// working is what is looked up while one sync is compared: many writes may come with it.
type working struct {
	read map[*Trace]decision.Snapshot
	kin  map[Object][]state
}

func (s *Shadow) begin() {
	s.now = working{map[*Trace]decision.Snapshot{}, map[Object][]state{}}
}

// upTo are those of them up to one.
func (s *Shadow) upTo(base *Trace) []*Trace {
	all := s.last.of(base.Object)
	return all[:1+slices.IndexFunc(all, func(t *Trace) bool { return t == base })]
}

// decoded is what a sync decided on; nil where that cannot be put back to an earlier version.
func (s *Shadow) decoded(t *Trace) decision.Snapshot {
	snapshot, known := s.now.read[t]
	if !known {
		var err error
		if snapshot, err = t.Decided(s.loops); err != nil || !versioned(snapshot) {
			snapshot = nil
		}
		s.now.read[t] = snapshot
	}
	return snapshot
}

func versioned(s decision.Snapshot) bool {
	_, ok := s.(decision.Versioned)
	return ok
}

// written is the resourceVersion that a change made, that of an end the one of the end itself; "" for
// none that is known.
func (c *Cause) written() string {
	switch c.Kind {
	case CauseAdded, CauseModified:
		return c.NewRV
	case CauseDeleted:
		return c.OldRV
	default:
		return ""
	}
}

func compareVersions(a, b string) int {
	switch {
	case after(a, b):
		return 1
	case after(b, a):
		return -1
	default:
		return 0
	}
}

// after reports whether a resourceVersion is later than another. They are
// numbers that the store counts all writes with; where one is not, nothing is
// known, and it is none.
func after(rv, than string) bool {
	a, err := strconv.ParseUint(rv, 10, 64)
	b, other := strconv.ParseUint(than, 10, 64)
	return err == nil && other == nil && a > b
}
