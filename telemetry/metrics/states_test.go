package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// noObjects are the series that exist without any.
const noObjects = `
# HELP loopscope_objects Objects by the tone and the code of the sentence that is said of them.
# TYPE loopscope_objects gauge
loopscope_objects{code="",controller="deployment",tone="failed"} 0
loopscope_objects{code="",controller="deployment",tone="moving"} 0
loopscope_objects{code="",controller="deployment",tone="neutral"} 0
loopscope_objects{code="",controller="deployment",tone="ok"} 0
loopscope_objects{code="",controller="deployment",tone="waiting"} 0
loopscope_objects{code="",controller="replicaset",tone="failed"} 0
loopscope_objects{code="",controller="replicaset",tone="moving"} 0
loopscope_objects{code="",controller="replicaset",tone="neutral"} 0
loopscope_objects{code="",controller="replicaset",tone="ok"} 0
loopscope_objects{code="",controller="replicaset",tone="waiting"} 0
loopscope_objects{code="",controller="replicationcontroller",tone="failed"} 0
loopscope_objects{code="",controller="replicationcontroller",tone="moving"} 0
loopscope_objects{code="",controller="replicationcontroller",tone="neutral"} 0
loopscope_objects{code="",controller="replicationcontroller",tone="ok"} 0
loopscope_objects{code="",controller="replicationcontroller",tone="waiting"} 0
`

func TestObjectsByToneAndReason(t *testing.T) {
	m, reg := newMetrics(t)
	j := telemetry.NewJournal(telemetry.JournalOptions{})
	m.States(Sources{
		Journal: j, Waits: func() []telemetry.LoopState { return nil },
		Server: func() telemetry.ServerState { return telemetry.ServerState{Reachable: true} }, Now: func() time.Time { return noon },
	})
	said := func(loop, name, owner string, tone decision.Tone, code string, ago time.Duration, try decision.Try) {
		j.Record(&telemetry.Trace{
			Object: telemetry.Object{Loop: loop, Namespace: "shop", Name: name}, Owner: owner, Ended: noon.Add(-ago), Try: try,
			Sentence: decision.Sentence{Object: name, Tone: tone, Code: code, Since: noon.Add(-ago)},
		})
	}
	const d, rs = "deployment", "replicaset"
	said(d, "fine", "", decision.ToneOK, "settled", time.Hour, decision.Try{})
	said(d, "new", "", decision.ToneWaiting, "image-pull", time.Minute, decision.Try{})
	said(d, "old", "", decision.ToneWaiting, "readiness", 20*time.Minute, decision.Try{})
	said(rs, "new-1", "new", decision.ToneWaiting, "image-pull", time.Minute, decision.Try{Number: 1})
	said(d, "old", "", decision.ToneFailed, "deadline", 5*time.Minute, decision.Try{Number: 3}) // stuck for 20 minutes all the same
	said(d, "again", "", decision.ToneWaiting, "image-pull", time.Hour, decision.Try{})
	said(d, "again", "", decision.ToneMoving, "rolling", 30*time.Minute, decision.Try{})
	said(d, "again", "", decision.ToneWaiting, "image-pull", 2*time.Minute, decision.Try{}) // it got on in between
	said(rs, "old-1", "old", decision.ToneWaiting, "image-pull", 20*time.Minute, decision.Try{Number: 15, Dropped: true})
	compare(t, reg, noObjects+`loopscope_objects{code="deadline",controller="deployment",tone="failed"} 1
loopscope_objects{code="image-pull",controller="deployment",tone="waiting"} 2
loopscope_objects{code="image-pull",controller="replicaset",tone="waiting"} 2
loopscope_objects{code="settled",controller="deployment",tone="ok"} 1
# HELP loopscope_stuck_seconds How long the object has been waiting or failed without a break that has been so longest, by its tone and code now; objects that another one speaks for are left out.
# TYPE loopscope_stuck_seconds gauge
loopscope_stuck_seconds{code="deadline",controller="deployment",tone="failed"} 1200
loopscope_stuck_seconds{code="image-pull",controller="deployment",tone="waiting"} 120
# HELP loopscope_objects_in_backoff Objects whose last sync failed and is tried again.
# TYPE loopscope_objects_in_backoff gauge
loopscope_objects_in_backoff{controller="deployment"} 1
loopscope_objects_in_backoff{controller="replicaset"} 1
loopscope_objects_in_backoff{controller="replicationcontroller"} 0
# HELP loopscope_objects_dropped Objects whose last sync failed and is not tried again before something changes.
# TYPE loopscope_objects_dropped gauge
loopscope_objects_dropped{controller="deployment"} 0
loopscope_objects_dropped{controller="replicaset"} 1
loopscope_objects_dropped{controller="replicationcontroller"} 0
`, "loopscope_objects", "loopscope_stuck_seconds", "loopscope_objects_in_backoff", "loopscope_objects_dropped")
}

