package story

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/syncs"
	"github.com/loopscope/loopscope/web/words"
)

// storyWithin bounds how long a story is looked for in the history.
const storyWithin = 10 * time.Second

// Story is one rollout of a Deployment, told from its change to its end: the
// newest one, that of ?sync=, or the one under way at ?at=.
func (s *Pages) Story(q *page.Query) (*page.Page, error) {
	story, err := s.tell(q)
	if err != nil {
		return nil, err
	}
	v := s.storyView(story, q.Args.Has("all"))
	v.All = q.WithAll()
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, "Story of "+story.Key()), Body: views.StoryBody(v), Data: v}
	p.Frame.Tab, p.Frame.Up, p.Frame.Twin, p.Frame.Keys = s.TabOf(story.Loop), v.Object.Href, q.TwinHref(), page.SyncKeys
	p.Frame.Crumbs = s.Under(story.Object, "", views.Link{Text: "story"})
	return p, nil
}

// tell finds the story in the journal, or in the history where its beginning,
// or all of it, is not in the journal any more.
func (s *Pages) tell(q *page.Query) (*telemetry.Story, error) {
	o, args := q.Object, q.Args
	if text := args.Get("at"); text != "" {
		at, err := s.Moment(q, text, "The newest story", address.Of(o)+"/story")
		if err != nil {
			return nil, err
		}
		return s.storyThen(q, o, at)
	}
	x, err := s.Find(q)
	if err != nil {
		return nil, err
	}
	story, current, err := s.find(q, x)
	switch {
	case err != nil || !story.End().IsZero():
	case x.Unseen():
		lastKnown(story, x.Unknown)
	case !current:
		lastKnown(story, notInHistory)
	case !x.Pinned: // The page of the object says the same.
		said, at := s.SaidThen(x.Newest, q.Now)
		story.Sentence, story.Text = said, said.At(at)
		if at.Before(q.Now) {
			story.AsOf = at.UTC()
		}
	}
	return story, err
}

// notInHistory is why a story that the history has not to its end is not told further.
const notInHistory = ". Later syncs of it are not in the history"

// lastKnown tells a story as of the last sync that is known of it.
func lastKnown(story *telemetry.Story, since string) {
	at := story.Began
	for i := range story.Beats {
		if b := &story.Beats[i]; b.Sync != nil && b.Sync.Object == story.Object {
			at = b.Sync.Started.Add(b.Sync.Took)
		}
	}
	story.LastKnown = at.UTC()
	story.Sentence = words.LastKnown(story.Sentence, at, since)
	story.Text = story.Sentence.At(at)
}

// find is the story of the sync under the cursor. It is not current where the history knows
// another one alone, from before that sync.
func (s *Pages) find(q *page.Query, x *subject.Subject) (story *telemetry.Story, current bool, err error) {
	story, ok := s.storyOf(x.Cursor, s.Family(x.Object))
	if ok && !story.Open {
		return story, true, nil
	}
	of, older, err := s.storyAt(q, x.Object, x.Cursor.Started)
	switch current = of != nil && of.Epoch == x.Cursor.Epoch && of.Seq == x.Cursor.Seq; {
	case ok && !(current && older != nil): // The history lags behind, or fails.
		return story, true, nil
	case older != nil:
		return older, current, nil
	case err != nil && !errors.Is(err, telemetry.ErrNotKept): // Nobody knows whether there is one.
		return nil, false, fmt.Errorf("read the history of %s: %w", x.Object.Key(), err)
	}
	return nil, false, s.noStory(x.Object)
}

// storyThen tells what was under way at a moment that somebody asks for.
func (s *Pages) storyThen(q *page.Query, o telemetry.Object, at time.Time) (*telemetry.Story, error) {
	_, story, err := s.storyAt(q, o, at)
	switch {
	case err != nil:
		return nil, s.NotFoundThen(o, at, err)
	case story == nil:
		return nil, s.noStory(o)
	}
	if x, err := s.Newest(q); err == nil && x.Unseen() && story.End().IsZero() {
		lastKnown(story, x.Unknown)
	}
	return story, nil
}

// storyAt tells what was under way at that moment, from the history, if anything was, and
// which sync was in force.
func (s *Pages) storyAt(q *page.Query, o telemetry.Object, at time.Time) (*telemetry.Trace, *telemetry.Story, error) {
	t, list, err := s.collect(q, o, at)
	if err != nil {
		return nil, nil, err
	}
	story, _ := s.storyOf(t, list)
	return t, story, nil
}

// replaced is why a story is not told further whose object was created anew before a sync found it gone.
const replaced = ", before it was deleted and another one of its name was created"

// storyOf is the story of a sync among these.
func (s *Pages) storyOf(t *telemetry.Trace, list []*telemetry.Trace) (story *telemetry.Story, ok bool) {
	if story, ok = s.excerpt(list).Story(t); ok && story.Replaced {
		lastKnown(story, replaced)
	}
	return story, ok
}

