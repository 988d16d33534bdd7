package diagnosis_test

import (
	"testing"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestHeading: pods that are there and have to go are not said to be unavailable.
func TestHeading(t *testing.T) {
	const gone, available = "Why pods are not gone", "Why pods are not available"
	for _, c := range []struct {
		codes []string
		want  string
	}{
		{[]string{diagnosis.Delete}, gone},
		{[]string{diagnosis.Delete, diagnosis.Terminating}, gone},
		{[]string{diagnosis.SetTerminating}, available}, // Its pods were never created.
		{[]string{diagnosis.Delete, diagnosis.Image}, available},
		{[]string{diagnosis.Image}, available},
	} {
		var list []decision.Finding
		for _, code := range c.codes {
			list = append(list, decision.Finding{Code: code})
		}
		if got := diagnosis.Heading(list); got != c.want {
			t.Errorf("%v: %q, want %q", c.codes, got, c.want)
		}
	}
}
