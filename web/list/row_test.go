package list

import (
	"testing"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestMetersTellPodsApart where a loop does.
func TestMetersTellPodsApart(t *testing.T) {
	facts := []decision.Fact{decision.Count("available", 0), decision.Count("wanted", 2), decision.Count("pods", 2)}
	if m := meterOf(facts, ""); !m.Alike || m.New != 0 || m.Not != 2 {
		t.Errorf("of a ReplicationController: %+v", m)
	}
	if m := meterOf(append(facts, decision.Count("newAvailable", 0)), ""); m.Alike {
		t.Errorf("of an update: %+v", m)
	}
}
