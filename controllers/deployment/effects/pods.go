package effects

import (
	"cmp"
	"slices"
	"strings"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// newestDisrupted are the last that were ended.
func newestDisrupted(pods []decision.DisruptedPod) []decision.DisruptedPod {
	slices.SortFunc(pods, func(a, b decision.DisruptedPod) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Name, b.Name))
	})
	return pods[:min(len(pods), deployment.MaxDisrupted)]
}