// excerpt links syncs, with what is known beside them.
func (s *Pages) excerpt(list []*telemetry.Trace) *telemetry.Excerpt {
	return telemetry.NewExcerpt(s.Loops, list).WithOutages(s.Opts.Server().Outages()).WithLeadership(s.Opts.Leadership())
}

func (s *Pages) collect(q *page.Query, o telemetry.Object, at time.Time) (*telemetry.Trace, []*telemetry.Trace, error) {
	ctx, cancel := context.WithTimeout(q.Ctx, storyWithin)
	defer cancel()
	return telemetry.Collect(ctx, s.Loops, s.Opts.Archive, o, at)
}

func (s *Pages) noStory(o telemetry.Object) error {
	return answer.NewProblem(http.StatusNotFound, "no-story", "No kept sync of "+prose.Clip(o.Key(), 300)+" shows a change.",
		views.Say("A story begins when a "+s.KindOf(o.Loop)+" is no longer settled. Every kept sync of this one found it settled.")).
		Link(s.KindOf(o.Loop)+" "+o.Key(), address.Of(o))
}

func (s *Pages) storyView(story *telemetry.Story, all bool) views.Story {
	v := views.Story{Object: views.Link{Text: s.KindOf(story.Loop) + " " + story.Key(), Href: address.Of(story.Object)}, Story: story}
	v.Headline, v.Then = storyHead(story, s.KindOf(story.Loop)+" "+story.Name)
	if at := story.LastKnown; !at.IsZero() {
		v.Headline, v.Then = v.Headline.Still(at), v.Then.Still(at)
	}
	if at := story.AsOf; !at.IsZero() {
		v.Headline, v.Then, v.AsOf = v.Headline.Still(at), v.Then.Still(at), s.Outage().OfThen("As of", at)
	}
	v.Note = storyNote(story.Counts)
	beats := story.Told(all)
	for i := range beats {
		v.Beats = append(v.Beats, beatView(story, &beats[i]))
	}
	v.Quiet = len(story.Beats) - len(beats)
	return v
}

// storyNote counts what is in a story, and of writes that did not go through what there is.
func storyNote(c telemetry.StoryCounts) string {
	note := fmt.Sprintf("%s by others, %s of pods, %s, %s", prose.Count(c.Changes, "change"), prose.Count(c.Pods, "transition"), prose.Count(c.Syncs, "sync"), prose.Count(c.Writes, "write"))
	if c.Leaders > 0 {
		note += ", " + prose.Count(c.Leaders, "change") + " of leader"
	}
	if c.Missed > 0 {
		note += ", " + prose.Count(c.Missed, "gap") + " in what was received"
	}
	if c.Restarts > 0 {
		note += ", " + prose.Count(c.Restarts, "restart") + " of the manager"
	}
	if c.Refused > 0 {
		note += ", " + prose.Thousands(c.Refused) + " refused"
	}
	if c.Conflicts > 0 {
		note += ", " + prose.Count(c.Conflicts, "conflict")
	}
	if c.Unanswered > 0 {
		note += ", " + prose.Thousands(c.Unanswered) + " unanswered"
	}
	return note
}

func beatView(story *telemetry.Story, b *telemetry.Beat) views.Beat {
	v := views.Beat{At: b.At, Step: "+" + step(b.At.Sub(story.Began)), Kind: string(b.Kind), Text: words.Text(b.Tell(), true), Mark: beatMark(b)}
	if b.Waited != nil && b.Waited.For >= time.Second {
		v.Waited = views.Sayf("%s of waiting (%s): %s", prose.Span(b.Waited.For), strings.Join(b.Waited.Codes, ", "), b.Waited.Text)
	}
	if b.Sync != nil {
		v.Href = address.SyncOf(b.Sync.Object, b.Sync.Epoch, b.Sync.Seq)
	}
	if b.Settles {
		v.Text = v.Text.Plain(". ").Strong("Settled.")
	}
	return v
}

// storyHead answers why: what holds it up while it is not settled, and
// afterwards what unsettled it and how long that took.
func storyHead(story *telemetry.Story, object string) (head, then views.Text) {
	then = views.Say("It began ").Clock(story.Began).Plain(" UTC")
	if !story.LastKnown.IsZero() {
		then = views.Say("It began " + words.DayAndTime(story.Began))
	}
	if story.Open {
		then = then.Plain(" or before (earlier syncs are not kept)")
	}
	if say := story.Sentence; story.Settled.IsZero() {
		head = views.Text{}.Code(story.Key()).Plain(" " + say.Verb + " " + say.State + ": ").Join(words.Stop(words.Text(say.Lead, false)))
		switch {
		case story.Replaced:
			then = then.Plain(" and ended with the deletion of the object, by " + words.DayAndTime(story.Gone) + ".")
		case !story.Gone.IsZero():
			then = then.Plain(" and ended with the deletion of the object, at ").Clock(story.Gone).Plain(" UTC.")
		case story.OfDifferences():
			then = then.Plain(".")
		case !story.LastKnown.IsZero():
			then = then.Plain(" and was not settled then.")
		default:
			then = then.Plain(" and is not settled yet.")
		}
		return head, words.Stop(words.Text(say.Then, true)).Plain(" ").Join(then)
	}
	head = views.Text{}.Code(story.Key()).Plain(" was settled after " + prose.Span(story.Settled.Sub(story.Began)))
	switch last, n := lastChange(story, object); n {
	case 0:
	case 1:
		head = head.Plain(": ").Join(words.Text(last.Tell(), false))
	default:
		head = head.Plain(". The last of " + words.Digits(n) + " changes: ").Join(words.Text(last.Tell(), false))
	}
	return head.Plain("."), then.Plain(". Last sentence: “" + story.Text + "”")
}

