package e2e_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// rolled is one rollout as it was seen from three sides: the page in Chromium,
// the stream of traces, and the audit log.
type rolled struct {
	browser context.Context
	url     string
	shots   []shot
	traces  map[uint64]*telemetry.Trace
	audit   []request
}

// watchRollout follows the page of a rolling Deployment in Chromium.
func watchRollout(t *testing.T, w wanted) rolled {
	t.Helper()
	plane := ownPlane(t)
	client := clientOf(t, plane.Plane)
	namespace := newNamespace(t, client, "page")
	create(t, client, namespace, w)
	waitQuiet(t, client, namespace, w.name)

	traces := followTraces(t, plane.Dashboard)
	ctx := browser(t)
	url := plane.Dashboard + "/deployments/" + namespace + "/" + w.name
	open(t, ctx, url)
	evaluate[bool](t, ctx, follow)
	setImage(t, client, namespace, w.name, "shop:v2")
	waitQuiet(t, client, namespace, w.name)
	// The sync of the last write's echo may be on its way still. What is compared
	// with the page are the traces that it was waited for to show.
	ended := traces.of(t, telemetry.Object{Loop: "deployment", Namespace: namespace, Name: w.name})
	holds(t, ctx, 10*time.Second, fmt.Sprintf("document.querySelector('#f-step b').textContent.replace(/\\D/g, '') >= %d", newest(ended)))
	return rolled{
		browser: ctx, url: url,
		shots: evaluate[[]shot](t, ctx, "shots"), traces: ended,
		audit: of(of(readAudit(t, plane.AuditPath), inNamespace(namespace)), (*request).ours),
	}
}

func newest(traces map[uint64]*telemetry.Trace) uint64 {
	var most uint64
	for seq := range traces {
		most = max(most, seq)
	}
	return most
}

// TestPathEqualsAuditLog reads a rolling Deployment's page in Chromium, live and
// then sync by sync: what it says of a sync that wrote a ReplicaSet is what the
// audit log says, and every number in its sentences is a fact of that sync's trace.
func TestPathEqualsAuditLog(t *testing.T) {
	r := watchRollout(t, oneByOne("live", 5, 1500*time.Millisecond))
	live := r.lastShots()
	sentences, liveWrites := 0, 0
	for _, s := range live {
		if trace := r.traces[s.Seq]; trace != nil { // nil: of before the rollout
			sentences++
			checkNumbers(t, s, trace)
			liveWrites += r.checkWrites(t, s)
		}
	}
	writes := 0
	for seq, trace := range r.traces {
		facts := factsOf(trace)
		for _, stray := range append(trace.Sentence.Lead.Strays(facts), trace.Sentence.Then.Strays(facts)...) {
			t.Errorf("sync %d: %q in its sentence is no fact of its trace", seq, stray)
		}
		if wroteReplicaSet(trace) {
			open(t, r.browser, fmt.Sprintf("%s?sync=%d&epoch=%s", r.url, seq, trace.Epoch))
			writes += r.checkWrites(t, seen(t, r.browser))
		}
	}
	t.Logf("%d syncs of the rollout; compared: %d sentences and %d writes of ReplicaSets while it was live, %d writes sync by sync",
		len(r.traces), sentences, liveWrites, writes)
	if writes < 10 || sentences < 5 {
		t.Error("a rollout of 5 pods one by one takes 10 writes of sizes at least, and more than 5 sentences")
	}
}

func factsOf(trace *telemetry.Trace) []decision.Fact {
	return decision.Facts(trace.Rounds, trace.Report, append(trace.Try.Facts(), trace.Numbers...)...)
}

func wroteReplicaSet(trace *telemetry.Trace) bool {
	for _, round := range trace.Rounds {
		if slices.ContainsFunc(round.Outcomes, func(o decision.Outcome) bool { return o.State == decision.Written }) {
			return true
		}
	}
	return false
}

// checkWrites compares all writes of the sync on the page, and counts them.
func (r *rolled) checkWrites(t *testing.T, s shot) int {
	t.Helper()
	writes := 0
	trace := r.traces[s.Seq]
	if trace == nil {
		t.Errorf("the page shows sync %d, of which there is no trace", s.Seq)
		return 0
	}
	for i := range trace.Rounds {
		for j, outcome := range trace.Rounds[i].Outcomes {
			if outcome.State == decision.Written {
				writes++
				checkWrite(t, s, &trace.Rounds[i], j, r.audit)
			}
		}
	}
	return writes
}

// lastShots is, for every sync that was on the page, how it stood there before
// the next one came.
func (r *rolled) lastShots() []shot {
	var last []shot
	for i, s := range r.shots {
		if i+1 == len(r.shots) || r.shots[i+1].Seq != s.Seq {
			last = append(last, s)
		}
	}
	return last
}

