package rollout

// Member is an active ReplicaSet that takes part in proportional scaling ([S-3]).
type Member struct {
	Size int64
	// Base is the total that its size was a part of: its max-replicas
	// annotation, or else the last reported number of pods. 0 is unknown.
	Base int64
}

// Proportional shares a change of size among the members, in their order: each
// gets its part by size and the first gets the leftover ([S-3]). want 0 empties
// them all. The members come ordered by size, largest first; ties newest first
// where pods are added and oldest first where they go.
func Proportional(members []Member, want, surge int64) []int64 {
	sizes, allowed := make([]int64, len(members)), int64(0)
	if want > 0 {
		allowed = Bounds{Want: want, Surge: surge}.Ceiling()
	}
	toAdd := allowed
	for i, m := range members {
		sizes[i] = m.Size
		toAdd -= m.Size
	}
	if toAdd == 0 {
		return sizes
	}
	added := int64(0)
	for i, m := range members {
		part := bounded(fraction(m, want, allowed), toAdd-added, toAdd)
		sizes[i] += part
		added += part
	}
	if len(sizes) > 0 {
		sizes[0] = max(0, sizes[0]+toAdd-added)
	}
	return sizes
}

// bounded keeps a part within what is left to add or to take.
func bounded(part, left, toAdd int64) int64 {
	switch {
	case left == 0:
		return 0
	case toAdd > 0:
		return min(part, left)
	default:
		return max(part, left)
	}
}

// fraction is the change that keeps the member's part of the whole.
func fraction(m Member, want, allowed int64) int64 {
	switch {
	case want == 0:
		return -m.Size
	case m.Base <= 0:
		return 0
	default:
		return min(half(m.Size*allowed, m.Base), maxCount) - m.Size // A base that is too small makes it any size.
	}
}

// half divides two numbers that are not negative and rounds half up. It
// compares with the rest instead of doubling, which could overflow.
func half(a, b int64) int64 {
	q, r := a/b, a%b
	if r >= b-r {
		q++
	}
	return q
}