// lastChange is the last change of the object of a story, which it was settled with, and how many there were; the
// first one of another object where there was none.
func lastChange(story *telemetry.Story, object string) (last *telemetry.Beat, n int) {
	var other *telemetry.Beat
	for i := range story.Beats {
		switch b := &story.Beats[i]; {
		case b.Kind != telemetry.BeatChange:
		case b.Object == object:
			last, n = b, n+1
		case other == nil:
			other = b
		}
	}
	if n == 0 && other != nil {
		return other, 1
	}
	return last, n
}

// step is the time since the beginning.
func step(d time.Duration) string {
	if d < time.Second {
		return views.Took(d)
	}
	return prose.Span(d)
}

func beatMark(b *telemetry.Beat) views.Mark {
	switch {
	case b.Kind == telemetry.BeatChange:
		return views.Mark{Tone: views.Moving, Word: "change"}
	case b.Kind == telemetry.BeatPod:
		return views.Mark{Tone: views.Idle, Word: "pod"}
	case b.Kind == telemetry.BeatOutage:
		return views.Mark{Tone: views.Failed, Word: "outage"}
	case b.Kind == telemetry.BeatLeader:
		return views.Mark{Tone: views.Moving, Word: "leader"}
	case b.Kind == telemetry.BeatMissed || b.Kind == telemetry.BeatRestart:
		return views.Mark{Tone: views.Failed, Word: "gap"}
	case b.Settles:
		return views.Mark{Tone: views.OK, Word: "settled"}
	case len(b.Writes) == 0 && len(b.Held) > 0:
		return views.Mark{Tone: views.Waiting, Word: "held"}
	}
	return words.HitMark(b.Sync)
}

// Chain is what led to a sync, and its effects.
func (s *Pages) Chain(q *page.Query) (*page.Page, error) {
	o := q.Object
	t, err := s.SyncOfAddress(q, o)
	if err != nil {
		return nil, err
	}
	chain := telemetry.NewExcerpt(s.Loops, s.around(q, t)).Chain(t)
	v := views.Chain{Sync: views.Link{Text: "Sync " + words.Digits(t.Seq), Href: address.Sync(t)}, Chain: chain,
		Headline: s.Headline(t), Then: views.Say("What led to it, back to the change or timer that started it, and its effects."), Origins: s.hops(chain.Origins.Links), Effects: s.hops(chain.Effects.Links)}
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, "Chain of sync "+words.Digits(t.Seq)), Body: views.ChainBody(v), Data: v}
	p.Frame.Tab, p.Frame.Up, p.Frame.Twin, p.Frame.Keys = s.TabOf(t.Loop), v.Sync.Href, q.TwinHref(), page.SyncKeys
	p.Frame.Crumbs = s.Under(o, t.Owner, views.Link{Text: "sync " + words.Digits(t.Seq), Href: v.Sync.Href}, views.Link{Text: "chain"})
	return p, nil
}

// around are the syncs that a chain of this one can run through.
func (s *Pages) around(q *page.Query, t *telemetry.Trace) []*telemetry.Trace {
	list := s.Family(t.Object)
	if slices.Contains(list, t) {
		return list
	}
	ctx, cancel := context.WithTimeout(q.Ctx, storyWithin)
	defer cancel()
	list, err := telemetry.Around(ctx, s.Loops, s.Opts.Archive, t)
	if err != nil {
		s.Opts.Logger.Warn("The history could not be read for a chain", "key", t.Key(), "error", err)
	}
	return list
}

func (s *Pages) hops(links []*telemetry.Link) []views.Hop {
	list := make([]views.Hop, 0, len(links))
	for _, l := range links {
		h := views.Hop{Event: syncs.Event(l.Cause), Cut: l.Cut, Hops: s.hops(l.Links)}
		if l.Sync != nil {
			b := telemetry.Beat{Kind: telemetry.BeatSync, Object: s.KindOf(l.Sync.Loop) + " " + l.Sync.Name, Sync: l.Sync, Writes: l.Writes}
			h.At, h.Mark, h.Text = l.Sync.Started, words.HitMark(l.Sync), words.Text(b.Tell(), false)
			if l.Elsewhere {
				h.Text = views.Say("sync " + words.Digits(l.Sync.Seq) + ", which is on this page already")
			}
			h.Href = address.SyncOf(l.Sync.Object, l.Sync.Epoch, l.Sync.Seq)
		}
		list = append(list, h)
	}
	return list
}
