package effects

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// unobservedSizes remembers the sizes that a ReplicaSet had since the one that its status
// shows. A status of before says nothing of pods that were deleted for a smaller size in
// between, if it was made larger again since. The zero value is ready.
type unobservedSizes struct {
	mu sync.Mutex
	of map[types.UID][]sizeAt
}

type sizeAt struct{ generation, size int64 }

// statusAt is the generation that a status observed, and the pods that it counts.
type statusAt struct{ observed, pods int64 }

// after reports whether the status is of a moment at which no pod was left over by the size.
func (s statusAt) after(size sizeAt) bool {
	return size.generation < s.observed || size.generation == s.observed && s.pods <= size.size
}

// contradicts reports whether a size cannot have been before now, which is what the cache shows: only the cache
// has told of any, so its etcd was restored in between.
func (s sizeAt) contradicts(now sizeAt) bool { return s.generation >= now.generation && s != now }

// minimum notes the size as of a generation, forgets those that the status has left behind, and
// returns the least size of the others, the present one included. That a generation is observed
// does not say that its pods are deleted: a ReplicaSet that still waits for pods that it created
// publishes the generation and goes on later. Until its status counts no more than the size asks
// for, the size stands.
func (m *unobservedSizes) minimum(uid types.UID, now sizeAt, shown statusAt) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.DeleteFunc(m.of[uid], func(s sizeAt) bool { return shown.after(s) || s.contradicts(now) })
	if !shown.after(now) && !slices.Contains(list, now) {
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
