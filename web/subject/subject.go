package subject

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

// Subject is an object with the syncs that are kept of it, oldest first, and
// the one under the cursor.
type Subject struct {
	Loops  decision.Loops
	Object telemetry.Object
	row    telemetry.Row
	Newest *telemetry.Trace
	Cursor *telemetry.Trace
	Kept   []*telemetry.Trace
	Pinned bool
	Moment time.Time // as of which the page is, where the address names one
	Asked  time.Time // the one that the address names, where nobody knows what happened from Moment to then
	OnList bool      // on the board: it still exists
	Window string    // of the scope, as the address has it
	Pod    string    // that has a lane of its own whatever it does, as the address has it
	All    bool      // kept syncs are listed, as the address has it
	// Unknown is why nobody knows what became of the object since its newest sync, which is of an
	// earlier run; "" where this run knows.
	Unknown string
}

// Earlier reports whether the cursor is on a sync of an earlier run than the newest: what is
// kept came after it, whatever its number.
func (x *Subject) Earlier() bool { return x.Cursor.Epoch != x.Newest.Epoch }

// Unseen reports whether no sync of this run has seen the object: all that is known of it ends with
// its newest sync.
func (x *Subject) Unseen() bool { return x.Unknown != "" }

// Known are the kept syncs and the newest, which of an idle object the board alone has; oldest first.
func (x *Subject) Known() []*telemetry.Trace {
	if n := len(x.Kept); x.OnList && (n == 0 || x.Kept[n-1].Seq < x.Newest.Seq) {
		return append(x.Kept[:n:n], x.Newest)
	}
	return x.Kept
}

// UpToCursor are the kept syncs up to the one under the cursor, which may be from the history; oldest
// first.
func (x *Subject) UpToCursor() []*telemetry.Trace {
	if x.Earlier() {
		return []*telemetry.Trace{x.Cursor}
	}
	n := len(x.Kept)
	if after := slices.IndexFunc(x.Kept, func(t *telemetry.Trace) bool { return t.Seq >= x.Cursor.Seq }); after >= 0 {
		n = after
	}
	return append(x.Kept[:n:n], x.Cursor)
}

// Find finds the object of a page, and the sync under its cursor.
func (s *Finder) Find(q *page.Query) (*Subject, error) {
	x, err := s.Newest(q)
	if err != nil {
		return nil, err
	}
	return x, s.pin(q, x)
}

// Newest finds the object of a page at its newest sync, whatever sync or moment the address names.
func (s *Finder) Newest(q *page.Query) (*Subject, error) {
	o := q.Object
	x := &Subject{Loops: s.Loops, Object: o, Kept: s.Journal.Of(o, source.HistoryRows), Window: q.Args.Get("window"), Pod: q.Args.Get("pod"), All: q.Args.Has("all")}
	x.row, x.OnList = s.Journal.Board().Row(o)
	switch {
	case x.OnList:
		x.Newest = x.row.Trace
	case len(x.Kept) > 0:
		x.Newest = x.Kept[len(x.Kept)-1]
	default:
		t, err := s.syncAt(q, x, q.Now)
		switch {
		case err != nil && !s.Known(o.Loop):
			return nil, s.NothingAt(q)
		case err != nil:
			return nil, s.UnknownObject(o)
		}
		x.Newest, x.Kept = t, []*telemetry.Trace{t} // Of an earlier run.
	}
	if !x.OnList && !x.Newest.Gone {
		x.Unknown = words.Unseen(s.Unwatched(o))
	}
	x.Cursor = x.Newest
	return x, nil
}

// pin puts the cursor on the sync that the address names. A moment after all that is known of an object
// is no other than the end of its newest sync.
func (s *Finder) pin(q *page.Query, x *Subject) error {
	if err := s.pinTo(q, x); err != nil {
		return err
	}
	if x.Cursor.Epoch == x.Newest.Epoch && x.Cursor.Seq == x.Newest.Seq { // The history has a copy.
		if x.Cursor = x.Newest; x.Unseen() && x.Moment.After(x.Newest.Ended) {
			x.Moment = time.Time{}
		}
	}
	return nil
}

