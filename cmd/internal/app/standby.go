package app

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/cmd/internal/standby"
	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web"
)

const (
	// keptRuns is how many runs of leaders stay in memory: stories go on across a change.
	keptRuns = 2
	// runBytes bounds the traces of one of them.
	runBytes = 32 << 20
	// switchEvery is how often it is looked whose decisions are shown.
	switchEvery = 100 * time.Millisecond
)

// runs are the syncs that were received of leaders, and the consoles that show them.
type runs struct {
	mu     sync.Mutex
	list   []*leaderRun   // the newest last
	ending sync.WaitGroup // those that made room
}

// leaderRun is one run of a leader.
type leaderRun struct {
	journal *telemetry.Journal
	console *web.Server
	end     func() // nobody shows it any more
}

// newFollower follows the leader where another process can be one.
func (a *App) newFollower() {
	if a.election == nil || a.opts.Untraced {
		return
	}
	a.follower = standby.New(standby.Options{Config: a.opts.Config, Leadership: a.election.State, Console: a.election.Leader,
		Vouch: func(ctx context.Context, c leadership.Console) error {
			return vouch(ctx, a.cluster.reads, a.opts.Config, c)
		}, Begin: a.beginRun, Missed: a.election.Missed, Known: controllers.Loops.Has, Logger: a.opts.Logger})
}

// myConsole is where other managers reach this process: nowhere where that takes a token of this
// machine, which a Lease is no place for.
func (a *App) myConsole() leadership.Console {
	switch {
	case a.secure != nil:
		return leadership.Console{URL: a.secure.URL(), Certificate: a.secure.Certificate()}
	case a.opts.Door != nil:
		return leadership.Console{}
	}
	return leadership.Console{URL: a.URL()}
}

// startFollower follows the leader until its turn in the teardown.
func (a *App) startFollower(ctx context.Context) {
	if a.follower == nil {
		return
	}
	a.push("leader's runs", func(stopping context.Context) error {
		ended := make(chan struct{})
		go func() { defer close(ended); a.runs.end() }()
		select {
		case <-ended:
			return nil
		case <-stopping.Done(): // Their last syncs wait for the disk.
			return stopping.Err()
		}
	})
	a.background(ctx, "stream of the leader", a.follower.Run)
	a.background(ctx, "choice of what is shown", a.watchShown)
}

// beginRun makes the journal of a leader's run, unless there is one already.
func (a *App) beginRun(epoch string) *telemetry.Journal {
	a.runs.mu.Lock()
	defer a.runs.mu.Unlock()
	if i := slices.IndexFunc(a.runs.list, func(r *leaderRun) bool { return r.journal.Epoch() == epoch }); i >= 0 {
		r := a.runs.list[i]
		a.runs.list = append(slices.Delete(a.runs.list, i, i+1), r)
		return r.journal
	}
	journal, tally := telemetry.FollowJournal(telemetry.JournalOptions{Epoch: epoch, Loops: a.opts.kept(), Bytes: runBytes}), telemetry.NewTally()
	options := a.consoleOptions(journal, tally)
	options.Elsewhere = true
	console, err := web.New(options)
	if err != nil { // The options are those of the console that runs already.
		panic(err)
	}
	r := &leaderRun{journal: journal, console: console}
	r.start(a, tally)
	a.runs.list = append(a.runs.list, r)
	for len(a.runs.list) > keptRuns {
		a.runs.ending.Go(a.runs.list[0].end) // Its last syncs may wait for the disk.
		a.runs.list = slices.Delete(a.runs.list, 0, 1)
	}
	return journal
}

// start keeps the run's syncs in the history until its end.
func (r *leaderRun) start(a *App, tally *telemetry.Tally) {
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() { r.journal.Run(ctx) })
	working.Go(func() { tally.Run(ctx, r.journal) })
	if a.history != nil {
		working.Go(func() { a.history.Also(ctx, r.journal) })
	}
	r.end = func() {
		r.console.Disconnect()
		cancel()
		working.Wait()
	}
}

// end ends all of them.
func (r *runs) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		x.end()
	}
	r.ending.Wait()
}

// console is the one that shows a journal, nil for none.
func (r *runs) console(j *telemetry.Journal) *web.Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if x.journal == j {
			return x.console
		}
	}
	return nil
}

// consoles are those of all runs.
func (r *runs) consoles() (list []*web.Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		list = append(list, x.console)
	}
	return list
}

// others are the syncs of an object and its family in other runs than that one, of which nothing
// was only what a process would have done.
func (a *App) others(o telemetry.Object, epoch string) (list []*telemetry.Trace) {
	journals := []*telemetry.Journal{a.journal}
	a.runs.mu.Lock()
	for _, r := range a.runs.list {
		journals = append(journals, r.journal)
	}
	a.runs.mu.Unlock()
	for _, j := range journals {
		if j.Epoch() == epoch {
			continue
		}
		for _, t := range j.Family(o) {
			if !t.Standby {
				list = append(list, t)
			}
		}
	}
	return list
}

// shown is the console of whose decisions count: the leader's where they are received, and that of
// this process otherwise.
func (a *App) shown() *web.Server {
	if a.follower == nil {
		return a.console
	}
	if console := a.runs.console(a.follower.Shown()); console != nil {
		return console
	}
	return a.console
}

// watchShown sends readers of a console away that is not shown, so that they come back to the one
// that is. It looks for them again and again: one may be let in long after he has asked.
func (a *App) watchShown(ctx context.Context) error {
	tick := time.NewTicker(switchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		shown := a.shown()
		for _, console := range append(a.runs.consoles(), a.console) {
			if console != shown {
				console.Disconnect()
			}
		}
	}
}

// served is the console that answers a request. The Lease is looked at by each process itself.
func (a *App) served(r *http.Request) *web.Server {
	if lease := "/" + strings.TrimPrefix(decision.PathOf(leadership.Loop.Name), "/"); r.URL.Path == lease || strings.HasPrefix(r.URL.Path, lease+"/") {
		return a.console
	}
	return a.shown()
}

// handler answers with the console that is shown.
func (a *App) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.served(r).Handler().ServeHTTP(w, r) })
}

// named is handler where others than this machine ask.
func (a *App) named(named func(host string) bool, viewer func(*http.Request) web.Viewer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.served(r).Named(named, viewer).ServeHTTP(w, r) })
}
