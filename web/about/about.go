package about

import (
	"cmp"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// About is the page of this program: what it does to the cluster, what its
// numbers cover and what went by uncounted.
func (s *Pages) About(q *page.Query) (*page.Page, error) {
	kept := s.Opts.Archive.State()
	v := views.About{Headline: "Loopscope " + s.Opts.Version + " on cluster " + s.Opts.Cluster + ".", Then: s.covers(), History: kept.Path, HistoryFailing: kept.Error != "", Namespace: s.Opts.Namespace}
	v.Sections = []views.AboutSection{s.aboutProgram(), s.aboutRelease(), s.aboutSeen(), s.aboutWindow(), s.aboutHistory(), s.aboutLimits(), s.aboutLoops(), s.aboutStart(), aboutMore()}
	v.Sections = slices.DeleteFunc(v.Sections, func(x views.AboutSection) bool { return len(x.Lines) == 0 })
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, "About"), Body: views.AboutBody(v), Data: v}
	p.Frame.Tab, p.Frame.Twin, p.Frame.Keys = "about", q.TwinHref(), page.AboutKeys
	p.Frame.Crumbs = []views.Link{{Text: "About"}}
	return p, nil
}

// covers says in a sentence what the numbers of all pages cover.
func (s *Pages) covers() views.Text {
	w := s.Window()
	if s.Partly() {
		return views.Say(prose.Count(w.Syncs, "sync") + " in all were recorded since ").Clock(w.Since).Plain(" UTC. You are shown those of objects that you may see.")
	}
	text := views.Say("All numbers cover " + prose.Count(w.Syncs, "sync") + " since ").Clock(w.Since).Plain(" UTC")
	if st := s.Opts.Archive.State(); !st.Oldest.IsZero() && st.Oldest.Before(w.Since) {
		text = text.Plain("; the history goes back to ").Plain(st.Oldest.UTC().Format(time.DateTime))
	}
	return text.Plain(".")
}

func (s *Pages) aboutProgram() views.AboutSection {
	lines := []views.Line{{Label: "mode", Text: s.ModeText()}, {Label: "leader", Text: s.LeaderText()}}
	l := s.Opts.Leadership()
	if changes := leaderChanges(l.Changes); len(changes) > 0 {
		lines = append(lines, views.Line{Label: "earlier leaders", Text: changes})
	}
	for _, m := range slices.Backward(l.Missed[max(0, len(l.Missed)-shownChanges):]) {
		lines = append(lines, views.Line{Label: "not received", Text: words.Stop(words.Text(m.Tell(), true))})
	}
	if s.Opts.Recording == nil {
		lines = append(lines, views.Line{Label: "started", Text: views.Say(s.Opts.Started.UTC().Format(time.DateTime) + ", ").Since(s.Opts.Started).Plain(" ago")})
	}
	if s.Opts.Namespace != "" {
		lines = append(lines, views.Line{Label: "scope", Text: views.Say("only objects in the namespace ").Code(s.Opts.Namespace)})
	}
	if s.Opts.Memory != "" {
		lines = append(lines, views.Line{Label: "memory", Text: views.Say(s.Opts.Memory)})
	}
	if !s.Embedded() {
		lines = append(append(lines, s.rulesLine()), s.featuresLine()...)
	}
	return views.AboutSection{Title: "This program", Lines: append(lines,
		views.Line{Label: "version", Text: views.Text{}.Code(s.Opts.Version).Plain(", built with " + runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH)},
		views.Line{Label: "run", Text: views.Text{}.Code(s.Journal.Epoch()).Plain(", the epoch in every permalink")})}
}

// shownChanges is how many changes of leader are shown.
const shownChanges = 5

// leaderChanges are the newest changes of leader, the newest first.
func leaderChanges(all []telemetry.LeaderChange) (text views.Text) {
	for _, c := range slices.Backward(all[max(0, len(all)-shownChanges):]) {
		if len(text) > 0 {
			text = text.Plain("; ")
		}
		text = text.Clock(c.At).Plain(" ").Plain(prose.Clip(cmp.Or(c.From, "nobody"), 80) + " → " + prose.Clip(cmp.Or(c.To, "nobody"), 80))
		if gap := c.Gap(); gap > 0 {
			text = text.Plain(", " + prose.Span(gap) + " after the last sign of a leader")
		}
	}
	return text
}

// aboutSeen says what of each loop the reader may see; nothing where that is everything.
func (s *Pages) aboutSeen() views.AboutSection {
	x := views.AboutSection{Title: "What you may see", Note: "as the API server says"}
	if !s.Partly() {
		return x
	}
	for _, loop := range s.Loops.Names() {
		text := views.Say("all of them")
		if s.Hides(loop) {
			text = s.Rights(loop)
		}
		x.Lines = append(x.Lines, views.Line{Label: loop, Text: text})
	}
	return x
}

