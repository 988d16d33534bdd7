package history

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// generator makes syncs that are all different: situations of the goldens, of
// other objects, at other times and with other numbers, decided and settled by
// the loops' own code.
type generator struct {
	rng        *rand.Rand
	situations []situation
	names      int
	now        time.Time
	rv         int64
	seq        uint64
	epoch      string
}

func newGenerator(t testing.TB, seed uint64, names int) *generator {
	return &generator{
		rng: rand.New(rand.NewPCG(seed, 1)), situations: situations(t), names: names,
		now: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), rv: 40_000_000, epoch: "7c41a9f2",
	}
}

var (
	words  = []string{"cart", "checkout", "search", "login", "orders", "mail", "stock", "prices", "images", "reports"}
	causes = []telemetry.CauseKind{
		telemetry.CauseModified, telemetry.CauseModified, telemetry.CauseModified, telemetry.CauseAdded, telemetry.CauseDeleted, telemetry.CauseTombstone,
		telemetry.CauseResync, telemetry.CauseBackoff, telemetry.CauseTimer, telemetry.CausePodReason, telemetry.CauseStart,
	}
)

// next is one more sync, a few milliseconds after the one before.
func (g *generator) next() *telemetry.Trace {
	for {
		g.seq++
		g.rv += 1 + g.rng.Int64N(9)
		g.now = g.now.Add(time.Duration(g.rng.Int64N(int64(10 * time.Millisecond))))
		if t := g.try(&g.situations[g.rng.IntN(len(g.situations))], g.rng.IntN(g.names)); t != nil {
			return t
		}
		g.seq--
	}
}

// try is nil where changed numbers make a sync that cannot be, such as one
// without an outcome for each action.
func (g *generator) try(s *situation, object int) *telemetry.Trace {
	namespace, name := fmt.Sprintf("team-%02d", object%100), fmt.Sprintf("%s-%d", words[object%len(words)], object)
	shift := g.now.Sub(s.now)
	replace := func(p piece) string {
		switch p.kind {
		case "time":
			if at, err := time.Parse(time.RFC3339Nano, p.part); err == nil {
				return at.Add(shift).Format(time.RFC3339Nano)
			}
		case "uid":
			return uid(name, p.part)
		case "rv":
			n, _ := strconv.ParseInt(p.part, 10, 64)
			return strconv.FormatInt(g.rv+n%1000, 10)
		case "name":
			return name
		case "hash":
			return mangle(name, p.part)
		}
		return p.part
	}
	var in inputs
	for i, into := range []any{nil, &in.rounds, &in.publish, &in.try} {
		if into != nil && s.present[i] && json.Unmarshal([]byte(s.text(i, replace)), into) != nil {
			return nil
		}
	}
	in.snapshot = []byte(strings.Replace(s.text(0, replace), `"shop"`, `"`+namespace+`"`, 1))
	t := &telemetry.Trace{Version: telemetry.TraceVersion, Epoch: g.epoch, Seq: g.seq, Worker: g.rng.IntN(5), Object: telemetry.Object{Loop: s.loop}, Try: in.try}
	g.times(t)
	if s.loop == "deployment" {
		return g.deployment(t, &in)
	}
	return g.replicaSet(t, &in)
}

// inputs is what a golden gives a sync.
type inputs struct {
	snapshot []byte
	rounds   []struct {
		Outcomes []decision.Outcome `json:"outcomes"`
		Learnt   decision.Learnt    `json:"learnt"`
	}
	publish *decision.Outcome
	try     decision.Try
}

func uid(name, part string) string {
	h := fnv.New128a()
	fmt.Fprint(h, name, part)
	sum := h.Sum(nil)
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:])
}

// mangle makes another hash of the same length from one.
func mangle(name, part string) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	h := fnv.New64a()
	fmt.Fprint(h, name, part)
	sum, b := h.Sum64(), make([]byte, len(part))
	for i := range b {
		b[i] = letters[sum%uint64(len(letters))]
		sum /= uint64(len(letters))
	}
	return string(b)
}

func (g *generator) times(t *telemetry.Trace) {
	upTo := func(d time.Duration) time.Duration { return time.Duration(g.rng.Int64N(int64(d))) }
	t.Queued = g.now
	t.Started = t.Queued.Add(upTo(3 * time.Millisecond))
	t.Phases = telemetry.Phases{Observe: upTo(100 * time.Microsecond), Decide: upTo(50 * time.Microsecond), Act: upTo(20 * time.Millisecond), Settle: upTo(20 * time.Microsecond), Publish: upTo(20 * time.Millisecond)}
	if g.rng.IntN(50) == 0 {
		t.Phases.Act += time.Second + upTo(time.Second)
	}
	p := t.Phases
	t.Ended = t.Started.Add(p.Observe + p.Decide + p.Act + p.Settle + p.Publish)
}

