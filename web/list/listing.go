package list

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a-h/templ"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/filter"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

// entry is a row of the list before it is filtered. Nobody changes it: a row of
// which anything is new is another entry.
type entry struct {
	telemetry.Row
	said  decision.Sentence
	id    string
	key   string
	place int    // of its outcome
	queue string // what is:… calls the state of its key
	// overdue is since when a write of it has been due for too long; zero for none.
	overdue time.Time
	// drawn is the row as it was drawn last, and picture its sizes over time, which the
	// object's later entries go on using.
	drawn   atomic.Pointer[drawnRow]
	picture *atomic.Pointer[drawnSpark]

	s     *Pages
	asked sync.Once
	known filter.Values
}

// matches reports whether all terms hold.
func (e *entry) matches(terms []filter.Term) bool {
	return len(terms) == 0 || filter.Holds(terms, e.filterValues())
}

// filterValues are made when a filter asks for them.
func (e *entry) filterValues() filter.Values {
	e.asked.Do(func() {
		e.known = filter.Values{
			Namespace: e.Trace.Namespace, Name: e.Trace.Name, At: facts.Deciding(e.Trace), Is: []string{outcomeWord(e.place), e.queue},
			Reasons:  sync.OnceValue(func() []string { return reasonsOf(e.Trace, e.said) }),
			Images:   sync.OnceValue(func() []string { return facts.Images(e.s.Loops, e.Trace) }),
			Managers: sync.OnceValue(func() []string { return e.s.managersOf(e.Trace.Object) }),
		}
	})
	return e.known
}

// list is every object of a loop that its list has, in the order of the list, and what the queue holds
// of them. Nobody changes it.
type list struct {
	entries []*entry
	keys    source.KeyStates
}

// listing is the newest list. It is brought up to date with what has changed
// since, once for each new trace, however many readers there are.
type listing struct {
	mu     sync.Mutex
	seq    uint64
	made   time.Time
	looked time.Time // at the queue
	list   list
	of     map[telemetry.Object]*entry
	ids    map[string]*entry
}

// staleList is how long what a listing shows of queues may be shown.
const staleList = 900 * time.Millisecond

// manyChanges is from how many on the whole list is sorted again.
const manyChanges = 512

// listings are the newest list of each loop.
type listings struct {
	mu sync.Mutex
	of map[string]*listing
}

func (l *listings) get(loop string) *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[loop] == nil {
		if l.of == nil {
			l.of = map[string]*listing{}
		}
		l.of[loop] = &listing{}
	}
	return l.of[loop]
}

// rows is the list of a loop that is known, as of now.
func (s *Pages) rows(loop string) list {
	l := s.lists.get(loop)
	l.mu.Lock()
	defer l.mu.Unlock()
	seq, now := s.Journal.Last(), s.Opts.Now()
	look := l.of == nil || now.Sub(l.looked) >= staleList || now.Before(l.looked)
	if l.seq == seq && !look {
		return l.list
	}
	keys := l.list.keys
	if look {
		keys, l.looked = s.Keys(loop), now
	}
	changed, ok := s.Journal.Synced(loop, l.seq)
	if !ok || l.of == nil {
		l.fill(s.inList(loop, s.Journal.Board().Rows(loop)), func(r telemetry.Row) *entry { return s.entryOf(r, now, keys) })
	} else {
		l.mark(changed, now, s.Outage())
		if look {
			l.markQueued(changed, keys)
			s.markOverdue(l, changed, now)
		}
		s.amend(l, changed, keys, now)
	}
	l.seq, l.made, l.list.keys = seq, now, keys
	return l.list
}

// inList are those of a loop's rows that its list has.
func (s *Pages) inList(loop string, rows []telemetry.Row) []telemetry.Row {
	if !s.Loops.Of(loop).ListsUnowned() {
		return rows
	}
	return slices.DeleteFunc(rows, func(r telemetry.Row) bool { return r.Trace.Owner != "" })
}

// fill makes the list from all rows.
func (l *listing) fill(rows []telemetry.Row, entryFor func(telemetry.Row) *entry) {
	l.of, l.ids = make(map[telemetry.Object]*entry, len(rows)), make(map[string]*entry, len(rows))
	entries := make([]*entry, len(rows))
	for i, r := range rows {
		entries[i] = entryFor(r)
		l.of[r.Trace.Object], l.ids[entries[i].id] = entries[i], entries[i]
	}
	slices.SortFunc(entries, attentionFirst)
	l.list.entries = entries
}

// mark adds the objects that the clock has changed.
func (l *listing) mark(changed map[telemetry.Object]bool, now time.Time, o source.Outage) {
	for _, e := range l.list.entries {
		at, _ := o.AsOf(e.Trace, now)
		if facts.Outdated(e.said, at) || now.Before(l.made) {
			changed[e.Trace.Object] = true
		}
	}
}

