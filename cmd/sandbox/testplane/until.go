package testplane

import (
	"testing"
	"time"
)

// Until asks check about ten times a second until it returns nil, and fails the
// test with its last error if that takes longer than limit.
func Until(t testing.TB, limit time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.After(limit)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
	}
}
