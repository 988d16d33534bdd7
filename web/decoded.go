package web

import (
	"sync"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
)

// maxDecoded bounds the snapshots of ReplicaSets that are kept as they were read.
const maxDecoded = 64

// decoded is snapshots of ReplicaSets by their traces, as the lanes of one page
// need the same ones with every drawing. Nobody may change one.
type decoded struct {
	mu    sync.Mutex
	known map[*telemetry.Trace]*replicaset.Snapshot
	order []*telemetry.Trace
}

// snapshot reads that of a trace; nil where there is none, or it is too large.
func (d *decoded) snapshot(t *telemetry.Trace) *replicaset.Snapshot {
	if crowded(t) {
		return nil
	}
	d.mu.Lock()
	snap, known := d.known[t]
	d.mu.Unlock()
	if known {
		return snap
	}
	snap, err := replicaSetSnapshot(t)
	if err != nil {
		snap = nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[*telemetry.Trace]*replicaset.Snapshot{}
	}
	if len(d.order) == maxDecoded {
		delete(d.known, d.order[0])
		d.order = d.order[1:]
	}
	if _, twice := d.known[t]; !twice {
		d.known[t], d.order = snap, append(d.order, t)
	}
	return snap
}
