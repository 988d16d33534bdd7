package about

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// shownKeys is how many keys a group of the page lists.
const shownKeys = 50

// keyGroup is what keys have in common that wait for the same kind of thing.
type keyGroup struct {
	name, note string
	has        func(telemetry.KeyState) bool
}

var keyGroups = []keyGroup{
	{"Processing", "a worker has them", func(k telemetry.KeyState) bool {
		return k.Phase == telemetry.KeyProcessing || k.Phase == telemetry.KeyDirty
	}},
	{"Ready", "for the next free worker", func(k telemetry.KeyState) bool { return k.Phase == telemetry.KeyReady }},
	{"Waiting to try again", "soonest first", func(k telemetry.KeyState) bool { return k.Phase == telemetry.KeyWaiting && k.Attempts > 0 }},
	{"Waiting for a timer", "soonest first", func(k telemetry.KeyState) bool { return k.Phase == telemetry.KeyWaiting && k.Attempts == 0 }},
}

// loopKey is a key with its loop.
type loopKey struct {
	loop string
	telemetry.KeyState
}

// Queues is the page of the work queues as they stand now.
func (s *Pages) Queues(q *page.Query) (*page.Page, error) {
	switch {
	case s.Opts.Recording != nil:
		return s.noQueues(q, "A recording has no queues.",
			views.Say("It holds what the syncs did. What waited in the work queues between them is not recorded; each sync says how long it waited, and for what.")), nil
	case s.Opts.Elsewhere:
		return s.noQueues(q, "The queues are in the process that leads.", s.queuesElsewhere()), nil
	case s.QueuesUnknown() != "":
		return s.noQueues(q, "The queues are not known here.", views.Say(s.QueuesUnknown())), nil
	}
	loops := s.Opts.Loops()
	v := views.Queues{Mode: s.Mode(), Leader: s.Opts.Leadership().Leader}
	var keys []loopKey
	for _, l := range loops {
		v.Queues = append(v.Queues, queueView(l))
		for _, k := range l.Queue.Keys {
			keys = append(keys, loopKey{l.Name, k})
		}
		v.Unseen = append(v.Unseen, unseen(l)...)
		for _, c := range l.Caches {
			v.Caches = append(v.Caches, cacheView(l.Name, c))
		}
	}
	sort.SliceStable(keys, func(i, j int) bool { return keyBefore(keys[i], keys[j]) })
	v.Groups = s.keyViews(keys)
	v.KeysNote = prose.Thousands(len(keys)) + s.SeenOf() + " with something to do"
	v.Headline, v.Then = queuesHeadline(loops, keys, s.SeenOf()), queuesThen(loops)
	if v.Partly = s.Partly(); v.Partly {
		v.Then = v.Then.Plain(" Adds, errors and timers are those of all objects.")
	}
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, "Queues"), Body: views.QueuesBody(v), Data: v}
	p.Frame.Tab, p.Frame.Twin, p.Frame.Keys = "queues", q.TwinHref(), page.QueuesKeys
	p.Frame.Crumbs = []views.Link{{Text: "Queues"}}
	p.GoLive(q, page.Part{ID: "f-head", View: views.QueuesHead(v)}, page.Part{ID: "f-queues", View: views.QueuesTable(v)}, page.Part{ID: "f-keys", View: views.KeysPart(v)},
		page.Part{ID: "f-unseen", View: views.UnseenPart(v)})
	return p, nil
}

// keyBefore sorts by when something happens next, then by name.
func keyBefore(a, b loopKey) bool {
	if !a.Due.Equal(b.Due) {
		return a.Due.Before(b.Due)
	}
	if a.Key != b.Key {
		return a.Key < b.Key
	}
	return a.loop < b.loop
}

func queueView(l telemetry.LoopState) views.Queue {
	q := l.Queue
	mode := l.Mode
	if !l.Running && mode != telemetry.ModeOff && mode != telemetry.ModeSkipped {
		mode += ", not running"
	}
	return views.Queue{Name: l.Name, Mode: mode, Workers: fmt.Sprintf("%d of %d", q.Busy, q.Workers), Ready: q.Ready, Waiting: q.Waiting,
		Dirty: q.Dirty, Adds: q.Adds, Errors: q.Errors, Timers: q.Timers, Lag: views.Took(l.Lag)}
}

func (s *Pages) keyViews(keys []loopKey) []views.KeyGroup {
	var groups []views.KeyGroup
	for _, g := range keyGroups {
		v := views.KeyGroup{Name: g.name}
		n := 0
		for _, k := range keys {
			if !g.has(k.KeyState) {
				continue
			}
			if n++; n <= shownKeys {
				v.Keys = append(v.Keys, s.keyView(k))
			}
		}
		if n == 0 {
			continue
		}
		v.Note = prose.Thousands(n) + ", " + g.note
		if n > shownKeys {
			v.More = "and " + prose.Thousands(n-shownKeys) + " more"
		}
		groups = append(groups, v)
	}
	return groups
}

