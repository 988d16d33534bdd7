package engine

import (
	"testing"
	"time"
)

func TestNamespaces(t *testing.T) {
	var n terminatingNamespaces
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if at := n.since("shop", noon); !at.IsZero() {
		t.Errorf("a namespace of which nobody said anything ends since %s", at)
	}
	n.markTerminating("shop", noon)
	n.markTerminating("shop", noon.Add(time.Minute))
	if at := n.since("shop", noon.Add(-time.Hour)); !at.Equal(noon) {
		t.Errorf("it ends since %s, want the first time", at)
	}
	if at := n.since("blog", noon.Add(-time.Hour)); !at.IsZero() {
		t.Errorf("another namespace ends since %s", at)
	}
	if at := n.since("shop", noon.Add(time.Hour)); !at.IsZero() {
		t.Errorf("a namespace recreated ends since %s", at)
	}
	if at := n.since("shop", noon.Add(-time.Hour)); !at.IsZero() {
		t.Error("what was told of the namespace before is not forgotten")
	}
}

// What is gone is remembered for as long as caches may be behind, and no longer.
func TestNamespacesThatAreGone(t *testing.T) {
	var n terminatingNamespaces
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	n.markTerminating("shop", noon)
	n.markDeleted("shop", noon)
	n.markDeleted("never-ended", noon)
	n.markDeleted("blog", noon.Add(keepsGone))
	if at := n.since("shop", noon); at.IsZero() {
		t.Error("it is forgotten at once")
	}
	n.markDeleted("blog", noon.Add(keepsGone+time.Second))
	if len(n.terminating)+len(n.deleted) != 0 {
		t.Errorf("it remembers %v, gone are %v", n.terminating, n.deleted)
	}
}