func (s *Finder) pinTo(q *page.Query, x *Subject) error {
	args := q.Args
	text, at := args.Get("sync"), args.Get("at")
	switch {
	case text != "":
		seq, err := page.Number(text)
		if err != nil {
			return badSync(text, address.Of(x.Object))
		}
		if x.Cursor, err = s.findSync(q, x.Object, args.Get("epoch"), seq); err != nil {
			return err
		}
	case at != "":
		moment, err := s.Moment(q, at, "The newest sync of "+x.Object.Key(), address.Of(x.Object))
		if err != nil {
			return err
		}
		if x.Cursor, err = s.syncAt(q, x, moment); err != nil {
			return s.NotFoundThen(x.Object, moment, err)
		}
		if x.Moment = s.knownUntil(q, x, moment); x.Moment.Before(moment) {
			x.Asked = moment
		}
	default:
		return nil
	}
	x.Pinned = true
	return nil
}

// NotFoundThen says that nothing is kept of an object at a moment, or why the history could not be read.
func (s *Finder) NotFoundThen(o telemetry.Object, at time.Time, err error) error {
	if !errors.Is(err, telemetry.ErrNotKept) {
		return fmt.Errorf("read the history of %s: %w", o.Key(), err)
	}
	return answer.NewProblem(http.StatusNotFound, "not-then", "No sync of "+prose.Clip(o.Key(), 300)+" from that time is kept.",
		views.Say("It was asked for ").Code(at.UTC().Format(time.RFC3339)).Plain("; "+s.keptSince(at))).
		Link("The newest sync", address.Of(o)).Link("The history", "/history")
}

// keptSince says how far back anything is kept, and of a moment since then that the object had no sync between the two.
func (s *Finder) keptSince(at time.Time) string {
	since := s.Opts.Archive.State().Oldest
	if since.IsZero() {
		since = s.Window().Since
	}
	text := "syncs are kept since " + words.DayAndTime(since)
	if at.Before(since) {
		return text + "."
	}
	return text + ", and none of this object began between then and that time."
}

func badSync(text, back string) error {
	return answer.NewProblem(http.StatusBadRequest, "bad-sync", "That is not the number of a sync.",
		views.Say("Syncs are numbered from 1; the address says ").Code(prose.Clip(text, 60)).Plain(".")).
		Link("The newest sync", back)
}

func (s *Finder) otherEpoch(epoch, back string) error {
	return answer.NewProblem(http.StatusGone, "other-epoch", "That sync is of an earlier run of Loopscope.",
		views.Say("The address is of run ").Code(prose.Clip(epoch, 40)).Plain("; this run is ").Code(s.Journal.Epoch()).
			Plain(", which began ").Clock(s.Window().Since).Plain(" UTC and numbers its syncs from 1 again.")).
		Link("The newest sync", back)
}

// syncNumber finds a sync of an object, or says why there is none and which is nearest.
func (s *Finder) syncNumber(o telemetry.Object, seq uint64) (*telemetry.Trace, error) {
	back := address.Of(o)
	if seq > s.Journal.Last() {
		return nil, answer.NewProblem(http.StatusNotFound, "no-such-sync", "There is no sync "+words.Digits(seq)+" yet.",
			views.Sayf("The newest of this run is %s.", words.Digits(s.Journal.Last()))).Link("The newest sync of "+o.Key(), back)
	}
	t, ok := s.Journal.Get(seq)
	if row, found := s.Journal.Board().Row(o); !ok && found && row.Trace.Seq == seq {
		t, ok = row.Trace, true // The newest of an idle object is kept on the board alone.
	}
	switch {
	case ok && t.Object == o:
		return t, nil
	case ok:
		return nil, answer.NewProblem(http.StatusNotFound, "other-object", "Sync "+words.Digits(seq)+" was not one of "+s.KindOf(o.Loop)+" "+o.Key()+".",
			views.Say("It belongs to "+s.KindOf(t.Loop)+" ").Code(t.Key()).Plain(".")).
			Link("Sync "+words.Digits(seq)+" of "+t.Key(), address.Sync(t)).Link("The newest sync of "+o.Key(), back)
	}
	e := answer.NewProblem(http.StatusGone, "too-old", "Sync "+words.Digits(seq)+" is no longer kept.",
		views.Say("It changed nothing and was merged into a counter, or it is too long ago"+s.orHidden()+". Kept for longest are writes, failures and conflicts."))
	if near := nearest(s.Journal.Of(o, source.HistoryRows), seq); near != nil {
		e = e.Link("The nearest that is kept: "+words.Digits(near.Seq), address.Sync(near))
	}
	return nil, e.Link("The newest sync of "+o.Key(), back)
}

// orHidden is one more reason why a sync is not found.
func (s *Finder) orHidden() string {
	if s.Partly() {
		return ", or you may not see it"
	}
	return ""
}

