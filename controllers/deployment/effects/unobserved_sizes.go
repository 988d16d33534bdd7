package effects

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// unobservedSizes remembers the sizes that a ReplicaSet had in the generations that its
// status has not observed yet. A status of before says nothing of pods that were
// deleted for a smaller size in between, if it was made larger again since. The
// zero value is ready.
type unobservedSizes struct {
	mu sync.Mutex
	of map[types.UID][]sizeAt
}

type sizeAt struct{ generation, size int64 }

// minimum notes the size as of a generation, forgets those that are observed, and
// returns the least size of those that are not, the present one included.
func (m *unobservedSizes) minimum(uid types.UID, now sizeAt, observed int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.DeleteFunc(m.of[uid], func(s sizeAt) bool { return s.generation <= observed })
	if now.generation > observed && !slices.Contains(list, now) {
		list = append(list, now)
	}
	if len(list) == 0 {
		delete(m.of, uid)
		return now.size
	}
	if m.of == nil {
		m.of = map[types.UID][]sizeAt{}
	}
	m.of[uid] = list
	least := now.size
	for _, s := range list {
		least = min(least, s.size)
	}
	return least
}

func (m *unobservedSizes) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, uid)
}
