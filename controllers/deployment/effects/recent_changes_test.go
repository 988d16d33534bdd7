package effects

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func changedBy(manager, object string, changes ...decision.Change) telemetry.Cause {
	return telemetry.Cause{Kind: telemetry.CauseModified, Object: object, Manager: manager, Fields: changes}
}

func replicas(from, to string) decision.Change {
	return decision.Change{Field: "spec.replicas", From: from, To: to}
}

func resize(name string, from, to int64) decision.Action {
	return decision.Action{Kind: decision.UpdateReplicaSet, Target: decision.Ref{Name: name}, Size: &decision.Size{From: from, To: to}}
}

func restamp(uid, revision string) decision.Action {
	return decision.Action{Kind: decision.UpdateReplicaSet, Target: decision.Ref{Name: "web-" + uid, UID: uid}, Stamp: &decision.Stamp{Revision: revision}}
}

func release(name, uid string) decision.Action {
	return decision.Action{Kind: decision.Release, Target: decision.Ref{Name: name, UID: uid}}
}

func TestDeploymentNews(t *testing.T) {
	const rs, d = "ReplicaSet web-1", "Deployment web"
	byHand := changedBy("kubectl", rs, replicas("3", "7"))
	ours := byHand
	ours.Manager, ours.Sync = "", 12
	back := resize("web-1", 7, 3)
	created := back
	created.Kind = decision.CreateReplicaSet
	label := decision.Change{Field: "metadata.labels[a]"}
	template, rollback := decision.Change{Field: "spec.template"}, decision.Change{Field: "metadata.annotations[deprecated.deployment.rollback.to]"}
	wrote := func(causes []telemetry.Cause, actions ...decision.Action) *telemetry.Trace {
		return lab.Synced(telemetry.ResultWrote, causes, actions...)
	}
	folded := wrote([]telemetry.Cause{byHand}, back)
	folded.Folded = 1
	refused := wrote([]telemetry.Cause{byHand}, back)
	refused.Rounds[0].Outcomes[0].State = decision.Refused
	planned := wrote([]telemetry.Cause{byHand}, back)
	planned.Rounds[0].Outcomes = nil
	scaledBack := func(by string) *decision.RecentChange {
		return &decision.RecentChange{Kind: decision.ScaledBack, At: lab.Noon, By: by, Object: "web-1", From: 7, To: 3}
	}
	wentBack := func(by string) *decision.RecentChange {
		return &decision.RecentChange{Kind: decision.WentBack, At: lab.Noon, By: by, Object: "web-1", From: 4, To: 2, Became: 5}
	}
	for name, tc := range map[string]struct {
		syncs []*telemetry.Trace
		want  *decision.RecentChange
	}{
		"scaled by hand":          {[]*telemetry.Trace{wrote([]telemetry.Cause{byHand}, back)}, scaledBack("kubectl")},
		"by nobody knows whom":    {[]*telemetry.Trace{wrote([]telemetry.Cause{changedBy("", rs, replicas("3", "7"))}, back)}, scaledBack("")},
		"by two":                  {[]*telemetry.Trace{wrote([]telemetry.Cause{changedBy("a, b", rs, replicas("3", "7"))}, back)}, scaledBack("a and b")},
		"by hand, twice":          {[]*telemetry.Trace{wrote([]telemetry.Cause{changedBy("helm", rs, replicas("3", "5")), changedBy("kubectl", rs, replicas("5", "7"))}, back)}, scaledBack("kubectl")},
		"seen while it waited":    {[]*telemetry.Trace{lab.Synced(telemetry.ResultWaiting, []telemetry.Cause{byHand}), wrote(nil, back)}, scaledBack("kubectl")},
		"written on a second try": {[]*telemetry.Trace{lab.Synced(telemetry.ResultStale, []telemetry.Cause{byHand}), wrote(nil, back)}, scaledBack("kubectl")},
		"left as it was":          {[]*telemetry.Trace{lab.Synced(telemetry.ResultUnchanged, []telemetry.Cause{byHand}), wrote(nil, back)}, nil},
		"decided on before":       {[]*telemetry.Trace{wrote([]telemetry.Cause{byHand}), wrote(nil, back)}, nil},
		"and labelled":            {[]*telemetry.Trace{wrote([]telemetry.Cause{changedBy("kubectl", rs, replicas("3", "7"), label)}, back)}, scaledBack("kubectl")},
		"and paused":              {[]*telemetry.Trace{wrote([]telemetry.Cause{byHand, changedBy("kubectl", d, label)}, back)}, scaledBack("kubectl")},
		"by another action":       {[]*telemetry.Trace{wrote([]telemetry.Cause{byHand}, created)}, nil},
		"our own write":           {[]*telemetry.Trace{wrote([]telemetry.Cause{ours}, back)}, nil},
		"another ReplicaSet":      {[]*telemetry.Trace{wrote([]telemetry.Cause{byHand}, resize("web-2", 7, 3))}, nil},
		"to another size":         {[]*telemetry.Trace{wrote([]telemetry.Cause{byHand}, resize("web-1", 7, 5))}, nil},
		"the Deployment as well":  {[]*telemetry.Trace{wrote([]telemetry.Cause{byHand, changedBy("kubectl", d, replicas("7", "3"))}, back)}, nil},
		"not all causes kept":     {[]*telemetry.Trace{folded}, nil},
		"refused":                 {[]*telemetry.Trace{refused}, nil},
		"only watched":            {[]*telemetry.Trace{planned}, nil},

		"undone": {[]*telemetry.Trace{wrote([]telemetry.Cause{changedBy("kubectl", d, template)}, restamp("1", "5"))}, wentBack("kubectl")},
		"undone by nobody knows whom": {[]*telemetry.Trace{wrote([]telemetry.Cause{changedBy("helm", d, template)}),
			wrote([]telemetry.Cause{changedBy("", d, template)}, restamp("1", "5"))}, wentBack("")},
		"rolled back by its annotation": {[]*telemetry.Trace{wrote([]telemetry.Cause{changedBy("kubectl", d, rollback)}),
			wrote([]telemetry.Cause{{Kind: telemetry.CauseModified, Object: d, Sync: 12, Fields: []decision.Change{template, rollback}}}, restamp("1", "5"))}, wentBack("kubectl")},
		"undone, and labelled":         {[]*telemetry.Trace{wrote([]telemetry.Cause{changedBy("kubectl", d, template)}), wrote([]telemetry.Cause{changedBy("helm", d, label)}, restamp("1", "5"))}, wentBack("kubectl")},
		"undone beside its ReplicaSet": {[]*telemetry.Trace{wrote([]telemetry.Cause{changedBy("kubectl", d, template), changedBy("helm", rs, template)}, restamp("1", "5"))}, wentBack("kubectl")},
		"of no revision":               {[]*telemetry.Trace{wrote(nil, restamp("2", "5"))}, nil},
		"of nobody":                    {[]*telemetry.Trace{wrote(nil, restamp("9", "5"))}, nil},
		"of revision 0":                {[]*telemetry.Trace{wrote(nil, restamp("4", "5"))}, nil},
		"renumbered":                   {[]*telemetry.Trace{wrote(nil, restamp("1", "4"))}, nil},
		"of a later one":               {[]*telemetry.Trace{wrote(nil, restamp("3", "5"))}, nil},

		"adopted": {[]*telemetry.Trace{wrote(nil, decision.Action{Kind: decision.Adopt, Target: decision.Ref{Name: "a"}}, decision.Action{Kind: decision.Adopt, Target: decision.Ref{Name: "b"}})},
			&decision.RecentChange{Kind: decision.Adopted, At: lab.Noon, Object: "a", Count: 2}},
		"released": {[]*telemetry.Trace{wrote(nil, release("a", "1"), release("b", "3"))}, &decision.RecentChange{Kind: decision.Released, At: lab.Noon, Object: "a", Count: 2, Pods: 5}},
		"released and adopted": {[]*telemetry.Trace{wrote(nil, decision.Action{Kind: decision.Adopt, Target: decision.Ref{Name: "b"}}, release("a", "1"))},
			&decision.RecentChange{Kind: decision.Adopted, At: lab.Noon, Object: "b", Count: 1}},
	} {
		l := objectChanges{}
		s := &deployment.Snapshot{Now: lab.Noon, Revision: "4", ReplicaSets: []deployment.ReplicaSet{{UID: "1", Revision: "2", StatusReplicas: 4}, {UID: "2"}, {UID: "3", Revision: "4", StatusReplicas: 1}, {UID: "4", Revision: "0"}}}
		for _, sync := range tc.syncs {
			l = l.after(s, sync)
		}
		if diff := cmp.Diff(tc.want, engine.Current(l.change, lab.Noon)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// News waits until its object is at rest, is told for a minute then, and forgotten by
// the next sync. What a snapshot has of it does not change.
func TestNewsIsToldAndForgotten(t *testing.T) {
	at := func(d time.Duration) *deployment.Snapshot { return &deployment.Snapshot{Now: lab.Noon.Add(d)} }
	adopt := decision.Action{Kind: decision.Adopt, Target: decision.Ref{Name: "a"}}
	moving, settled := lab.Synced(telemetry.ResultUnchanged, nil), lab.Synced(telemetry.ResultUnchanged, nil)
	settled.Sentence.Code = "settled"
	l := objectChanges{}.after(at(0), lab.Synced(telemetry.ResultWrote, nil, adopt))
	l = l.after(at(30*time.Minute), moving)
	first := engine.Current(l.change, lab.Noon.Add(30*time.Minute))
	if first == nil || !first.Told.IsZero() {
		t.Fatalf("on its way it is %+v", first)
	}
	l = l.after(at(30*time.Minute), settled)
	l = l.after(at(31*time.Minute), settled)
	if n := engine.Current(l.change, lab.Noon.Add(31*time.Minute)); n == nil || !n.Told.Equal(lab.Noon.Add(30*time.Minute)) {
		t.Errorf("at rest it is %+v", n)
	}
	if !first.Told.IsZero() {
		t.Error("what the snapshot has was changed")
	}
	over := lab.Noon.Add(31*time.Minute + time.Second)
	if n := engine.Current(l.change, over); n != nil {
		t.Errorf("later it is %+v", n)
	}
	if l = l.after(&deployment.Snapshot{Now: over}, settled); l != (objectChanges{}) {
		t.Errorf("what stays of it is %+v", l)
	}
}

// What a sync did is news in the snapshot of the next, of the same object alone.
func TestDeploymentNewsIsInTheNextSnapshot(t *testing.T) {
	caches := newDeploymentCaches(t)
	d := lab.Deployment("web", "d", "")
	caches.Add(t, d)
	adopted := lab.Synced(telemetry.ResultWrote, nil, decision.Action{Kind: decision.Adopt, Target: decision.Ref{Name: "a"}})
	look := func() *decision.RecentChange {
		seen := lookedAt(t, caches)
		seen.Remember(adopted)
		return seen.s.Recent
	}
	if n := look(); n != nil {
		t.Errorf("at first: %+v", n)
	}
	if n := look(); n == nil || n.Object != "a" {
		t.Errorf("then: %+v", n)
	}
	again := d.DeepCopy()
	again.UID = "d-2"
	caches.Add(t, again)
	if n := look(); n != nil {
		t.Errorf("of another of that name: %+v", n)
	}
}

// A size that is no number is none to be taken back.
func TestSizesThatAreNoNumbers(t *testing.T) {
	was := externalResize{name: "web-1", was: 3, is: 7}
	for _, c := range [][2]string{{"", "5"}, {"7", ""}} {
		if got := was.then("web-1", replicas(c[0], c[1]), "kubectl"); got != (externalResize{}) {
			t.Errorf("from %q to %q: %+v", c[0], c[1], got)
		}
	}
	if got := was.then("web-1", replicas("6", "5"), "kubectl"); got.was != 6 {
		t.Errorf("after one that was missed it was %d", got.was)
	}
	if got := was.then("web-2", replicas("7", "5"), "kubectl"); got.was != 7 {
		t.Errorf("another was %d", got.was)
	}
}
