package telemetry

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestTooOldVersions: nobody decides on what changed long before, and who resizes has seen the version that he resizes.
func TestTooOldVersions(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	written := func(c Cause, ago time.Duration) *Cause {
		c.At = at.Add(-ago)
		return &c
	}
	size := written(wrote("web-2", "10", "11", 3, 5, ControllerManager), 0)
	status := written(modified("ReplicaSet web-2", "10", "11", ControllerManager, decision.Change{Field: "status.replicas"}), 0)
	for name, c := range map[string]struct {
		write, change *Cause
		want          bool
	}{
		"another object":                       {size, written(modified("ReplicaSet web-1", "8", "9", "kubectl"), 0), false},
		"another object, long ago":             {size, written(modified("ReplicaSet web-1", "8", "9", "kubectl"), maxLag+1), true},
		"another object, just not too long":    {size, written(modified("ReplicaSet web-1", "8", "9", "kubectl"), maxLag), false},
		"its own write of the version":         {size, written(modified("ReplicaSet web-2", "9", "10", ControllerManager), 0), false},
		"somebody else's write of the version": {size, written(modified("ReplicaSet web-2", "9", "10", "kubectl"), 0), true},
		"a version before":                     {size, written(modified("ReplicaSet web-2", "8", "9", ControllerManager), 0), true},
		"of a status":                          {status, written(modified("ReplicaSet web-2", "8", "9", ControllerManager), 0), false},
	} {
		r := &rewinder{shadow: NewShadow(TestLoops), write: c.write, own: "Deployment"}
		if got := r.tooOld(c.change); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWhatAStatusWasWrittenOn: the other controller knew that version of its object.
func TestWhatAStatusWasWrittenOn(t *testing.T) {
	status, annotation := decision.Change{Field: "status.replicas"}, decision.Change{Field: "metadata.annotations[x]"}
	for name, c := range map[string]struct {
		cause Cause
		want  string
	}{
		"a status":                   {modified("Deployment web", "4", "5", ControllerManager, status), "4"},
		"and something else":         {modified("Deployment web", "4", "5", ControllerManager, status, annotation), ""},
		"something else":             {modified("Deployment web", "4", "5", ControllerManager, annotation), ""},
		"nothing":                    {modified("Deployment web", "4", "5", ControllerManager), ""},
		"a status of somebody else":  {modified("Deployment web", "4", "5", "kubectl", status), ""},
		"a status of another object": {modified("ReplicaSet web-1", "4", "5", ControllerManager, status), ""},
	} {
		r := &rewinder{shadow: NewShadow(TestLoops), own: "Deployment"}
		if got := r.knownBy(&c.cause); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestStreams: those of each kind in the order in which they were written, of siblings what is shared alone, and
// nothing that was written here or has no version.
func TestStreams(t *testing.T) {
	w := newWatching(t)
	own := modified("ReplicaSet web-1", "7", "8", "")
	own.Sync = 7
	w.on(sized{RV: "1"}, modified("ReplicaSet web-2", "4", "9", ""), modified("ReplicaSet web-1", "4", "6", ""), modified("Deployment web", "4", "5", ""), own, Cause{Kind: CauseResync, Object: "ReplicaSet web-1"}, Cause{Kind: CauseAdded, Object: "ReplicaSet", NewRV: "3"})
	w.shadow.last.remember(&Trace{Object: object("api"), Seq: 9, Causes: []Cause{modified("Deployment api", "1", "2", ""), modified("ReplicaSet web-3", "1", "7", "")}})
	base := w.shadow.last.of(object("web"))
	r := &rewinder{shadow: w.shadow, past: base, own: "Deployment", kin: []Object{object("api")}}
	var got []string
	for _, st := range w.shadow.streams(r, base[0]) {
		for _, e := range st.events {
			got = append(got, fmt.Sprint(st.kind, " ", e.name, " ", e.cause.written(), " ", e.other))
		}
	}
	if want := []string{"ReplicaSet web-1 6 false", "ReplicaSet web-3 7 true", "ReplicaSet web-2 9 false", "Deployment web 5 false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWhatCameBeforeItsOwner: objects that were written after their owner, and that no cause brought, were seen before it.
func TestWhatCameBeforeItsOwner(t *testing.T) {
	w := newWatching(t)
	sets := func(names ...string) (list []sizedSet) {
		for i, name := range names {
			list = append(list, sizedSet{Name: name, RV: fmt.Sprint(4 + 2*i)})
		}
		return list
	}
	added := func(object, rv string) Cause { return Cause{Kind: CauseAdded, Object: object, NewRV: rv} }
	w.on(sized{RV: "5", ReplicaSets: sets("older", "silent", "told", "changed")}, added("Deployment web", "5"), added("ReplicaSet told", "8"), modified("ReplicaSet changed", "9", "10", ""))
	w.on(sized{RV: "5", ReplicaSets: sets("older", "silent", "told", "changed", "later")}, modified("ReplicaSet silent", "6", "11", ""))
	w.shadow.begin()
	r := &rewinder{shadow: w.shadow, past: w.shadow.last.of(object("web")), own: "Deployment"}
	var got []string
	for _, x := range r.past {
		for _, c := range r.cameBefore(x) {
			got = append(got, c.Object+" "+c.NewRV)
		}
	}
	if want := []string{"ReplicaSet silent 6", "ReplicaSet changed 9"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestVersionsAreBounded: so many changes are taken back one by one, and then all others at once; and a write is decided on
// so many versions.
func TestVersionsAreBounded(t *testing.T) {
	const changes = 200
	for name, c := range map[string]struct {
		deployment int // changes of it
		want       int
		last       int64 // ready on the last of them
	}{"one kind": {0, maxBehind + 2, 0}, "two kinds": {changes, maxVersions, -1}} {
		w := newWatching(t)
		var causes []Cause
		for i := range changes {
			causes = append(causes, modified("ReplicaSet web-1", fmt.Sprint(10+i), fmt.Sprint(11+i), "", decision.Change{Field: "status.readyReplicas", From: fmt.Sprint(i), To: fmt.Sprint(i + 1)}))
		}
		for i := range c.deployment {
			causes = append(causes, modified("Deployment web", fmt.Sprint(1000+i), fmt.Sprint(1001+i), "kubectl", decision.Change{Field: "spec.paused"}))
		}
		x := w.on(sized{RV: "5000", ReplicaSets: []sizedSet{{Name: "web-1", RV: "210", Ready: changes}}}, causes...)
		w.shadow.begin()
		n, last := 0, int64(-1)
		for v := range w.shadow.versions(x, x, &Cause{Kind: CauseAdded, Object: "ReplicaSet web-7", NewRV: "9000"}) {
			if s := v.snapshot.(*sized); n == 1 && (s.ReplicaSets[0].Ready != changes-1 || s.RV != "5000") { // Its Deployment changes least.
				t.Errorf("%s: after the first version comes %+v", name, s)
			}
			n++
			last = v.snapshot.(*sized).ReplicaSets[0].Ready
		}
		if n != c.want || c.last >= 0 && last != c.last {
			t.Errorf("%s: %d versions, want %d, the last with %d ready", name, n, c.want, last)
		}
	}
}

// TestDecodedWhereItWasAdded: of all that is remembered of an object only what its first sync decided on is read.
func TestDecodedWhereItWasAdded(t *testing.T) {
	w := newWatching(t)
	w.on(sized{RV: "1"}, Cause{Kind: CauseAdded, Object: "Deployment web", NewRV: "1"})
	w.on(sized{RV: "2"}, modified("Deployment web", "1", "2", "kubectl"))
	past := w.shadow.last.of(object("web"))
	w.shadow.begin()
	w.shadow.streams(&rewinder{shadow: w.shadow, past: past, own: "Deployment"}, past[1])
	if read := w.shadow.now.read; len(read) != 1 || read[past[0]] == nil {
		t.Errorf("%d snapshots are read, want that of the first sync alone", len(read))
	}
}
