package telemetry

import (
	"context"
	"testing"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// foundRuns answers a search with the hits of a time, in pages of one.
type foundRuns struct {
	Archive
	hits []Hit // oldest first
}

func (a foundRuns) Search(_ context.Context, q Query) (Hits, error) {
	if q.OldestFirst {
		for _, h := range a.hits {
			if !h.Started.Before(q.Since) {
				return Hits{Hits: []Hit{h}}, nil
			}
		}
		return Hits{}, nil
	}
	for i := len(a.hits) - 1; i >= 0; i-- {
		if id := a.hits[i].Epoch + a.hits[i].Name; a.hits[i].Started.Before(q.Until) && (q.After == "" || id < q.After) {
			return Hits{Hits: a.hits[i : i+1], Next: id}, nil
		}
	}
	return Hits{}, nil
}

// TestKnownUntil: a run knows how it went on up to its last sync, and up to the moment where it has a later one.
func TestKnownUntil(t *testing.T) {
	hit := func(epoch, name string, at float64) Hit {
		return Hit{Epoch: epoch, Object: object(name), Started: clock(at)}
	}
	x := between(1, 2)
	x.Epoch = "a"
	all := foundRuns{hits: []Hit{hit("a", "1", 1), hit("a", "2", 10), hit("b", "3", 20), hit("b", "4", 30)}}
	for at, want := range map[float64]float64{5: 5, 10: 10, 15: 10, 25: 10, 40: 10, 1.5: 1.5} {
		if got, err := KnownUntil(t.Context(), all, x, clock(at)); err != nil || !got.Equal(clock(want)) {
			t.Errorf("at %v: %s, %v; want %v", at, got.Format("05"), err, want)
		}
	}
	if got, err := KnownUntil(t.Context(), foundRuns{hits: all.hits[2:]}, x, clock(25)); err != nil || !got.Equal(x.Ended) {
		t.Errorf("of a run without a hit: %s, %v", got, err)
	}
}

// TestLeadingUp: settled syncs just before one that is not lead up to it from the first on that took a change of a spec.
func TestLeadingUp(t *testing.T) {
	at := func(from float64, tone decision.Tone, causes ...Cause) *Trace {
		x := toned(uint64(from), tone)
		x.Started, x.Ended, x.Causes = clock(from), clock(from), causes
		return x
	}
	asks := func(object, field string, sync uint64) Cause {
		return Cause{Kind: CauseModified, Object: object, Sync: sync, Fields: []decision.Change{{Field: field}}}
	}
	spec, ok, moving := asks("ReplicaSet web-1", "spec.replicas", 0), decision.ToneOK, at(100, decision.ToneMoving)
	for name, c := range map[string]struct {
		before []*Trace
		want   int
	}{
		"none":                  {nil, 0},
		"nothing asked":         {[]*Trace{at(98, ok), at(99, ok)}, 2},
		"asked":                 {[]*Trace{at(97, ok), at(98, ok, spec), at(99, ok)}, 1},
		"asked twice":           {[]*Trace{at(97, ok, spec), at(98, ok), at(99, ok, spec)}, 0},
		"two seconds before":    {[]*Trace{at(98, ok, spec)}, 0},
		"longer before":         {[]*Trace{at(97.9, ok, spec)}, 1},
		"the end of another":    {[]*Trace{at(98, decision.ToneMoving), at(99, ok, spec)}, 2},
		"not settled":           {[]*Trace{at(99, decision.ToneMoving, spec)}, 1},
		"its creation":          {[]*Trace{at(99, ok, spec, Cause{Kind: CauseAdded, Object: "Deployment web"})}, 1},
		"by this program":       {[]*Trace{at(99, ok, asks("ReplicaSet web-1", "spec.replicas", 4))}, 1},
		"a status":              {[]*Trace{at(99, ok, asks("ReplicaSet web-1", "status.replicas", 0))}, 1},
		"of a pod":              {[]*Trace{at(99, ok, asks("Pod web-1-x", "spec.nodeName", 0))}, 1},
		"an object's beginning": {[]*Trace{at(99, ok, Cause{Kind: CauseAdded, Object: "ReplicaSet web-1", Fields: spec.Fields})}, 1},
	} {
		if got := leadingUp(TestLoops, append(c.before, moving), len(c.before)); got != c.want {
			t.Errorf("%s: from %d, want %d", name, got, c.want)
		}
	}
}
