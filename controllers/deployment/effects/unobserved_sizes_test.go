package effects

import (
	"testing"
)

// The least size counts until a generation at or after it is observed.
func TestLeastSizeSinceObserved(t *testing.T) {
	var m unobservedSizes
	for _, step := range []struct {
		now            sizeAt
		observed, want int64
	}{
		{sizeAt{1, 14}, 1, 14}, {sizeAt{2, 8}, 1, 8}, {sizeAt{3, 14}, 1, 8}, {sizeAt{3, 14}, 1, 8},
		{sizeAt{3, 14}, 2, 14}, {sizeAt{3, 14}, 3, 14}, {sizeAt{4, 20}, 3, 20},
	} {
		if got := m.minimum("a", step.now, step.observed); got != step.want {
			t.Errorf("size %d at generation %d, %d observed: least %d, want %d", step.now.size, step.now.generation, step.observed, got, step.want)
		}
		if len(m.of["a"]) > 2 {
			t.Errorf("kept twice: %v", m.of["a"])
		}
		if _, kept := m.of["a"]; kept != (step.now.generation > step.observed) {
			t.Errorf("generation %d, %d observed: kept %v", step.now.generation, step.observed, m.of["a"])
		}
	}
	m.minimum("a", sizeAt{5, 3}, 4)
	m.forget("a")
	if len(m.of) != 0 {
		t.Error("it is remembered after it went")
	}
}
