package effects

import (
	"cmp"
	"slices"
	"strings"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// firstTerminating are those whose grace period ends first.
func firstTerminating(pods []decision.TerminatingPod) []decision.TerminatingPod {
	slices.SortFunc(pods, func(a, b decision.TerminatingPod) int {
		return cmp.Or(a.Until.Compare(b.Until), strings.Compare(a.Name, b.Name))
	})
	return pods[:min(len(pods), deployment.MaxTerminatingPods)]
}

// newestDisrupted are the last that were ended.
func newestDisrupted(pods []decision.DisruptedPod) []decision.DisruptedPod {
	slices.SortFunc(pods, func(a, b decision.DisruptedPod) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Name, b.Name))
	})
	return pods[:min(len(pods), deployment.MaxDisrupted)]
}