// checkWrite compares one write: the page's words and path with the trace's
// action, and both with the audit log's entry of that resourceVersion.
func checkWrite(t *testing.T, s shot, round *decision.Round, i int, audit []request) {
	t.Helper()
	action, outcome := round.Verdict.Actions[i], round.Outcomes[i]
	if !slices.Contains(s.RVs, outcome.RV) {
		t.Errorf("sync %d wrote rv %s, the page shows %v: %s", s.Seq, outcome.RV, s.RVs, s.Wrote)
		return
	}
	at := slices.IndexFunc(audit, func(r request) bool {
		return r.ObjectRef.Resource == "replicasets" && r.write() && r.ResponseObject.Metadata.ResourceVersion == outcome.RV
	})
	if at < 0 {
		t.Errorf("sync %d: no write of rv %s is in the audit log", s.Seq, outcome.RV)
		return
	}
	entry := audit[at].ResponseObject
	if !strings.Contains(s.Wrote, entry.Metadata.Name) {
		t.Errorf("sync %d: the audit log says that rv %s is of %s, the page says %s", s.Seq, outcome.RV, entry.Metadata.Name, s.Wrote)
	}
	if action.Size != nil {
		size := *entry.Spec.Replicas
		if size != action.Size.To || !strings.Contains(s.Wrote, strconv.FormatInt(size, 10)) {
			t.Errorf("sync %d: rv %s has size %d in the audit log, the trace says %d, the page says %s", s.Seq, outcome.RV, size, action.Size.To, s.Wrote)
		}
	}
	leaf := round.Verdict.Leaf()
	shown := slices.IndexFunc(s.Path, func(step [2]string) bool { return step[0] == leaf })
	if shown < 0 {
		t.Errorf("sync %d: its last question %s is not lit in the page's path %v", s.Seq, leaf, s.Path)
		return
	}
	if want := round.Verdict.Path.Last().Answer; s.Path[shown][1] != want {
		t.Errorf("sync %d: the page answers %s with %q, the trace with %q", s.Seq, leaf, s.Path[shown][1], want)
	}
}

// checkNumbers holds what stands on the page, as text, to the trace's facts.
func checkNumbers(t *testing.T, s shot, trace *telemetry.Trace) {
	t.Helper()
	for _, text := range s.Numbers {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(factsOf(trace), func(f decision.Fact) bool { v, count := f.Value.Int(); return count && v == n }) {
			t.Errorf("sync %d: %d on the page is no fact of the trace: %s %s", s.Seq, n, s.Headline, s.Then)
		}
	}
}

// TestSyncReachesThePage measures from the end of a sync to its appearance in
// the DOM, on a page that nobody reloads.
func TestSyncReachesThePage(t *testing.T) {
	r := watchRollout(t, oneByOne("fast", 12, 500*time.Millisecond))
	var own, any []float64
	for seq, trace := range r.traces {
		ended := float64(trace.Ended.UnixMicro()) / 1000
		first := math.Inf(1)
		for _, s := range r.shots {
			if s.Seq >= seq && s.At < first {
				first = s.At
				if s.Seq == seq {
					own = append(own, s.At-ended)
				}
			}
		}
		if math.IsInf(first, 1) {
			t.Errorf("sync %d never reached the page", seq)
			continue
		}
		any = append(any, first-ended)
	}
	slices.Sort(own)
	slices.Sort(any)
	t.Logf("from the end of a sync to the DOM, itself or a newer one: median %.1f ms, p95 %.1f ms, slowest %.1f ms, of %d syncs",
		quantile(any, 0.5), quantile(any, 0.95), any[len(any)-1], len(any))
	t.Logf("those that were shown themselves: median %.1f ms, p95 %.1f ms, of %d", quantile(own, 0.5), quantile(own, 0.95), len(own))
	if len(any) < 30 || len(own) < 10 {
		t.Errorf("%d syncs were measured, %d of them shown themselves; want 30 and 10 at least", len(any), len(own))
	}
	// The goal is 100 ms, and the figure to quote is printed above. A busy machine
	// may miss it; what misses this bound is a broken stream.
	if median := quantile(any, 0.5); median >= 1000 {
		t.Errorf("the median is %.1f ms; the goal is 100 ms, and a second is no longer live", median)
	}
}

// quantile of sorted values; 0 of none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// TestStuckPageSaysWhy reads the demo's stuck Deployment in Chromium: the first
// sentence says which pods and which reason, the second what would unblock it.
func TestStuckPageSaysWhy(t *testing.T) {
	plane := ownPlane(t)
	ctx := browser(t)
	open(t, ctx, plane.Dashboard+"/deployments/demo/stuck")
	holds(t, ctx, time.Minute, `/404/.test(document.querySelector('#f-head h1').textContent)`)
	s := seen(t, ctx)
	t.Logf("%s %s", s.Headline, s.Then)
	for what, want := range map[string]string{
		"the Deployment": `^demo/stuck is waiting: `,
		"which pods":     `\b(\d+|one) new pods?\b|\bstuck-[0-9a-z]+-[0-9a-z]{5}\b`,
		"which reason":   `ErrImagePull|ImagePullBackOff|cannot pull nginx:404`,
		"what it costs":  `\b3 old pods stay\b`,
	} {
		if !regexp.MustCompile(want).MatchString(s.Headline) {
			t.Errorf("the first sentence does not say %s (%s): %s", what, want, s.Headline)
		}
	}
	if !regexp.MustCompile(`(?i)^needs action: unblocks when \S`).MatchString(s.Then) {
		t.Errorf("the second sentence does not say what would unblock it: %q", s.Then)
	}
}

func seen(t *testing.T, ctx context.Context) shot {
	t.Helper()
	return evaluate[shot](t, ctx, look)
}