// jitter changes some numbers, so that other branches are taken and no two paths
// need be alike.
func (g *generator) jitter(numbers ...*int64) {
	for _, n := range numbers {
		if g.rng.IntN(6) == 0 {
			*n = max(0, *n+g.rng.Int64N(5)-2)
		}
	}
}

func (g *generator) deployment(t *telemetry.Trace, in *inputs) *telemetry.Trace {
	first, err := deployment.Decode(in.snapshot)
	if err != nil {
		return nil
	}
	first.Now = t.Started
	g.jitter(&first.Want, &first.Status.Ready, &first.Status.Available, &first.Status.Replicas)
	for i := range first.ReplicaSets {
		rs := &first.ReplicaSets[i]
		g.jitter(&rs.Replicas, &rs.StatusReplicas, &rs.Ready, &rs.Available)
	}
	t.Namespace, t.Name, t.UID, t.Gone = first.Namespace, first.Name, first.UID, !first.Found
	g.sync(t, in, deployment.NewSync(first), first.Now)
	t.Snapshot, _ = telemetry.SnapshotOf(first)
	return t
}

func (g *generator) replicaSet(t *telemetry.Trace, in *inputs) *telemetry.Trace {
	first, err := replicaset.Decode(in.snapshot)
	if err != nil {
		return nil
	}
	first.Now = t.Started
	if first.Kind == "ReplicationController" {
		t.Loop = "replicationcontroller"
	}
	g.jitter(&first.Want, &first.Status.Ready, &first.Status.Available, &first.Status.Replicas)
	t.Namespace, t.Name, t.UID, t.Gone, t.Owner = first.Namespace, first.Name, first.UID, !first.Found, first.Owner
	g.sync(t, in, replicaset.NewSync(first), first.Now)
	t.Snapshot, _ = telemetry.SnapshotOf(first)
	return t
}

// sync runs a sync, with the golden's outcomes where they fit and drawn ones
// where another number has led elsewhere.
func (g *generator) sync(t *telemetry.Trace, in *inputs, core decision.Core, now time.Time) {
	s, round := decision.Sync{Core: core}, 0
	s.Run(func(v decision.Verdict) (list []decision.Outcome, _ decision.Learnt) {
		round++
		t.Timers = append(t.Timers, v.Timers...)
		if round <= len(in.rounds) && len(in.rounds[round-1].Outcomes) == len(v.Actions) {
			return in.rounds[round-1].Outcomes, in.rounds[round-1].Learnt
		}
		for _, a := range v.Actions {
			list = append(list, g.outcome(a.Target.Name))
		}
		return list, decision.Learnt{}
	})
	t.Rounds, t.Report = s.Rounds, s.Report
	g.end(t, in)
	told := s.Tell(t.Try, now)
	t.Numbers, t.Sentence = told.Numbers, told.Sentence
}

func (g *generator) outcome(name string) decision.Outcome {
	failure := func(code int, reason, format string) *decision.Failure {
		return &decision.Failure{Code: code, Reason: reason, Message: fmt.Sprintf(format, name, g.rv)}
	}
	switch g.rng.IntN(40) {
	case 0:
		return decision.Outcome{State: decision.Conflicted, Failure: failure(409, "Conflict", "Operation cannot be fulfilled on %q: the object has been modified (%d); please apply your changes to the latest version and try again")}
	case 1:
		return decision.Outcome{State: decision.Refused, Failure: failure(403, "Forbidden", "pods %q is forbidden: exceeded quota: team-quota, requested: pods=1, used: pods=%d, limited: pods=40")}
	case 2:
		return decision.Outcome{State: decision.Unknown, Failure: failure(0, "", "put %s (%d): context deadline exceeded while awaiting headers")}
	case 3:
		return decision.Outcome{State: decision.Superseded}
	}
	return decision.Outcome{State: decision.Written, RV: strconv.FormatInt(g.rv, 10), Took: time.Duration(g.rng.Int64N(int64(5 * time.Millisecond)))}
}