// aboutWindow is what the journal covers, and what went by.
func (s *Pages) aboutWindow() views.AboutSection {
	total, since, folded := s.Journal.Window()
	return views.AboutSection{Title: "What is covered", Lines: []views.Line{
		{Label: "syncs", Text: views.Say(prose.Thousands(total) + " since ").Clock(since).Plain(" UTC")},
		{Label: "folded", Text: views.Say(prose.Thousands(folded) + " that changed nothing " + prose.Plural(int64(folded), "is", "are") + " kept as a count alone")},
		{Label: "uncounted", Text: views.Say(prose.Count(s.Opts.Tally.Missed(), "sync") + " not counted on the page of decisions")},
		{Label: "objects", Text: views.Say(prose.Thousands(s.Journal.Board().Len()) + s.SeenOf() + " with syncs in memory")},
		{Label: "readers", Text: views.Say(prose.Thousands(s.readers()) + " of at most " + prose.Count(s.Opts.MaxReaders, "live page") + " open")}}}
}

func (s *Pages) aboutHistory() views.AboutSection {
	st := s.Opts.Archive.State()
	x := views.AboutSection{Title: "History", Note: "syncs that outlive this process"}
	if st.Path == "" {
		x.Lines = []views.Line{{Label: "file", Text: views.Say("none: syncs are kept in memory and are lost when this process ends. Start it with ").Code("--history FILE").Plain(" to keep them.")}}
		return x
	}
	x.Lines = []views.Line{{Label: "file", Text: views.Text{}.Code(st.Path)},
		{Label: "holds", Text: views.Say(prose.Count(st.Kept, "sync") + " in " + megabytes(st.Bytes))}}
	if st.MaxBytes > 0 {
		x.Lines = append(x.Lines, views.Line{Label: "limits", Text: views.Say(megabytes(st.MaxBytes) + " and " + prose.Span(st.MaxAge) + ", whichever comes first")})
	}
	if !st.Oldest.IsZero() {
		x.Lines = append(x.Lines, views.Line{Label: "covers", Text: views.Say(st.Oldest.UTC().Format(time.DateTime) + " to " + st.Newest.UTC().Format(time.DateTime))})
	}
	x.Lines = append(x.Lines, views.Line{Label: "this run", Text: views.Say(prose.Thousands(st.Written) + " written, " + prose.Thousands(st.Dropped) + " lost, " + prose.Thousands(st.Expired) + " expired")})
	if st.Dropped > 0 {
		x.Tone = views.Waiting
	}
	if st.Error != "" {
		x.Tone = views.Failed
		x.Lines = append(x.Lines, views.Line{Label: "failing", Text: views.Say("for ").Since(st.ErrorSince).Plain(": ").Code(prose.Clip(st.Error, 300))})
	}
	return x
}

func megabytes(n int64) string {
	if n < 1<<20 {
		return prose.Thousands(n/1024) + " KiB"
	}
	return prose.Thousands(n>>20) + " MiB"
}

func (s *Pages) aboutLimits() views.AboutSection {
	return views.AboutSection{Title: "Limits", Note: "so that no reader can hold up a loop", Lines: s.limits}
}

// aboutLoops are the loops of this process.
func (s *Pages) aboutLoops() views.AboutSection {
	x := views.AboutSection{Title: "Loops"}
	for _, l := range s.Opts.Loops() {
		state := views.Say("does not run")
		switch {
		case l.Mode == telemetry.ModeOff:
			state = views.Say("does not run here: ").Join(s.Off(&l))
		case l.Mode == telemetry.ModeSkipped:
			state = views.Say("skipped: the API server does not serve what it works on")
		case l.Running && unfilled(l):
			state = views.Say("waits for its caches")
		case l.Running:
			state = views.Say(prose.Count(l.Queue.Workers, "worker") + ", mode " + cmp.Or(l.Mode, "act"))
		}
		x.Lines = append(x.Lines, views.Line{Label: l.Name, Text: state})
	}
	return x
}

// aboutStart is how long each step of the start took, and what it still waits for.
func (s *Pages) aboutStart() views.AboutSection {
	x := views.AboutSection{Title: "Start", Note: "what the loops waited for"}
	for _, step := range s.Opts.Start() {
		line := views.Line{Label: step.Name, Text: views.Say("there after " + views.Took(step.Took))}
		switch {
		case step.Skipped:
			line.Text = views.Say("skipped")
		case !step.Done():
			x.Tone = views.Waiting
			line.Text = views.Say("not yet, for ").Since(s.Opts.Started)
		}
		if step.Error != "" {
			line.Text = line.Text.Plain(": ").Code(prose.Clip(step.Error, 300))
		}
		x.Lines = append(x.Lines, line)
	}
	return x
}

func aboutMore() views.AboutSection {
	return views.AboutSection{Title: "More", Lines: []views.Line{
		{Label: "codes", Text: views.Text{}.Link("every reason code", "/reasons").Plain(" with what it means and what to do")},
		{Label: "decisions", Text: views.Text{}.Link("every question", "/decisions").Plain(" of the loops, with counts")},
		{Label: "rules", Text: views.Text{}.Link("every rule", "/rules").Plain(" that the loops follow, by its tag")},
		{Label: "shadow", Text: views.Text{}.Link("beside another controller", "/shadow")},
		{Label: "metrics", Text: views.Text{}.Link("/metrics", "/metrics").Plain(" for Prometheus, ").Link("/healthz", "/healthz").Plain(", ").Link("/readyz", "/readyz")},
		{Label: "programs", Text: views.Text{}.Link("/debug", "/debug").Plain(" has every address for programs, ").Link("/debug/controllers", "/debug/controllers").Plain(" the state of the loops")}}}
}
