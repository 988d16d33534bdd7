package rollout

import "fmt"

// Bounds are the limits of one rolling update ([B-1]).
type Bounds struct {
	// Want is the wanted number of pods.
	Want int64
	// Surge is how many pods more than Want may be asked for.
	Surge int64
	// Unavailable is how many of Want may be missing.
	Unavailable int64
}

// Resolve turns maxSurge (rounded up) and maxUnavailable (rounded down) into
// counts of want. nil counts as 0, and where both come to 0 one pod may be
// unavailable, as nothing could move otherwise. The second result is an error
// that names the field which cannot be read.
func Resolve(want int64, surge, unavailable *Amount) (Bounds, error) {
	b := Bounds{Want: want}
	var err error
	if surge != nil {
		if b.Surge, err = surge.of(want, true); err != nil {
			return Bounds{Want: want}, fmt.Errorf("maxSurge: %w", err)
		}
	}
	if unavailable != nil {
		if b.Unavailable, err = unavailable.of(want, false); err != nil {
			return Bounds{Want: want}, fmt.Errorf("maxUnavailable: %w", err)
		}
	}
	if b.Surge == 0 && b.Unavailable == 0 {
		b.Unavailable = 1
	}
	return b, nil
}

// Ceiling is the most pods that may be asked for. It is written down in an annotation and asked for in
// sizes, so it is a count like any other.
func (b Bounds) Ceiling() int64 { return min(b.Want+b.Surge, maxCount) }

// Missing is how many of Want may be unavailable: Unavailable, but never more
// than there are, and none of none.
func (b Bounds) Missing() int64 { return max(0, min(b.Unavailable, b.Want)) }

// Floor is the fewest pods that must stay available.
func (b Bounds) Floor() int64 { return b.Want - b.Missing() }

// NewSize is the size that the new ReplicaSet may have now, where the sizes of
// all ReplicaSets sum to total and its own is size ([B-3], [RR-2]). The fencepost rule
// plays no part here. It never shrinks the new ReplicaSet for want of room.
func (b Bounds) NewSize(size, total int64) int64 {
	room := b.Ceiling() - total
	if room <= 0 {
		return size
	}
	return size + min(room, b.Want-size)
}

// MayGo is how many old pods may be removed: those in excess of the floor,
// less the pods of the new ReplicaSet that are not available yet ([RR-3]). It can be negative.
func (b Bounds) MayGo(total, newSize, newAvailable int64) int64 {
	return total - b.Floor() - (newSize - newAvailable)
}
