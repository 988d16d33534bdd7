package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/sight"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/words"
)

// gallery hangs every page in every state. Nothing of it is a copy: each is
// what a console shows of a journal that the loops have filled.
func gallery(t testing.TB) *exhibition {
	t.Helper()
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	stuckRollout(w)
	w.pump()
	counted := tallied(t, w)
	x := &exhibition{main: w.server(func(o *Options) { ofAProcess(o); o.Tally = counted })}
	x.hang(x.main, pages(w))
	x.states(t, w)
	x.hang(x.main, situations(w))
	x.sheets(t, w)
	x.list = append(x.list, exhibit{id: "words", group: "Components", title: "Tones, names, clocks and notices", body: smallParts(), server: x.main})
	return x
}

// tallied has counted what the world's journal keeps.
func tallied(t testing.TB, w *world) *telemetry.Tally {
	t.Helper()
	tally := telemetry.NewTally()
	go tally.Run(t.Context(), w.journal)
	for end := time.Now().Add(time.Minute); tally.Syncs("replicationcontroller") == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the journal is not counted")
		}
	}
	return tally
}

func (x *exhibition) hang(s *Server, list []exhibit) {
	for _, e := range list {
		e.server = s
		x.list = append(x.list, e)
	}
}

// pages is every page of the story.
func pages(w *world) []exhibit {
	board := w.journal.Board()
	set := board.Children("replicaset", "shop", "web")[0]
	sync := board.Rows("deployment")[0].Trace
	controller := board.Rows("replicationcontroller")[0].Trace
	update, _ := board.Get(telemetry.Object{Loop: "rollingupdate", Namespace: "update-floor", Name: "web"})
	stuck, _ := board.Get(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"})
	older := w.journal.Of(stuck.Object, source.HistoryRows)[3]
	list := []exhibit{
		{id: "overview", title: "Deployments", path: "/deployments"},
		{id: "overview-filter", title: "Deployments, filtered", path: "/deployments?q=is:waiting+-ns:kube-system"},
		{id: "replicationcontrollers", title: "ReplicationControllers", path: "/replicationcontrollers"},
		{id: "replicasets", title: "ReplicaSets without a Deployment", path: "/replicasets"},
		{id: "rollingupdates", title: "Rolling updates", path: "/rollingupdates"},
		{id: "rollingupdate", title: "A rolling update", path: address.Of(update.Object)},
		{id: "what-if-rollingupdate", title: "What if a rolling update were asked for otherwise", path: address.Of(update.Object) + "/what-if"},
		{id: "story-rollingupdate", title: "Story of a rolling update", path: address.Of(update.Object) + "/story"},
		{id: "chain-rollingupdate", title: "A chain from a rolling update", path: address.Sync(update) + "/chain"},
		{id: "sync-rollingupdate", title: "A sync of a rolling update", path: address.Sync(update)},
		{id: "deployment", title: "A stuck rollout", path: address.Of(stuck.Object)},
		{id: "deployment-older", title: "An older sync of it", path: address.Of(stuck.Object) + "?sync=" + words.Digits(older.Seq) + "&epoch=7c41"},
		{id: "story", title: "Story of a rollout", path: address.Of(stuck.Object) + "/story"},
		{id: "what-if", title: "What if, with nothing changed", path: address.Of(stuck.Object) + "/what-if"},
		{id: "what-if-unavailable", title: "What if more may be unavailable", path: address.Of(stuck.Object) + "/what-if?maxUnavailable=50%25"},
		{id: "replicaset", title: "A ReplicaSet", path: address.Of(set.Object)},
		{id: "replicationcontroller", title: "A ReplicationController", path: address.Of(controller.Object)},
		{id: "sync", title: "A sync", path: address.Sync(sync)},
		{id: "sync-replicaset", title: "A sync of a ReplicaSet", path: address.Sync(set)},
		{id: "sync-replicationcontroller", title: "A sync of a ReplicationController", path: address.Sync(controller)},
		{id: "chain", title: "A chain across the loops", path: address.Sync(set) + "/chain"},
		{id: "chain-deployment", title: "A chain from a Deployment", path: address.Sync(sync) + "/chain"},
		{id: "chain-replicationcontroller", title: "A chain of one", path: address.Sync(controller) + "/chain"},
		{id: "queues", title: "Queues", path: "/queues"},
		{id: "queues-filter", title: "Queues, filtered", path: "/queues?q=is:back-off"},
		{id: "decisions", title: "Decisions", path: "/decisions"},
		{id: "decisions-deployment", title: "Decisions of a loop", path: "/decisions/deployment"},
		{id: "history", title: "History", path: "/history"},
		{id: "history-filter", title: "History, searched", path: "/history?q=ns:shop"},
		{id: "shadow", title: "Shadow", path: "/shadow"},
		{id: "about", title: "About", path: "/about"},
		{id: "reasons", title: "Reasons", path: "/reasons"},
		{id: "reasons-code", title: "One reason", path: "/reasons/floor"},
		{id: "rules", title: "Rules", path: "/rules"},
		{id: "debug", title: "Debug", path: "/debug"},
		{id: "debug-controllers", title: "Debug, the loops", path: "/debug/controllers"},
		{id: "debug-flags", title: "Debug, flags", path: "/debug/flags"},
	}
	for i := range list {
		list[i].group = "Pages"
	}
	return list
}

// situations is the page and the newest sync of every object of the story.
func situations(w *world) []exhibit {
	var list []exhibit
	for _, loop := range testLoops.Names() {
		for _, row := range w.journal.Board().Rows(loop) {
			t := row.Trace
			id := loop + "." + t.Name
			if strings.HasPrefix(t.Namespace, "update-") { // They have a namespace each, and one name.
				id = loop + "." + t.Namespace
			}
			list = append(list,
				exhibit{id: id, group: "Situations of a " + testLoops.Kind(loop), title: t.Name, path: address.Of(t.Object), like: true},
				exhibit{id: id + ".sync", group: "Situations of a " + testLoops.Kind(loop), title: t.Name + ", its sync", path: address.Sync(t), like: true})
		}
	}
	return list
}

// states hangs what pages say when they have nothing, too little or no way to say more.
func (x *exhibition) states(t testing.TB, w *world) {
	empty := newWorld(t, storyNow.Add(-time.Hour)).server(func(o *Options) { o.Loops = nil })
	watching := w.server(func(o *Options) { o.Mode, o.Shadow = "watch", shadowed })
	agreeing := w.server(func(o *Options) { o.Mode, o.Shadow = "watch", agreed })
	standby := w.server(func(o *Options) { o.Leadership = led })
	unreachable := w.server(func(o *Options) {
		o.Server = func() telemetry.ServerState {
			return telemetry.ServerState{Since: storyNow.Add(-12 * time.Second), Error: "dial tcp: connection refused"}
		}
	})
	recording := w.server(func(o *Options) {
		o.Recording = &Recording{From: storyNow.Add(-2 * time.Hour), To: storyNow, Note: "The file ends in the middle of a sync, which is left out."}
	})
	broken := w.server(func(o *Options) { o.Loops = func() []telemetry.LoopState { panic("a defect") } })
	short := newWorld(t, storyNow.Add(-time.Hour))
	short.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Recent: 4})
	many := newWorld(t, storyNow.Add(-time.Hour))
	for i := range 257 {
		many.journal.Record(plain("many", "d-"+words.Digits(i)))
	}
	for range 12 {
		short.journal.Record(plain("shop", "web"))
	}
	foreign := claims(t, testLoops, "shop")
	for i, path := range claimPages(foreign, "shop") {
		x.list = append(x.list, exhibit{id: "undeclared-" + words.Digits(i), group: "States", title: "Of a loop that nobody declared: " + path, path: path, server: foreign.server(nil)})
	}
	calm, kept := many.server(nil), short.server(nil)
	seen := x.main.shared.console(sight.NewScope(&somebody{name: "ann", may: func(_ Resource, namespace string) bool { return namespace == "shop" }}, testLoops))
	hidden := x.main.shared.console(sight.NewScope(sight.Nobody, testLoops))
	web := "/deployments/shop/web"
	list := []exhibit{
		{id: "first-run", title: "First run", path: "/deployments", server: empty},
		{id: "first-run-queues", title: "Queues, before anything ran", path: "/queues", server: empty},
		{id: "first-run-history", title: "History, before anything ran", path: "/history", server: empty},
		{id: "first-run-decisions", title: "Decisions, before anything was asked", path: "/decisions/deployment", server: empty},
		{id: "seen", title: "Deployments of one who sees a namespace", path: "/deployments", server: seen},
		{id: "seen-queues", title: "Queues of one who sees a namespace", path: "/queues", server: seen},
		{id: "seen-about", title: "About, to one who sees a namespace", path: "/about", server: seen},
		{id: "unseen", title: "Deployments of one who sees none", path: "/deployments", server: hidden},
		{id: "unseen-object", title: "A Deployment that may not be seen", path: web, server: hidden, status: http.StatusNotFound},
		{id: "empty", title: "Watching, and nothing in that namespace", path: "/deployments?q=ns:demo", server: watching},
		{id: "no-match", title: "No match", path: "/deployments?q=is:failed+ns:shop", server: x.main},
		{id: "no-match-history", title: "No match in the history", path: "/history?q=ns:nowhere", server: x.main},
		{id: "unknown-term", title: "An unknown term", path: "/deployments?q=colour:red+ns:shop", server: x.main},
		{id: "all-settled", title: "Nothing needs a person, first page of three", path: "/deployments", server: calm},
		{id: "second-page", title: "The second page", path: "/deployments?after=settled~~many/d-188", server: calm},
		{id: "disconnected", title: "Disconnected", path: web, server: x.main, grumbles: "WebSocket connection to",
			live: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }},
		{id: "paused", title: "Paused", path: web + "?still", server: x.main},
		x.degraded(t), x.restarted(t, w),
		{id: "ended", title: "The page ended", path: web, server: x.main, live: empty.Handler().ServeHTTP},
		{id: "standby", title: "Standing by", path: web, server: standby},
		{id: "watching", title: "Watching", path: web, server: watching},
		{id: "unreachable", title: "The API server does not answer", path: web, server: unreachable},
		{id: "unreachable-list", title: "Deployments as of before an outage", path: "/deployments", server: unreachable},
		{id: "unreachable-story", title: "The story of a rollout in an outage", path: web + "/story", server: unreachable},
		{id: "recording", title: "A recording", path: web, server: recording},
		{id: "shadow-watching", title: "Shadow, watching", path: "/shadow", server: watching},
		{id: "shadow-agrees", title: "Shadow, all agree", path: "/shadow", server: agreeing},
		{id: "about-watching", title: "About, watching", path: "/about", server: watching},
		{id: "about-standby", title: "About, standing by", path: "/about", server: standby},
		{id: "about-unreachable", title: "About, without an API server", path: "/about", server: unreachable},
		{id: "first-run-about", title: "About, before anything ran", path: "/about", server: empty},
		{id: "recording-queues", title: "A recording has no queues", path: "/queues", server: recording},
		{id: "too-old", title: "Too old", path: web + "/syncs/7c41/2", server: kept, status: http.StatusGone},
		{id: "other-epoch", title: "Of another run", path: web + "/syncs/dead/3", server: x.main, status: http.StatusGone},
		{id: "ahead", title: "A sync that is still to come", path: web + "?sync=999999", server: x.main, status: http.StatusNotFound},
		{id: "not-found", title: "Not found", path: "/deployments/shop/wbe", server: x.main, status: http.StatusNotFound},
		{id: "no-story", title: "Nothing to tell", path: address.Of(w.journal.Board().Rows("replicationcontroller")[0].Trace.Object) + "/story", server: x.main, status: http.StatusNotFound},
		{id: "no-page", title: "No such page", path: "/nowhere", server: x.main, status: http.StatusNotFound},
		{id: "bad-number", title: "Not a number", path: web + "?sync=-4", server: x.main, status: http.StatusBadRequest},
		{id: "no-row", title: "A page that begins nowhere", path: "/deployments?after=shop/none", server: x.main, status: http.StatusNotFound},
		{id: "too-long", title: "Too long an address", path: "/deployments?q=" + strings.Repeat("x", 2000), server: x.main, status: http.StatusRequestURITooLong},
		{id: "error", title: "Error", path: "/queues", server: broken, status: http.StatusInternalServerError},
	}
	for _, e := range list {
		e.group = "States"
		if e.status != 0 {
			e.grumbles = "Failed to load resource"
		}
		x.list = append(x.list, e)
	}
}