// end publishes, and says how the sync ended and what had caused it.
func (g *generator) end(t *telemetry.Trace, in *inputs) {
	if t.Report != nil {
		t.Timers = append(t.Timers, t.Report.Timers...)
		if t.Report.Publish {
			if t.Report.Outcome = in.publish; in.publish == nil {
				o := g.outcome(t.Name)
				t.Report.Outcome = &o
			}
		}
	}
	t.Result = telemetry.ResultUnchanged
	for _, o := range outcomes(t) {
		if is, ok := map[decision.State]telemetry.Result{
			decision.Written: telemetry.ResultWrote, decision.Superseded: telemetry.ResultSuperseded, decision.Conflicted: telemetry.ResultStale,
			decision.Unknown: telemetry.ResultUnknown, decision.Refused: telemetry.ResultFailed, decision.Partly: telemetry.ResultFailed,
		}[o.State]; ok {
			t.Result = is
		}
		if t.Failure == nil && !o.OK() {
			t.Failure = o.Failure
		}
	}
	if t.Try.Dropped {
		t.Result = telemetry.ResultDropped
	} else if t.Rounds[0].Verdict.Stop && t.Result == telemetry.ResultUnchanged && !t.Gone {
		t.Result = telemetry.ResultWaiting
	}
	for range 1 + g.rng.IntN(3) {
		rv := g.rv - g.rng.Int64N(50)
		t.Causes = append(t.Causes, telemetry.Cause{
			Kind: causes[g.rng.IntN(len(causes))], At: t.Queued.Add(-time.Duration(g.rng.Int64N(int64(time.Second)))),
			Object: "ReplicaSet " + t.Name + "-" + mangle(t.Name, "7d4b9c6f5x"), OldRV: strconv.FormatInt(rv-7, 10), NewRV: strconv.FormatInt(rv, 10),
			Fields: []decision.Change{{Field: "status.readyReplicas", From: strconv.Itoa(g.rng.IntN(10)), To: strconv.Itoa(g.rng.IntN(10))}},
		})
	}
}

func outcomes(t *telemetry.Trace) (all []decision.Outcome) {
	for _, r := range t.Rounds {
		all = append(all, r.Outcomes...)
	}
	if t.Report != nil && t.Report.Outcome != nil {
		all = append(all, *t.Report.Outcome)
	}
	return all
}

func (g *generator) many(n int) []*telemetry.Trace {
	list := make([]*telemetry.Trace, n)
	for i := range list {
		list[i] = g.next()
	}
	return list
}

// TestGeneratorReachesEverything keeps the benchmark honest: every loop, leaf and
// answer of the catalogues, every result but the panic, and no two syncs alike.
func TestGeneratorReachesEverything(t *testing.T) {
	longUnderRace(t)
	seen, bodies := map[string]bool{}, map[string]bool{}
	leaves := map[string]bool{}
	for _, trace := range newGenerator(t, 1, 10_000).many(5000) {
		seen[trace.Loop], seen[string(trace.Result)] = true, true
		leaves[trace.Loop+" "+trace.Leaf()] = true
		for _, step := range trace.Path() {
			for _, c := range []decision.Catalogue{deployment.Catalogue, replicaset.Catalogue} {
				if q, ok := c.Find(step.Question); ok {
					a, _ := q.Answer(step.Answer)
					seen[q.ID+" "+a.Is] = true
				}
			}
		}
		bodies[text(t, trace.Snapshot)] = true
	}
	if len(bodies) != 5000 {
		t.Errorf("%d different snapshots in 5000 syncs", len(bodies))
	}
	want := []string{"deployment", "replicaset", "replicationcontroller"}
	for _, r := range telemetry.Results {
		if r != telemetry.ResultPanicked {
			want = append(want, string(r))
		}
	}
	// What the goldens excuse is asked where the answer is known already.
	excused := []string{"RR-1.namespace no", "RR-3b 0", "RS-6.parent yes", "RS-8.namespace yes"}
	for _, c := range []decision.Catalogue{deployment.Catalogue, replicaset.Catalogue} {
		for _, q := range c.Questions {
			for _, a := range q.Answers {
				if key := q.ID + " " + a.Is; !slices.Contains(excused, key) {
					want = append(want, key)
				}
			}
		}
	}
	for _, w := range want {
		if !seen[w] {
			t.Errorf("no sync has %s", w)
		}
	}
	t.Logf("%d leaves, %d answers", len(leaves), len(seen))
}

// longUnderRace leaves a test out of short runs, as those under the race detector are:
// it works in one goroutine, where the detector finds nothing and takes ten times as long.
func longUnderRace(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("works in one goroutine and takes seconds under the race detector")
	}
}
