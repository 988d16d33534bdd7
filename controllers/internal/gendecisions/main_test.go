package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDecisionsFresh fails where the catalogues and the committed text differ.
func TestDecisionsFresh(t *testing.T) {
	committed, err := os.ReadFile("../../DECISIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text(), string(committed)); diff != "" {
		t.Errorf("DECISIONS.md is stale: run go generate ./controllers/internal/gendecisions (-want +committed):\n%s", diff)
	}
}
