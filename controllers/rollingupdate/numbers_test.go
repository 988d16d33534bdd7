package rollingupdate

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestWithoutTemplate: what ends it is whole without the template, and nothing is said of pods to be deleted.
func TestWithoutTemplate(t *testing.T) {
	for _, c := range []struct {
		unblocks decision.Words
		want     string
	}{
		{words("when ConfigMap ").Name("app").Say(" exists, or the template changes").Say(" and the pod is deleted"), "when ConfigMap app exists"},
		{decision.Words{}.Told("when a node has more cpu free, or the template requests less").Say(" and the pods are deleted"), "when a node has more cpu free"},
		{words("when that image exists, or the template changes and the pod is deleted").Say(", and container ").Name("log").Say(" no longer fails"), "when that image exists, and container log no longer fails"},
		{words("when ConfigMap ").Name("app").Say(" exists, or the template changes").Say(" and the pods are deleted").Say(", and container ").Name("log").Say(" no longer fails"), "when ConfigMap app exists, and container log no longer fails"},
		{words("when the webhook allows them or the template changes"), "when the webhook allows them"},
		{words("when its scheduling gates are removed"), "when its scheduling gates are removed"},
	} {
		before := c.unblocks.At(time.Time{})
		if got := withoutTemplate(c.unblocks).At(time.Time{}); got != c.want || c.unblocks.At(time.Time{}) != before {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
