package timeline

import "testing"

// TestSinceRollout: a rollout begins with the state before it.
func TestSinceRollout(t *testing.T) {
	old, both, fresh := Point{Old: 3}, Point{Old: 3, NewSize: 1, Ceiling: 4}, Point{NewSize: 3, Ceiling: 4}
	asked := Point{Old: 3, Ceiling: 4}
	for name, c := range map[string]struct {
		points []Point
		begins int
	}{
		"the first that is kept":          {[]Point{both, both}, 0},
		"after a rollout":                 {[]Point{both, fresh, both, both}, 1},
		"after an update was taken back":  {[]Point{both, old, old, asked, both}, 2},
		"an update that was taken back":   {[]Point{fresh, both, old, old}, 0},
		"a rollout that is over by now":   {[]Point{fresh, both, fresh, fresh}, 0},
		"an update of an idle controller": {[]Point{old, both, fresh}, 0},
	} {
		if got := len(c.points) - len(SinceRollout(c.points)); got != c.begins {
			t.Errorf("%s: it begins with %d, want %d", name, got, c.begins)
		}
	}
}
