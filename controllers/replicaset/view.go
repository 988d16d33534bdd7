package replicaset

import (
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// decider is one pass of Decide: the snapshot it reads and the verdict it writes.
type decider struct {
	s *Snapshot
	v decision.Verdict
	leaf
	// pods are the candidates in canonical order, active the claimed ones that count.
	pods   []*Pod
	active []*Pod
}

// canonical returns the pods by name, whatever order they came in, so that a
// shuffled snapshot gives the same verdict. Only a disordered one is sorted.
func canonical(pods []Pod) []*Pod {
	sorted := make([]*Pod, len(pods))
	for i := range pods {
		sorted[i] = &pods[i]
	}
	if !slices.IsSortedFunc(sorted, byName) {
		slices.SortStableFunc(sorted, byName)
	}
	return sorted
}

func byName(a, b *Pod) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return strings.Compare(a.UID, b.UID)
}

// gone reports whether acting found that the pod no longer exists.
func (s *Snapshot) gone(p *Pod) bool { return slices.Contains(s.Learnt.ChildrenGone, p.UID) }

// orphan reports whether the pod is to be adopted ([RS-6]).
func (s *Snapshot) orphan(p *Pod) bool {
	return !p.Mine && p.Matches && p.Active() && !s.Deleting && !s.gone(p)
}

// stray reports whether the pod is to be released ([RS-6]).
func (s *Snapshot) stray(p *Pod) bool {
	return p.Mine && !p.Matches && p.Active() && !s.Deleting && !s.gone(p)
}

// claimed reports whether the pod counts, taking decided adoptions as done.
func (s *Snapshot) claimed(p *Pod) bool {
	return p.Active() && p.Matches && !s.gone(p) && (p.Mine || !s.Deleting)
}

// Active reports whether the pod is neither finished nor on its way out.
func (p *Pod) Active() bool { return !p.finished() && !p.Terminating }

func (p *Pod) finished() bool { return p.Phase == "Succeeded" || p.Phase == "Failed" }

// terminating reports whether the pod counts as terminating ([RS-7]).
func (p *Pod) terminating() bool { return p.Terminating && !p.finished() && p.Mine && p.Matches }

// available reports whether the pod has been ready for long enough as of now ([P-1]).
func (p *Pod) available(minReady int64, now time.Time) bool {
	if !p.Ready || minReady <= 0 {
		return p.Ready
	}
	return !p.ReadySince.IsZero() && !now.Before(p.availableAt(minReady))
}

// availableAt is when the ready pod will have been ready for minReady seconds.
func (p *Pod) availableAt(minReady int64) time.Time {
	return p.ReadySince.Add(time.Duration(minReady) * time.Second)
}

// self refers to the object that the sync is about.
func (s *Snapshot) self() decision.Ref {
	return decision.Ref{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name, UID: s.UID, RV: s.RV}
}

// ref refers to one of its pods.
func (s *Snapshot) ref(p *Pod) decision.Ref {
	return decision.Ref{Kind: "Pod", Namespace: s.Namespace, Name: p.Name, UID: p.UID, RV: p.RV}
}