// markQueued adds those of whose keys the queue says something else.
func (l *listing) markQueued(changed map[telemetry.Object]bool, keys source.KeyStates) {
	for _, e := range l.list.entries {
		if e.queue != words.Queue(keys.Of(e.key)) {
			changed[e.Trace.Object] = true
		}
	}
}

// markOverdue adds those of which a write has become overdue, or is so no more.
func (s *Pages) markOverdue(l *listing, changed map[telemetry.Object]bool, now time.Time) {
	for _, e := range l.list.entries {
		if !e.overdue.Equal(s.Overdue(e.Trace, now)) {
			changed[e.Trace.Object] = true
		}
	}
}

// amend puts the changed objects where they belong now.
func (s *Pages) amend(l *listing, changed map[telemetry.Object]bool, keys source.KeyStates, now time.Time) {
	if len(changed) == 0 {
		return
	}
	entries := slices.Clone(l.list.entries)
	few := len(changed) < manyChanges
	for o := range changed {
		old := l.of[o]
		if old != nil {
			delete(l.of, o)
			delete(l.ids, old.id)
			if i, found := slices.BinarySearchFunc(entries, old, attentionFirst); few && found {
				entries = slices.Delete(entries, i, i+1)
			}
		}
		r, ok := s.Journal.Board().Row(o)
		if !ok || len(s.inList(o.Loop, []telemetry.Row{r})) == 0 {
			continue
		}
		e := s.entryOf(r, now, keys)
		if old != nil {
			e.picture = old.picture
		}
		l.of[o], l.ids[e.id] = e, e
		if i, found := slices.BinarySearchFunc(entries, e, attentionFirst); few && !found {
			entries = slices.Insert(entries, i, e)
		}
	}
	if !few {
		entries = entries[:0]
		for _, e := range l.of {
			entries = append(entries, e)
		}
		slices.SortFunc(entries, attentionFirst)
	}
	l.list.entries = entries
}

// entryByID finds an entry by the id of its row.
func (s *Pages) entryByID(loop, id string) (*entry, bool) {
	s.rows(loop)
	l := s.lists.get(loop)
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.ids[id]
	return e, ok
}

func (s *Pages) entryOf(r telemetry.Row, now time.Time, keys source.KeyStates) *entry {
	t := r.Trace
	said, since := s.SaidSince(r, now)
	_, place := words.OutcomeOf(said.Tone)
	e := &entry{Row: r, said: said, id: address.Row(t.Object), key: t.Key(), place: place, s: s, picture: new(atomic.Pointer[drawnSpark])}
	e.SinceTone, e.queue, e.overdue = since, words.Queue(keys.Of(e.key)), s.Overdue(t, now)
	return e
}

// matchingOf is the entries for which all terms hold.
func matchingOf(all []*entry, terms []filter.Term) []*entry {
	if len(terms) == 0 {
		return all
	}
	var matching []*entry
	for _, e := range all {
		if e.matches(terms) {
			matching = append(matching, e)
		}
	}
	return matching
}

// drawnRow is an entry's row: there is another one only when what the queue says of it
// has changed.
type drawnRow struct {
	key keySign
	row *listRow
}

// keySign is all of a key's state that a row shows.
type keySign struct {
	phase    telemetry.KeyPhase
	code     string
	attempts int
	due      time.Time
	since    time.Time
	// drawn is where the sizes over time end, of a row that shows them.
	drawn time.Time
	asOf  time.Time
}

// rowOf is an entry as a row, the one of before if it would be the same.
func (s *Pages) rowOf(e *entry, key *telemetry.KeyState) *listRow {
	sign := keySign{phase: key.Phase, code: key.Code, attempts: key.Attempts, due: key.Due, since: key.Since}
	known, stale := s.Outage().AsOf(e.Trace, s.Opts.Now())
	if stale {
		sign.asOf = known.UTC()
	}
	if !e.quiet() {
		sign.drawn = sparkEnd(known)
	}
	if known := e.drawn.Load(); known != nil && known.key == sign {
		return known.row
	}
	r := &listRow{entry: e, key: *key, asOf: sign.asOf} // A copy: the queue's answer has many keys, which a row should not keep.
	r.drawn.ID, r.drawn.View = e.id, func() templ.Component { return views.OverviewRow(r.view()) }
	e.drawn.Store(&drawnRow{key: sign, row: r})
	return r
}

// listRow is an entry with what the queue said of it when it was drawn.
type listRow struct {
	drawn page.Row
	entry *entry
	key   telemetry.KeyState
	asOf  time.Time // that it is known of, zero for now
}

func (r *listRow) view() views.Row { return r.entry.s.row(r.entry, &r.key, r.asOf) }