func (s *Pages) keyView(k loopKey) views.KeyRow {
	namespace, name := telemetry.SplitKey(k.Key)
	o := telemetry.Object{Loop: k.loop, Namespace: namespace, Name: name}
	v := views.KeyRow{State: keyMark(k.KeyState), Queue: k.loop, Owner: o.In(), Own: name, Try: "first try"}
	if k.Attempts > 0 {
		v.Try = "try " + words.Digits(k.Attempts+1)
	}
	if t, ok := s.Journal.Board().Get(o); ok {
		v.Href = address.Of(t.Object)
		if t.Try.Limit > 0 && k.Attempts > 0 {
			v.Try += " of " + words.Digits(t.Try.Limit)
		}
		if t.Failure != nil && k.Attempts > 0 {
			v.More = views.Text{}.Code(prose.Clip(t.Failure.Message, 240))
		}
	}
	if k.Phase == telemetry.KeyWaiting {
		v.For = views.Say("in ").Until(k.Due)
	} else {
		v.For = views.Say("for ").Since(k.Since)
	}
	v.Why, v.Attempts, v.Spent = keyWhy(k.KeyState), k.Attempts, spentWords(k.Spent)
	if !k.Due.IsZero() {
		v.Due = &k.Due
	}
	return v
}

// spentWords say how long a key has been where, as of this answer. One that has
// been in one phase alone says so already.
func spentWords(s telemetry.Spent) string {
	var list []string
	for _, p := range []struct {
		name string
		took time.Duration
	}{{"waited", s.Waiting}, {"ready", s.Ready}, {"processing", s.Processing}} {
		if p.took >= time.Second { // Less is no news, and would draw the table anew all the time.
			list = append(list, p.name+" "+prose.Span(p.took))
		}
	}
	if len(list) < 2 {
		return ""
	}
	return strings.Join(list, ", ")
}

func keyMark(k telemetry.KeyState) views.Mark {
	switch {
	case k.Phase == telemetry.KeyProcessing || k.Phase == telemetry.KeyDirty:
		return views.Mark{Tone: views.Moving, Word: "processing"}
	case k.Phase == telemetry.KeyReady:
		return views.Mark{Tone: views.Moving, Word: "ready"}
	case k.Attempts > 0 && k.Code == "conflict":
		return views.Mark{Tone: views.Waiting, Word: "back-off"}
	case k.Attempts > 0:
		return views.Mark{Tone: views.Failed, Word: "back-off"}
	case k.Code == "echo":
		return views.Mark{Tone: views.Waiting, Word: "echo"}
	default:
		return views.Mark{Tone: views.Idle, Word: "timer"}
	}
}

// keyWhy is the causes that the next sync will take, or what its timer is for.
func keyWhy(k telemetry.KeyState) views.Text {
	var t views.Text
	if k.Phase == telemetry.KeyWaiting {
		switch {
		case k.Attempts > 0 && outlasts(k):
			t = t.Plain("tries again before its last back-off is over: an earlier time still holds")
		case k.Attempts > 0 && k.Backoff > 0 && k.Folded == 0:
			t = t.Plain("tries again " + prose.Span(k.Backoff) + " after the last try")
		case k.Attempts > 0:
			t = t.Plain("tries again after an error")
		default:
			t = t.Plain(words.Timer(k.Code))
		}
	}
	if n := len(k.Causes) + k.Folded; n > 0 && k.Phase != telemetry.KeyWaiting {
		t = t.Plain(prose.Count(n, "cause") + ": ")
		for i, c := range k.Causes[:min(2, len(k.Causes))] {
			if i > 0 {
				t = t.Plain(", ")
			}
			t = t.Plain(words.Cause(c.Kind) + " " + c.Object)
			if c.NewRV != "" {
				t = t.Plain(" rv " + c.NewRV)
			}
		}
	}
	if len(t) == 0 {
		return views.Say("its causes are being handled by the running sync")
	}
	return t
}

// outlasts reports whether the last back-off of a key would end after it runs.
func outlasts(k telemetry.KeyState) bool {
	for _, c := range slices.Backward(k.Causes) {
		if c.Kind == telemetry.CauseBackoff {
			return c.Due.After(k.Due)
		}
	}
	return false
}

func unseen(l telemetry.LoopState) []views.Unseen {
	var list []views.Unseen
	for _, e := range l.Echoes {
		list = append(list, views.Unseen{Owner: e.Object, For: views.Text{}.Since(e.Since),
			Waits: views.Say("own write at rv ").Strong(e.Written).Plain(", cache at " + prose.OrNone(e.Cached) + "; looks again in ").Until(e.Check)})
	}
	for _, e := range l.Expectations {
		waits := views.Text{}
		if e.Creates > 0 {
			waits = waits.Strong(prose.Count(e.Creates, "creation"))
		}
		if e.Creates > 0 && e.Deletes > 0 {
			waits = waits.Plain(" and ")
		}
		if e.Deletes > 0 {
			waits = waits.Strong(prose.Count(e.Deletes, "deletion"))
		}
		list = append(list, views.Unseen{Owner: e.Key, For: views.Text{}.Since(e.Since), Waits: waits.Plain("; stops waiting in ").Until(e.Expires)})
	}
	return list
}