// degraded is a page that fell behind: more came than is kept before it could follow.
func (x *exhibition) degraded(t testing.TB) exhibit {
	w := newWorld(t, storyNow.Add(-time.Hour))
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Recent: 16, Wrote: 1, Failed: 1})
	w.pump()
	w.journal.Record(plain("shop", "web"))
	s := w.server(nil)
	return exhibit{id: "degraded", title: "A slow reader", path: "/deployments/shop/web", server: s, live: func(rw http.ResponseWriter, r *http.Request) {
		for range 214 {
			w.journal.Record(plain("shop", "web"))
		}
		s.Handler().ServeHTTP(rw, r)
	}}
}

// restarted is a page of a run that is over.
func (x *exhibition) restarted(t testing.TB, before *world) exhibit {
	w := newWorld(t, storyNow.Add(-time.Hour))
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "beef", Clock: stands(storyNow.Add(-time.Minute))})
	stuckRollout(w)
	w.pump()
	return exhibit{id: "restarted", title: "Restarted", path: "/deployments/shop/web", server: before.server(nil), live: w.server(nil).Handler().ServeHTTP}
}

// sheets hangs every live part of the pages in all situations.
func (x *exhibition) sheets(t testing.TB, w *world) {
	t.Helper()
	for _, loop := range []string{"deployment", "replicaset"} {
		parts := map[string][]hung{}
		for _, row := range w.journal.Board().Rows(loop) {
			to, err := site{x.main}.Find(address.Of(row.Trace.Object))
			if err != nil {
				t.Fatal(err)
			}
			p, err := to.Build(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", row.Trace.Name, err)
			}
			for _, part := range p.Parts[2:] { // The first two are the frame's.
				parts[part.ID] = append(parts[part.ID], hung{row.Trace.Name, part.View})
			}
		}
		var ids []string
		for id := range parts {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for _, id := range ids {
			name := strings.TrimPrefix(id, "f-") + " of a " + testLoops.Kind(loop)
			x.list = append(x.list, exhibit{id: "sheet." + loop + "." + id, group: "Components", title: strings.ToUpper(name[:1]) + name[1:], body: sheet(parts[id]), server: x.main})
		}
	}
}

// smallParts is every tone, run of text, and notice.
func smallParts() templ.Component {
	now := storyNow
	runs := []struct {
		what string
		text views.Text
	}{
		{"plain and strong", views.Say("3 new pods are ").Strong("not ready").Plain(", so the last old one stays.")},
		{"code", views.Say("cannot pull ").Code("registry.example/shop/web:3.4.0")},
		{"faint", views.Say("sync 311 ").Faint("before the start")},
		{"link", views.Text{}.Link("sync 311", "/deployments/shop/web?sync=311")},
		{"clock", views.Say("since ").Clock(now.Add(-time.Hour))},
		{"age", views.Say("for ").Since(now.Add(-3 * time.Minute))},
		{"age of nothing", views.Say("for ").Since(now)},
		{"countdown", views.Say("in ").Until(now.Add(4*time.Minute + 48*time.Second))},
		{"countdown of a part of a second", views.Say("in ").Until(now.Add(300 * time.Millisecond))},
		{"countdown of days", views.Say("in ").Until(now.Add(51 * time.Hour))},
		{"countdown that is due", views.Say("in ").Until(now.Add(-time.Second))},
	}
	tones := []views.Mark{{Tone: views.Failed, Word: "failed"}, {Tone: views.Waiting, Word: "waiting"}, {Tone: views.Moving, Word: "moving"},
		{Tone: views.Idle, Word: "on hold"}, {Tone: views.OK, Word: "settled"}}
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		fmt.Fprint(w, "<h1>Small parts</h1><section><h2 class=rule>Tones</h2><ul>")
		for _, m := range tones {
			fmt.Fprint(w, "<li>")
			_ = views.Marked(m).Render(ctx, w)
			fmt.Fprint(w, "</li>")
		}
		fmt.Fprint(w, "</ul></section><section><h2 class=rule>Words</h2><dl class=facts>")
		for _, r := range runs {
			fmt.Fprintf(w, "<dt>%s</dt><dd>", r.what)
			_ = views.Words(r.text).Render(ctx, w)
			fmt.Fprint(w, "</dd>")
		}
		fmt.Fprint(w, "</dl></section><section><h2 class=rule>Names</h2><p>")
		_ = views.Name("web-7d4b9c6f5x-", "jtzz9").Render(ctx, w)
		fmt.Fprint(w, "</p><p>")
		_ = views.Name("", strings.Repeat("very-long-name.", 16)+"x").Render(ctx, w)
		fmt.Fprint(w, "</p></section><section><h2 class=rule>Notices</h2>")
		for i, m := range tones {
			n := &views.Notice{Tone: m.Tone, Title: "A notice that says " + m.Word, Text: views.Say("Since ").Clock(now).Plain(", and for ").Since(now.Add(-time.Minute)).Plain(".")}
			_ = hungAs(views.NoticeBar(n), i).Render(ctx, w)
		}
		_, err := fmt.Fprint(w, "</section>")
		return err
	})
}

// hungAs is a part with an id of its own.
func hungAs(view templ.Component, i int) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var b strings.Builder
		if err := view.Render(ctx, &b); err != nil {
			return err
		}
		_, err := io.WriteString(w, references.ReplaceAllString(b.String(), ` $1="$2-`+fmt.Sprint(i)+`"`))
		return err
	})
}

// address is where an exhibit hangs, in a theme.
func (e exhibit) address(base, theme string) string {
	return base + "/gallery/" + url.PathEscape(e.id) + "?still&theme=" + theme
}
