package effects

import (
	"testing"
)

// The least size counts until a status shows a later one, or it with no pod left over.
func TestLeastSizeSinceShown(t *testing.T) {
	var m unobservedSizes
	for _, step := range []struct {
		now   sizeAt
		shown statusAt
		want  int64
		kept  int
	}{
		{sizeAt{1, 14}, statusAt{1, 14}, 14, 0},
		{sizeAt{2, 8}, statusAt{1, 14}, 8, 1},
		{sizeAt{3, 14}, statusAt{1, 14}, 8, 2},
		{sizeAt{3, 14}, statusAt{1, 14}, 8, 2},
		{sizeAt{3, 14}, statusAt{2, 14}, 8, 2}, // observed, and its pods are still to be deleted
		{sizeAt{3, 14}, statusAt{2, 8}, 14, 1},
		{sizeAt{3, 14}, statusAt{3, 14}, 14, 0},
		{sizeAt{4, 20}, statusAt{3, 14}, 20, 1},
		{sizeAt{5, 4}, statusAt{4, 20}, 4, 1},
		{sizeAt{5, 4}, statusAt{5, 20}, 4, 1},
		{sizeAt{6, 19}, statusAt{5, 20}, 4, 2},
		{sizeAt{6, 19}, statusAt{6, 20}, 19, 1}, // made larger before anything was deleted
		{sizeAt{6, 19}, statusAt{6, 19}, 19, 0},
		{sizeAt{7, 2}, statusAt{6, 19}, 2, 1},
		{sizeAt{8, 12}, statusAt{6, 19}, 2, 2},
		{sizeAt{5, 14}, statusAt{4, 20}, 14, 1}, // etcd was restored
		{sizeAt{6, 3}, statusAt{4, 20}, 3, 2},
		{sizeAt{6, 12}, statusAt{4, 20}, 12, 2}, // and once more: a generation has one size
		{sizeAt{6, 12}, statusAt{6, 12}, 12, 0},
	} {
		if got := m.minimum("a", step.now, step.shown); got != step.want || len(m.of["a"]) != step.kept {
			t.Errorf("size %d at generation %d, status %v: least %d of %v, want %d of %d", step.now.size, step.now.generation, step.shown, got, m.of["a"], step.want, step.kept)
		}
	}
	m.minimum("a", sizeAt{7, 3}, statusAt{6, 19})
	m.forget("a")
	if len(m.of) != 0 {
		t.Error("it is remembered after it went")
	}
}
