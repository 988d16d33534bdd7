package testplane

import (
	"os"
	"strconv"
	"testing"
)

// Number reads a whole number from the environment, or takes the default where
// there is none. Anything else fails the test.
func Number(t testing.TB, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: want a whole number", name, text)
	}
	return n
}