// TestClockOvertakesSyncs: what the pages say of an object now is what counts, and since when it is so.
func TestClockOvertakesSyncs(t *testing.T) {
	m, reg := newMetrics(t)
	j := telemetry.NewJournal(telemetry.JournalOptions{})
	now := map[string]decision.Sentence{
		"held": {Tone: decision.ToneWaiting, Code: "namespace-terminating"}, "slow": {Tone: decision.ToneFailed, Code: "deadline"},
		"done": {Tone: decision.ToneOK, Code: "settled"},
	}
	m.States(Sources{
		Journal: j, Now: func() time.Time { return noon },
		Said: func(r telemetry.Row, at time.Time) (decision.Sentence, time.Time) {
			return now[r.Trace.Name], at.Add(-30 * time.Second)
		},
	})
	for name, then := range map[string]decision.Sentence{
		"held": {Tone: decision.ToneNeutral, Code: "namespace-terminating"}, "slow": {Tone: decision.ToneWaiting, Code: "readiness", Since: noon.Add(-time.Hour)},
		"done": {Tone: decision.ToneWaiting, Code: "min-ready", Since: noon.Add(-time.Hour)},
	} {
		j.Record(&telemetry.Trace{Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: name}, Ended: noon.Add(-time.Minute), Sentence: then})
	}
	compare(t, reg, noObjects+`loopscope_objects{code="deadline",controller="deployment",tone="failed"} 1
loopscope_objects{code="namespace-terminating",controller="deployment",tone="waiting"} 1
loopscope_objects{code="settled",controller="deployment",tone="ok"} 1
# HELP loopscope_stuck_seconds How long the object has been waiting or failed without a break that has been so longest, by its tone and code now; objects that another one speaks for are left out.
# TYPE loopscope_stuck_seconds gauge
loopscope_stuck_seconds{code="deadline",controller="deployment",tone="failed"} 3600
loopscope_stuck_seconds{code="namespace-terminating",controller="deployment",tone="waiting"} 30
`, "loopscope_objects", "loopscope_stuck_seconds")
}

