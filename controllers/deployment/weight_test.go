package deployment_test

import (
	"runtime"
	"testing"

	"github.com/loopscope/loopscope/controllers/deployment"
)

// mostBytes is what deciding on 10 ReplicaSets and 500 pods may allocate.
const mostBytes = 16 << 10

// TestDecideIsLight holds the part of the benchmark's bar that does not depend on
// how busy the machine is.
func TestDecideIsLight(t *testing.T) {
	const runs = 100
	s := large()
	deployment.Decide(s)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		deployment.Decide(s)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / runs; each > mostBytes {
		t.Errorf("one decision allocates %d bytes, more than %d", each, mostBytes)
	}
}
