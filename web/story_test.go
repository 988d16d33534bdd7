package web

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// storyNow is the moment at which the fixed pages of the tests are read; the
// goldens of the loops decide a few seconds before it.
var storyNow = time.Date(2026, 11, 21, 3, 13, 4, 0, time.UTC)

// world is a journal filled by the real loops' own decisions on a model cluster.
type world struct {
	t       testing.TB
	journal *telemetry.Journal
	now     time.Time
	rv      int
}

func newWorld(t testing.TB, at time.Time) *world {
	t.Helper()
	w := &world{t: t, now: at, rv: 480000}
	w.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41", Clock: func() time.Time { return at }})
	return w
}

// server is a console over the world, with its clock.
func (w *world) server(change func(*Options)) *Server {
	w.t.Helper()
	o := Options{Journal: w.journal, Rules: writtenRules(w.t), Loops: w.loops,
		Cluster: "dev-1", Version: "v0.1.0", Mode: "act", Started: w.began(), Now: func() time.Time { return storyNow },
		Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// serve is the console behind a real listener.
func (w *world) serve(change func(*Options)) (*Server, *httptest.Server) {
	w.t.Helper()
	s := w.server(change)
	h := httptest.NewUnstartedServer(s.Handler())
	h.Config = HTTPServer(s.Handler(), nil)
	h.Start()
	w.t.Cleanup(h.Close)
	w.t.Cleanup(func() { _ = s.Shutdown(w.t.Context()) })
	return s, h
}

func (w *world) began() time.Time { _, since, _ := w.journal.Window(); return since }

// loops are two queues with a key of every kind in them.
func (w *world) loops() []telemetry.LoopState {
	now := storyNow
	caches := []telemetry.CacheState{{Resource: "deployments", Synced: true, Objects: new(104), RV: "482337", Handled: "482330", Event: now.Add(-3 * time.Second)}, {Resource: "replicasets", Synced: true, Objects: new(310), RV: "482345"},
		{Resource: "pods", Synced: false, Objects: new(872)}}
	return []telemetry.LoopState{
		{Name: "deployment", Mode: "act", Running: true, Lag: 12 * time.Millisecond, Caches: caches[:2],
			Echoes: []telemetry.EchoState{{Object: "Deployment auth/tokens", Written: "482340", Cached: "482337", Since: now.Add(-400 * time.Millisecond), Check: now.Add(600 * time.Millisecond)}},
			Queue: telemetry.QueueState{Name: "deployment", Workers: 5, Busy: 2, Ready: 1, Waiting: 3, Dirty: 1, Adds: 12113, Errors: 31, Timers: 402, Keys: []telemetry.KeyState{
				{Key: "catalog/images", Phase: telemetry.KeyDirty, Since: now.Add(-9 * time.Millisecond), Causes: []telemetry.Cause{{Kind: telemetry.CauseModified, Object: "ReplicaSet images-5f4bd6c97d", NewRV: "482350"}}},
				{Key: "checkout/cart", Phase: telemetry.KeyProcessing, Since: now.Add(-210 * time.Millisecond)},
				{Key: "search/query", Phase: telemetry.KeyReady, Since: now.Add(-8 * time.Millisecond), Causes: []telemetry.Cause{
					{Kind: telemetry.CauseModified, Object: "ReplicaSet query-7b94c8d6f5", NewRV: "482344"}, {Kind: telemetry.CauseModified, Object: "ReplicaSet query-6f5d8c9b74", NewRV: "482345"}}},
				{Key: "auth/tokens", Phase: telemetry.KeyWaiting, Code: "echo", Since: now.Add(-400 * time.Millisecond), Due: now.Add(600 * time.Millisecond)},
				{Key: "data/create-refused", Phase: telemetry.KeyWaiting, Code: "back-off", Attempts: 12, Backoff: 20480 * time.Millisecond, Since: now.Add(-12 * time.Second), Due: now.Add(8 * time.Second),
					Spent: telemetry.Spent{Waiting: 32 * time.Second, Ready: 40 * time.Millisecond, Processing: 2 * time.Second}},
				{Key: "shop/web", Phase: telemetry.KeyWaiting, Code: "deadline", Since: now.Add(-4 * time.Minute), Due: now.Add(31 * time.Second)},
			}}},
		{Name: "replicaset", Mode: "act", Running: true, Caches: caches[2:],
			Expectations: []telemetry.ExpectationState{{Key: "checkout/cart-6f5d8c9b74", Creates: 5, Since: now.Add(-200 * time.Millisecond), Expires: now.Add(5 * time.Minute)}},
			Queue: telemetry.QueueState{Name: "replicaset", Workers: 5, Busy: 0, Waiting: 1, Adds: 9107, Errors: 17, Timers: 88, Keys: []telemetry.KeyState{
				{Key: "orders/worker-6b8d9f7c54", Phase: telemetry.KeyWaiting, Code: "back-off", Attempts: 16, Backoff: 328 * time.Second, Due: now.Add(293 * time.Second), Since: now.Add(-35 * time.Second)}}}},
	}
}

func (w *world) nextRV() string { w.rv++; return fmt.Sprint(w.rv) }

// namespaces give the goldens a place; which is a matter of looks alone.
var namespaces = []string{"auth", "catalog", "checkout", "data", "docs", "edge", "mail", "media", "orders", "payments", "search", "shop"}

// testLoops are those of the program.
var testLoops = decision.Loops{deployment.Loop, replicaset.Loop, replicaset.ControllerLoop, rollingupdate.Loop}

// goldens records what every golden of the loops decides, each as an object
// of its own: no page of the console is tested with a situation that cannot be.
func (w *world) goldens() {
	w.t.Helper()
	for i, file := range goldenFiles(w.t, "deployment") {
		w.golden("deployment", file, namespaces[i*7%len(namespaces)])
	}
	for i, file := range goldenFiles(w.t, "replicaset") {
		loop := "replicaset"
		if strings.HasPrefix(filepath.Base(file), "replicationcontroller") {
			loop = "replicationcontroller"
		}
		w.golden(loop, file, namespaces[i*5%len(namespaces)])
	}
	for _, file := range goldenFiles(w.t, "rollingupdate") {
		w.goldenUpdate(file)
	}
}

// goldenUpdate is one of a rolling update, in a namespace of its own: the objects of an update
// name each other.
func (w *world) goldenUpdate(file string) *telemetry.Trace {
	return w.goldenUpdateOf(file, "update-"+strings.TrimSuffix(filepath.Base(file), ".txtar"), 0)
}

// goldenUpdateOf is the same in that namespace, and so much later.
func (w *world) goldenUpdateOf(file, namespace string, later time.Duration) *telemetry.Trace {
	w.t.Helper()
	s := readScript(w.t, file)
	snap, err := rollingupdate.Decode(s.snapshot)
	if err != nil {
		w.t.Fatalf("%s: %v", file, err)
	}
	snap.Namespace, snap.Now = namespace, snap.Now.Add(later)
	t := w.trace("rollingupdate", snap.Namespace, snap.Name, snap.Now, snap)
	t.Try = s.try
	if snap.Old != nil {
		t.UID = snap.Old.UID
	}
	w.journal.Record(w.run(t, snap.Begin(), s))
	return t
}

func goldenFiles(t testing.TB, loop string) []string {
	t.Helper()
	files, err := filepath.Glob("../controllers/" + loop + "/testdata/golden/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d goldens of %s (%v): the pages are tested with them", len(files), loop, err)
	}
	return files
}

type script struct {
	snapshot []byte
	rounds   []struct {
		Outcomes []decision.Outcome `json:"outcomes"`
		Learnt   decision.Learnt    `json:"learnt"`
	}
	publish *decision.Outcome
	try     decision.Try
}

func readScript(t testing.TB, file string) script {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s script
	read := map[string]any{"rounds.json": &s.rounds, "publish.json": &s.publish, "try.json": &s.try}
	for _, f := range a.Files {
		if f.Name == "snapshot.json" {
			s.snapshot = f.Data
		}
		if into := read[f.Name]; into != nil {
			if err := json.Unmarshal(f.Data, into); err != nil {
				t.Fatalf("%s %s: %v", file, f.Name, err)
			}
		}
	}
	return s
}

func (w *world) golden(loop, file, namespace string) *telemetry.Trace {
	w.t.Helper()
	name := strings.TrimSuffix(filepath.Base(file), ".txtar")
	s := readScript(w.t, file)
	var trace *telemetry.Trace
	if loop == "deployment" {
		snap, err := deployment.Decode(s.snapshot)
		if err != nil {
			w.t.Fatalf("%s: %v", file, err)
		}
		snap.Namespace, snap.Name = namespace, name
		trace = w.decideDeployment(snap, s)
	} else {
		snap, err := replicaset.Decode(s.snapshot)
		if err != nil {
			w.t.Fatalf("%s: %v", file, err)
		}
		snap.Namespace, snap.Name = namespace, name
		trace = w.decideReplicaSet(snap, s)
		trace.Loop = loop
	}
	trace.Causes = []telemetry.Cause{{Kind: telemetry.CauseModified, At: trace.Queued, Object: testLoops.Kind(loop) + " " + name, OldRV: "480584", NewRV: "480682",
		Manager: "kubectl", Fields: []decision.Change{{Field: "spec.replicas", From: "8", To: "10"}}}}
	w.journal.Record(trace)
	return trace
}

// decideDeployment runs a whole sync: decide, act as the script says, settle, tell.
func (w *world) decideDeployment(snap *deployment.Snapshot, s script) *telemetry.Trace {
	w.t.Helper()
	t := w.trace("deployment", snap.Namespace, snap.Name, snap.Now, snap)
	t.UID, t.Try, t.Gone = snap.UID, s.try, !snap.Found
	return w.run(t, deployment.NewSync(snap), s)
}

func (w *world) decideReplicaSet(snap *replicaset.Snapshot, s script) *telemetry.Trace {
	w.t.Helper()
	t := w.trace("replicaset", snap.Namespace, snap.Name, snap.Now, snap)
	t.UID, t.Try, t.Owner, t.Gone = snap.UID, s.try, snap.Owner, !snap.Found
	return w.run(t, replicaset.NewSync(snap), s)
}

func (w *world) run(t *telemetry.Trace, core decision.Core, s script) *telemetry.Trace {
	x, round := decision.Sync{Core: core}, 0
	x.Run(func(v decision.Verdict) ([]decision.Outcome, decision.Learnt) {
		round++
		return w.act(v, s, round)
	})
	t.Rounds = x.Rounds
	if x.Report != nil {
		w.settle(t, x.Report, s)
	}
	told := x.Tell(s.try, t.Started)
	t.Numbers, t.Sentence, t.Diagnosis = told.Numbers, told.Sentence, told.Diagnosis
	return w.finish(t)
}

func (w *world) trace(loop, namespace, name string, at time.Time, snapshot decision.Snapshot) *telemetry.Trace {
	w.t.Helper()
	packed, err := telemetry.SnapshotOf(snapshot) // as the loops do
	if err != nil {
		w.t.Fatal(err)
	}
	return &telemetry.Trace{Object: telemetry.Object{Loop: loop, Namespace: namespace, Name: name}, Worker: 3, Snapshot: packed,
		Queued: at.Add(-3 * time.Millisecond), Started: at, Ended: at.Add(18 * time.Millisecond),
		Phases: telemetry.Phases{Observe: 600 * time.Microsecond, Decide: 100 * time.Microsecond, Settle: 100 * time.Microsecond}}
}

// act lets every action succeed, unless the script says otherwise.
func (w *world) act(v decision.Verdict, s script, round int) (list []decision.Outcome, _ decision.Learnt) {
	if round <= len(s.rounds) {
		return s.rounds[round-1].Outcomes, s.rounds[round-1].Learnt
	}
	for _, a := range v.Actions {
		o := decision.Outcome{State: decision.Written, Took: 9 * time.Millisecond, Done: a.Count}
		if a.Count == 0 {
			o.RV = w.nextRV()
		}
		list = append(list, o)
	}
	return list, decision.Learnt{}
}

func (w *world) settle(t *telemetry.Trace, r *decision.Report, s script) {
	t.Report = r
	switch {
	case s.publish != nil:
		r.Outcome = s.publish
	case r.Publish:
		r.Outcome = &decision.Outcome{State: decision.Written, RV: w.nextRV(), Took: 8 * time.Millisecond}
		t.Phases.Publish = 8200 * time.Microsecond
	}
	t.Timers = append(t.Timers, r.Timers...)
}

// finish sums up, as the shell does.
func (w *world) finish(t *telemetry.Trace) *telemetry.Trace {
	last := t.Rounds[len(t.Rounds)-1]
	t.Timers = append(t.Timers, last.Verdict.Timers...)
	t.Result = telemetry.ResultUnchanged
	for _, r := range t.Rounds {
		if len(r.Outcomes) > 0 {
			t.Phases.Act = 9100 * time.Microsecond
		}
	}
	if t.Wrote() {
		t.Result = telemetry.ResultWrote
	}
	if f := last.Failed(); f != nil {
		t.Result, t.Failure = telemetry.ResultFailed, f.Failure
		if f.State == decision.Conflicted {
			t.Result = telemetry.ResultStale
		}
	}
	if last.Verdict.Stop && t.Result == telemetry.ResultUnchanged && t.Leaf() == "L-1" {
		t.Result = telemetry.ResultWaiting
	}
	if last.Verdict.Invalid != "" {
		t.Result, t.Failure = telemetry.ResultFailed, &decision.Failure{Reason: "Invalid", Message: last.Verdict.Invalid, Terminal: true}
	}
	if t.Try.Dropped {
		t.Result = telemetry.ResultDropped
	}
	return t
}

// catalogues are the questions of all loops.
func catalogues(loops decision.Loops) (list []decision.Catalogue) {
	for _, l := range loops {
		list = append(list, l.Catalogue)
	}
	return list
}
