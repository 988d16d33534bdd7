package facts

import (
	"cmp"
	"sync"

	"github.com/loopscope/loopscope/telemetry"
)

// maxDerived bounds what is remembered beside traces.
const maxDerived = 4096

// Cache is what was worked out of traces when somebody looked at them. It is safe
// for concurrent use.
type Cache[T any] struct {
	mu   sync.Mutex
	m    map[traceID]T
	Most int // 0 for maxDerived
}

type traceID struct {
	epoch string
	seq   uint64
}

// Get returns what is remembered beside a trace.
func (b *Cache[T]) Get(t *telemetry.Trace) (T, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, ok := b.m[traceID{t.Epoch, t.Seq}]
	return v, ok
}

// Put remembers a value beside a trace. A full cache is emptied first.
func (b *Cache[T]) Put(t *telemetry.Trace, v T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.m == nil || len(b.m) >= cmp.Or(b.Most, maxDerived) {
		b.m = map[traceID]T{}
	}
	b.m[traceID{t.Epoch, t.Seq}] = v
}
