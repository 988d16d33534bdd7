package diagnosis

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// groups puts pods together that wait for the same, and tells of each pod in which group it is.
func (w Pods) groups(pods []decision.Pod) (groups []group, of []int) {
	groups, of = make([]group, 0, 4), make([]int, len(pods))
	for i := range pods {
		of[i] = w.grouped(&groups, &pods[i])
	}
	return groups, of
}

// grouped adds a pod to the group that it belongs to, which may be a new one.
func (w Pods) grouped(groups *[]group, p *decision.Pod) int {
	for i := range *groups {
		if g := &(*groups)[i]; sameWords(g.pod, p) { // Most pods of a template are.
			g.join(w, p)
			return i
		}
	}
	made := w.group(p)
	for i := range *groups {
		if g := &(*groups)[i]; made.same(g) {
			g.add(made)
			return i
		}
	}
	*groups = append(*groups, made)
	return len(*groups) - 1
}

// Sample describes at most n of the pods, in their order: one of all those that wait for the same, which counts
// those left out of them, and otherwise the first.
func (w Pods) Sample(pods []decision.Pod, n int) []decision.Pod {
	if len(pods) <= n {
		return pods
	}
	groups, of := w.groups(pods)
	groups = groups[:min(n, len(groups))]
	sample, spare := make([]decision.Pod, 0, n), n-len(groups)
	stands, left := make([]int, len(groups)), make([]int64, len(groups))
	for i, g := range of {
		switch {
		case g < len(groups) && groups[g].pod == &pods[i]:
			stands[g] = len(sample)
			sample = append(sample, pods[i])
		case spare > 0:
			spare--
			sample = append(sample, pods[i])
		case g < len(groups):
			left[g] += 1 + pods[i].Like
		}
	}
	for g, at := range stands {
		sample[at].Like += left[g]
	}
	return slices.Clip(sample)
}