func TestCachesAndTheirWaits(t *testing.T) {
	m, reg := newMetrics(t)
	server := telemetry.ServerState{}
	loops := []telemetry.LoopState{
		{
			Name:   "deployment",
			Echoes: []telemetry.EchoState{{Object: "Deployment web", Since: noon.Add(-time.Second)}, {Object: "ReplicaSet web-1", Since: noon.Add(-90 * time.Second)}},
			Caches: []telemetry.CacheState{{Resource: "deployments", Synced: true, Objects: new(3), RV: "48121"}},
		},
		{
			Name:         "replicaset",
			Expectations: []telemetry.ExpectationState{{Key: "shop/web-1", Since: noon.Add(-time.Minute)}},
			Caches:       []telemetry.CacheState{{Resource: "pods", Objects: new(0)}},
		},
	}
	m.States(Sources{
		Journal: telemetry.NewJournal(telemetry.JournalOptions{}), Waits: func() []telemetry.LoopState { return loops },
		Server: func() telemetry.ServerState { return server }, Now: func() time.Time { return noon },
	})
	compare(t, reg, `
# HELP loopscope_apiserver_reachable Whether the API server answered when it was asked last, at most some seconds ago.
# TYPE loopscope_apiserver_reachable gauge
loopscope_apiserver_reachable 0
# HELP loopscope_cache_objects Objects in an informer's cache.
# TYPE loopscope_cache_objects gauge
loopscope_cache_objects{controller="deployment",resource="deployments"} 3
loopscope_cache_objects{controller="replicaset",resource="pods"} 0
# HELP loopscope_cache_resource_version The resourceVersion that an informer's cache has come to.
# TYPE loopscope_cache_resource_version gauge
loopscope_cache_resource_version{controller="deployment",resource="deployments"} 48121
# HELP loopscope_cache_synced Whether an informer's cache is filled.
# TYPE loopscope_cache_synced gauge
loopscope_cache_synced{controller="deployment",resource="deployments"} 1
loopscope_cache_synced{controller="replicaset",resource="pods"} 0
# HELP loopscope_echo_wait_longest_seconds Age of the oldest write of this process that its caches do not show yet.
# TYPE loopscope_echo_wait_longest_seconds gauge
loopscope_echo_wait_longest_seconds 90
# HELP loopscope_echo_waits Writes of this process that its caches do not show yet.
# TYPE loopscope_echo_waits gauge
loopscope_echo_waits 2
# HELP loopscope_expectation_longest_seconds Age of the oldest of loopscope_expectations.
# TYPE loopscope_expectation_longest_seconds gauge
loopscope_expectation_longest_seconds{controller="deployment"} 0
loopscope_expectation_longest_seconds{controller="replicaset"} 60
# HELP loopscope_expectations Objects that wait to see the pods that were created or deleted for them.
# TYPE loopscope_expectations gauge
loopscope_expectations{controller="deployment"} 0
loopscope_expectations{controller="replicaset"} 1
`, "loopscope_apiserver_reachable", "loopscope_cache_objects", "loopscope_cache_resource_version", "loopscope_cache_synced",
		"loopscope_echo_wait_longest_seconds", "loopscope_echo_waits", "loopscope_expectation_longest_seconds", "loopscope_expectations")
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

// Whether this process leads is told under the name that kube-controller-manager has for it.
func TestLeads(t *testing.T) {
	for standsBy, want := range map[bool]string{false: "1", true: "0"} {
		m, reg := newMetrics(t)
		m.States(Sources{
			Journal: telemetry.NewJournal(telemetry.JournalOptions{}),
			Leadership: func() telemetry.Leadership {
				return telemetry.Leadership{Lease: "kube-system/loopscope", StandsBy: standsBy}
			},
		})
		compare(t, reg, `
# HELP leader_election_master_status Whether this process leads by the Lease of that name, as kube-controller-manager has it.
# TYPE leader_election_master_status gauge
leader_election_master_status{name="loopscope"} `+want+"\n", "leader_election_master_status")
	}
}

// A Lease that another process holds is held, as far as this one can tell.
func TestLeaseHeld(t *testing.T) {
	for _, c := range []struct {
		what string
		now  telemetry.Leadership
		want string
	}{
		{"this process leads", telemetry.Leadership{Leader: "here"}, "1"},
		{"another leads", telemetry.Leadership{Leader: "there", StandsBy: true}, "1"},
		{"nobody leads", telemetry.Leadership{StandsBy: true}, "0"},
		{"the one that led renews it no longer", telemetry.Leadership{Leader: "there", StandsBy: true, Silent: true}, "0"},
		{"the one that leads does not renew it", telemetry.Leadership{Leader: "there", StandsBy: true, Overdue: true}, "0"},
		{"it cannot be read", telemetry.Leadership{Leader: "there", StandsBy: true, Error: "forbidden"}, "0"},
	} {
		t.Run(c.what, func(t *testing.T) {
			m, reg := newMetrics(t)
			c.now.Lease = "kube-system/loopscope"
			m.States(Sources{Journal: telemetry.NewJournal(telemetry.JournalOptions{}), Leadership: func() telemetry.Leadership { return c.now }})
			compare(t, reg, `
# HELP loopscope_lease_held Whether somebody is known to hold and renew the Lease of that name, this process or another.
# TYPE loopscope_lease_held gauge
loopscope_lease_held{name="loopscope"} `+c.want+"\n", "loopscope_lease_held")
		})
	}
}

// BenchmarkScrapeOfStates is what the gauges cost a scrape with 10,000 Deployments.
func BenchmarkScrapeOfStates(b *testing.B) {
	m, reg := newMetrics(b)
	j := telemetry.NewJournal(telemetry.JournalOptions{})
	for i := range 10_000 {
		t := scaling(0)
		t.Name += string(rune('a'+i%26)) + time.Duration(i).String()
		j.Record(t)
	}
	m.States(Sources{
		Journal: j, Waits: func() []telemetry.LoopState { return nil },
		Server: func() telemetry.ServerState { return telemetry.ServerState{} }, Now: time.Now,
	})
	for b.Loop() {
		if _, err := reg.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
