package leadership

import (
	"log/slog"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

const (
	// rivalWindow is how long a write of a rival is held against it.
	rivalWindow = time.Minute
	// rivalWrites is how many it takes: one or two may be those of the last leader, seen late,
	// or our own, of which the reply was lost.
	rivalWrites = 3
)

// Rivals notices another process that acts beside this one. It is safe for concurrent use.
type Rivals struct {
	logger *slog.Logger
	now    func() time.Time

	mu     sync.Mutex
	writes []time.Time // within the window, oldest first
	newest telemetry.Rival
	warned bool
	total  uint64
}

// NewRivals has seen nobody. It tells the logger once of each time of rivalry.
func NewRivals(logger *slog.Logger, now func() time.Time) *Rivals {
	return &Rivals{logger: logger, now: now}
}

// Note takes a write that another process made where this one acts.
func (r *Rivals) Note(manager, object string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	r.expire()
	r.writes, r.newest = append(r.writes, r.now()), telemetry.Rival{Manager: manager, Object: object}
	if len(r.writes) >= rivalWrites && !r.warned {
		r.warned = true
		r.logger.Warn("Another manager writes to this cluster, too: the two fight over every ReplicaSet", "manager", manager, "writes", len(r.writes), "within", rivalWindow, "newest", object)
	}
}

// Total is how many of its writes were seen since the start.
func (r *Rivals) Total() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// State is what is known of a rival now; zero where there is none.
func (r *Rivals) State() telemetry.Rival {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire()
	if len(r.writes) < rivalWrites {
		return telemetry.Rival{}
	}
	newest := r.newest
	newest.Writes, newest.Last = len(r.writes), r.writes[len(r.writes)-1]
	return newest
}

// expire forgets what is long past. Callers hold the mutex.
func (r *Rivals) expire() {
	from := r.now().Add(-rivalWindow)
	for len(r.writes) > 0 && !r.writes[0].After(from) {
		r.writes = r.writes[1:]
	}
	r.warned = r.warned && len(r.writes) > 0
}