func cacheView(loop string, c telemetry.CacheState) views.Cache {
	v := views.Cache{Loop: loop, Kind: c.Resource, Objects: c.Objects, RV: c.RV, Handled: c.Handled, State: views.Mark{Tone: views.OK, Word: "synced"}}
	if !c.Synced {
		v.State = views.Mark{Tone: views.Waiting, Word: "listing"}
	}
	switch {
	case c.Unserved:
		v.State = views.Mark{Tone: views.Idle, Word: "not served"}
	case c.Error != "":
		v.State = views.Mark{Tone: views.Failed, Word: "cannot list"} // The notice says why.
	}
	if !c.Event.IsZero() {
		v.Event = views.Text{}.Since(c.Event).Plain(" ago")
	}
	return v
}

// unfilled reports whether a loop still waits for its caches.
func unfilled(l telemetry.LoopState) bool {
	return slices.ContainsFunc(l.Caches, func(c telemetry.CacheState) bool { return !c.Synced })
}

// queuesHeadline counts what is to do, and names the keys that keep failing.
func queuesHeadline(loops []telemetry.LoopState, keys []loopKey, seen string) string {
	if len(loops) == 0 {
		return "No loop runs here."
	}
	if !slices.ContainsFunc(loops, func(l telemetry.LoopState) bool { return !unfilled(l) }) {
		return "No loop has started yet: they wait for their caches."
	}
	active, waiting := 0, 0
	var failing []string
	for _, k := range keys {
		if k.Phase == telemetry.KeyWaiting {
			waiting++
		} else {
			active++
		}
		if k.Attempts > 1 {
			failing = append(failing, k.Key)
		}
	}
	text := prose.Count(active, "key") + seen + prose.Plural(active, " is", " are") + " being processed or ready, and " + prose.Thousands(waiting) + prose.Plural(waiting, " waits.", " wait.")
	switch {
	case active == 0 && waiting == 0 && seen != "":
		return "No key" + seen + " has anything to do."
	case active == 0 && waiting == 0:
		return "All queues are idle."
	case active == 0:
		text = "No key" + seen + " is being processed or ready, and " + prose.Thousands(waiting) + prose.Plural(waiting, " waits.", " wait.")
	}
	switch n := len(failing); {
	case n == 0:
		return text
	case n <= 3:
		return text + " " + prose.Plural(n, "One keeps", prose.Thousands(n)+" keep") + " failing: " + strings.Join(failing, ", ") + "."
	default:
		return text + " " + prose.Thousands(n) + " keep failing, " + strings.Join(failing[:2], " and ") + " among them."
	}
}

// queuesThen says what a loop waits to see.
func queuesThen(loops []telemetry.LoopState) views.Text {
	echoes, expectations := 0, 0
	var since time.Time
	for _, l := range loops {
		echoes += len(l.Echoes)
		expectations += len(l.Expectations)
		for _, e := range l.Echoes {
			if since.IsZero() || e.Since.Before(since) {
				since = e.Since
			}
		}
	}
	var t views.Text
	if echoes > 0 {
		t = t.Plain(prose.Count(echoes, "own write") + prose.Plural(echoes, " is", " are") + " not in the caches yet, the oldest for ").Since(since).Plain(". ")
	}
	if expectations > 0 {
		t = t.Plain(prose.Count(expectations, "object") + prose.Plural(expectations, " waits", " wait") + " to see pods it asked for.")
	}
	return t
}

// queuesElsewhere says where the queues can be seen that this process does not have.
func (s *Pages) queuesElsewhere() views.Text {
	l := s.Opts.Leadership()
	leader := cmp.Or(l.Leader, "The leader") // There is none for a moment where the Lease was given back.
	text := views.Text{}.Strong(prose.Clip(leader, 200)).Plain(" sends what its syncs did, and not what waits in its work queues")
	if l.Following != nil && l.Following.From != "" {
		text = text.Plain("; its own console at ").Code(prose.Clip(l.Following.From, 100)).Plain(" shows them")
	}
	return text.Plain(". The queues of this process, which writes nothing, say nothing about them.")
}

// noQueues is the page of the queues where they are not known.
func (s *Pages) noQueues(q *page.Query, heading string, why views.Text) *page.Page {
	v := views.Problem{Status: http.StatusOK, Code: "no-queues", Heading: heading, Lines: []views.Text{why}, Links: []views.Link{s.All()}}
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, "Queues"), Body: views.ProblemBody(v), Data: v}
	p.Frame.Tab, p.Frame.Twin, p.Frame.Keys = "queues", q.TwinHref(), page.CommonKeys
	p.Frame.Crumbs = []views.Link{{Text: "Queues"}}
	return p
}
