package rollout

// Set is an old ReplicaSet as far as its retirement goes, oldest first in every list.
type Set struct {
	Size int64
	// Available is the reported number; what exceeds Size is not counted.
	Available int64
}

// Counted is the number of pods that count as available: what a status says
// beyond the size is about pods that are already being deleted.
func Counted(available, size int64) int64 { return max(0, min(available, size)) }

// Unhealthy plans the removal of old pods that are not available, oldest
// ReplicaSet first, at most budget of them ([RR-3] a). It returns the new size of
// each set and the number of pods that go.
func Unhealthy(old []Set, budget int64) ([]int64, int64) {
	return plan(old, budget, func(s Set) int64 { return s.Size - Counted(s.Available, s.Size) })
}

// Healthy plans the removal of old pods, oldest ReplicaSet first, at most
// budget of them: the available pods above the floor ([RR-3] b).
func Healthy(old []Set, budget int64) ([]int64, int64) {
	return plan(old, budget, func(s Set) int64 { return s.Size })
}

func plan(old []Set, budget int64, removable func(Set) int64) ([]int64, int64) {
	sizes, gone := make([]int64, len(old)), int64(0)
	for i, s := range old {
		take := max(0, min(removable(s), budget-gone))
		sizes[i] = s.Size - take
		gone += take
	}
	return sizes, gone
}