// nearest is the kept sync closest to a number.
func nearest(kept []*telemetry.Trace, seq uint64) *telemetry.Trace {
	var best *telemetry.Trace
	for _, t := range kept {
		if best == nil || distance(t.Seq, seq) < distance(best.Seq, seq) {
			best = t
		}
	}
	return best
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// firstSyncCode is that of the problem that no sync of an object has ended yet.
const firstSyncCode = "first-sync"

// FirstSync is the problem that no sync of an object has ended yet, where the error is that.
func FirstSync(err error) (views.Problem, bool) {
	var e *answer.Problem
	if errors.As(err, &e) && e.Code == firstSyncCode {
		return e.Problem, true
	}
	return views.Problem{}, false
}

// UnknownObject says that the first sync of an object has not ended, or names what comes nearest to one
// that is not there.
func (s *Finder) UnknownObject(o telemetry.Object) error {
	kind := s.KindOf(o.Loop)
	e := answer.NewProblem(http.StatusNotFound, "unknown-object", "No sync of "+kind+" "+prose.Clip(o.Key(), 300)+" has been seen.",
		views.Say("Since ").Clock(s.Window().Since).Plain(" UTC no sync had that name. Check the namespace and the spelling; names are case-sensitive."))
	if s.Hides(o.Loop) { // The same whether it exists or not.
		e = answer.NewProblem(http.StatusNotFound, "unknown-object", "There is no "+kind+" "+prose.Clip(o.Key(), 300)+" that you may see.",
			views.Say("Either no sync since ").Clock(s.Window().Since).Plain(" UTC had that name, or you may not see it. ").Join(s.Rights(o.Loop)))
	}
	c := words.ComingOf(s.Keys(o.Loop).Of(o.Key()), nil)
	if idle := s.Idle(o.Loop); idle != nil && len(s.Journal.Board().List(o.Loop)) == 0 {
		e = answer.NewProblem(http.StatusNotFound, idle.Code, idle.Heading, idle.Lines...)
	} else if !c.None() {
		return s.firstSync(o, c)
	}
	for _, t := range s.closest(o) {
		e = e.Link(t.Key(), address.Of(t.Object))
	}
	return e.LinkTo(s.ListLink(s.TabListOf(o.Loop)))
}

// firstSync says that the first sync of an object has not ended.
func (s *Finder) firstSync(o telemetry.Object, c words.Coming) error {
	return answer.NewProblem(http.StatusNotFound, firstSyncCode, "The first sync of "+s.KindOf(o.Loop)+" "+prose.Clip(o.Key(), 300)+" has not ended yet.",
		words.Stop(words.Text(c.Words(), false)).Plain(" What the sync finds and writes is known when it ends.")).
		Link("Queues", "/queues").LinkTo(s.ListLink(s.TabListOf(o.Loop)))
}

// closest are up to three objects of the same name elsewhere, or whose name
// begins alike, the likeliest first.
func (s *Finder) closest(o telemetry.Object) []*telemetry.Trace {
	likeness := func(t *telemetry.Trace) int {
		n := prose.CommonPrefix(t.Name, o.Name) - max(len(t.Name), len(o.Name))
		if t.Namespace != o.Namespace {
			n--
		}
		return n
	}
	list := slices.DeleteFunc(s.Journal.Board().List(o.Loop), func(t *telemetry.Trace) bool {
		return t.Name != o.Name && (t.Namespace != o.Namespace || prose.CommonPrefix(t.Name, o.Name) == 0)
	})
	slices.SortStableFunc(list, func(a, b *telemetry.Trace) int { return likeness(b) - likeness(a) })
	return list[:min(3, len(list))]
}

// Moment reads the time that an address asks for. One that is still to come is refused, with a link to somewhere
// else; where the clock was set back, that of the newest sync may be.
func (s *Finder) Moment(q *page.Query, asked, text, href string) (time.Time, error) {
	at, err := telemetry.ParseMoment(asked, q.Now)
	if err != nil {
		return at, answer.NewProblem(http.StatusBadRequest, "bad-time", "That is not a valid time.", views.Text{}.Code(err.Error()).Plain(".")).Link(text, href)
	}
	if !at.After(q.Now) {
		return at, nil
	}
	if x, err := s.Newest(q); err == nil && !at.After(x.Newest.Ended) {
		return at, nil
	}
	return at, answer.NewProblem(http.StatusBadRequest, "bad-time", "That time is still to come.",
		views.Say("It was asked for ").Code(at.Format(time.RFC3339)).Plain("; it is ").Code(q.Now.UTC().Format(time.RFC3339)).Plain(" now.")).Link(text, href)
}
