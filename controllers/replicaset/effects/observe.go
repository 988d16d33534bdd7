package effects

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// Observe takes the snapshot of one owner from the caches. Expectations
// are read before the pods are listed: the other way round, a pod seen in
// between would be missing from the list and no longer be waited for ([RS-3]).
func (b *replicaSetController) Observe(ctx context.Context, key string) (engine.Sync, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, fmt.Errorf("key %q: %w", key, err)
	}
	t := &replicaSetSync{controller: b, key: key, seen: engine.VersionsOf(b.stores)}
	t.s = replicaset.Snapshot{
		Version: replicaset.SnapshotVersion, Now: engine.WallTime(b.now()), Kind: b.kind(),
		Namespace: namespace, Name: name, Burst: b.opts.Burst,
	}
	t.rs, err = b.owners.get(namespace, name)
	if apierrors.IsNotFound(err) {
		b.forgetKey(key) // A sync under way may have added it after the delete event.
		return t, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read cache: %w", err)
	}
	if b.Unresolved(key) {
		if err := b.readLive(ctx, t); err != nil {
			return nil, err
		}
		b.Resolved(key)
	}
	t.expect = b.Expectations().Outstanding(key)
	t.fill()
	return t, nil
}

// fill copies what is decided on out of the cached objects.
func (t *replicaSetSync) fill() {
	rs, s := t.rs, &t.s
	s.Found, s.UID, s.RV, s.Generation = true, string(rs.UID), rs.ResourceVersion, rs.Generation
	s.Deleting = rs.DeletionTimestamp != nil
	switch ref := metav1.GetControllerOf(rs); {
	case ref == nil:
	case ref.Kind == family.KindDeployment:
		s.Owner = redact.Line(ref.Name)
	default:
		s.Controlled = true
	}
	s.Want, s.MinReady = int64(family.DefaultToOne(rs.Spec.Replicas)), int64(rs.Spec.MinReadySeconds)
	s.Images = family.Images(&rs.Spec.Template.Spec)
	s.Status, s.Held = t.status(&rs.Status), t.controller.HeldSince(t.key, rs.UID)
	s.Lag = t.controller.opts.Ledger.Lag()
	if n := engine.Current(t.controller.changes.Of(t.key, s.UID), s.Now); n != nil && n.Size == s.Want {
		s.Recent = n
	}
	s.Expect = replicaset.Expectations{
		Creates: t.expect.Creates, Deletes: t.expect.Deletes, Since: engine.WallTime(t.expect.Since), Expires: engine.WallTime(t.expect.Expires),
	}
	s.CountTerminating, s.DeletionCost = t.controller.opts.TerminatingReplicas(), t.controller.opts.PodDeletionCost()
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		s.SelectorError = redact.Message(err.Error())
		return
	}
	s.Selector = redact.Line(selector.String())
	t.fillPods(selector)
	t.fillSiblings()
	s.Echo = t.echoes()
}

// fillPods adds the candidates: our own, and orphans that match.
func (t *replicaSetSync) fillPods(selector labels.Selector) {
	rs := t.rs
	own := family.PodsOf(t.controller.pods, rs.Namespace, t.controller.kind(), rs.Name, string(rs.UID))
	full := labels.SelectorFromSet(rs.Spec.Template.Labels)
	t.s.Pods = slices.Grow(t.s.Pods, len(own))
	for _, p := range own {
		t.addPod(p, full, true, selector.Matches(labels.Set(p.Labels)))
	}
	free := family.PodsIn(t.controller.pods, rs.Namespace)
	t.s.Lost = family.Lost(rs.Name, rs.Spec.Selector, t.s.Now, own, free)
	for _, p := range free {
		if selector.Matches(labels.Set(p.Labels)) {
			t.addPod(p, full, false, true)
		}
	}
	slices.SortFunc(t.s.Pods, func(a, b replicaset.Pod) int { return strings.Compare(a.Name, b.Name) })
	if t.s.Deletion = family.Deletion(rs, own); t.s.Deletion != nil || !slices.ContainsFunc(own, active) {
		t.s.TerminatingPods = terminating(own)
	}
}

func active(p *corev1.Pod) bool { return p.DeletionTimestamp == nil && !family.PodFinished(p) }

// terminating are the first of the pods that are on their way out. Those that have ended leave room for those that
// have not, up to half of it, and the other way round.
func terminating(pods []*corev1.Pod) []decision.TerminatingPod {
	var running, ended []decision.TerminatingPod
	for _, p := range pods {
		switch {
		case p.DeletionTimestamp == nil:
		case family.PodFinished(p):
			ended = append(ended, family.TerminatingPod(p))
		default:
			running = append(running, family.TerminatingPod(p))
		}
	}
	running, ended = family.FirstTerminating(running), family.FirstTerminating(ended)
	most := decision.MaxTerminatingPods
	running = running[:min(len(running), most-min(len(ended), most/2))]
	ended = ended[:min(len(ended), most-len(running))]
	return family.FirstTerminating(append(running, ended...))
}

func (t *replicaSetSync) addPod(p *corev1.Pod, full labels.Selector, mine, matches bool) {
	w := family.PodWaitOf(p)
	out := replicaset.Pod{
		Name: p.Name, UID: string(p.UID), RV: p.ResourceVersion, Mine: mine, Matches: matches,
		FullLabels: full.Matches(labels.Set(p.Labels)),
		Created:    p.CreationTimestamp.UTC(), Phase: redact.Line(string(p.Status.Phase)), Terminating: p.DeletionTimestamp != nil,
		Node: redact.Line(p.Spec.NodeName), Ready: family.PodReady(p), ReadySince: family.PodReadySince(p), Cost: deletionCost(p),
		Reason: w.Reason, Message: w.Message, Image: w.Image, Since: w.Since, ContainerState: w.Container, Nominated: w.Nominated, Scheduler: w.Scheduler, ResourceClaim: w.ResourceClaim, NodeNamed: w.NodeNamed,
	}
	if out.Restarts, out.SidecarRestarts = family.Restarts(p); t.controller.opts.Release().Before(engine.ReleaseSidecars) {
		out.SidecarRestarts = 0
	}
	if d := family.Disruption(p); family.IsRecent(d, t.s.Now) {
		out.Disruption = d
	}
	_, out.Expected = t.expect.Gone[p.UID]
	t.s.Pods = append(t.s.Pods, out)
}

// deletionCost reads the annotation the way the API server validates it: an
// int32 without a plus sign or leading zeros; anything else counts as 0 ([P-6]).
// It looks for these at the first character only, so that zeros may follow a minus sign.
func deletionCost(p *corev1.Pod) int64 {
	value := p.Annotations[corev1.PodDeletionCost]
	if strings.HasPrefix(value, "+") || strings.HasPrefix(value, "0") {
		return 0
	}
	cost, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0
	}
	return cost
}

// echoes are our writes to this owner and its pods that the caches do not show yet.
func (t *replicaSetSync) echoes() []replicaset.Echo {
	var list []replicaset.Echo
	for _, e := range t.controller.opts.Ledger.Pending(t.rs.UID, t.controller.stores, t.seen, t.cached) {
		list = append(list, replicaset.Echo{Object: e.Object, Written: e.Written, Cached: e.Cached, Since: engine.WallTime(e.Since), Check: engine.WallTime(e.Check)})
		if e.Overdue {
			t.controller.MarkUnresolved(t.key)
		}
	}
	slices.SortFunc(list, func(a, b replicaset.Echo) int { return strings.Compare(a.Object, b.Object) })
	return list
}

func (t *replicaSetSync) cached(resource string, uid types.UID) string {
	if resource == t.controller.owners.resource() {
		return t.rs.ResourceVersion
	}
	for i := range t.s.Pods {
		if t.s.Pods[i].UID == string(uid) {
			return t.s.Pods[i].RV
		}
	}
	return ""
}

func (t *replicaSetSync) status(st *appsv1.ReplicaSetStatus) replicaset.Status {
	out := replicaset.Status{
		ObservedGeneration: st.ObservedGeneration, Replicas: int64(st.Replicas), FullyLabeled: int64(st.FullyLabeledReplicas),
		Ready: int64(st.ReadyReplicas), Available: int64(st.AvailableReplicas), Terminating: family.ToInt(st.TerminatingReplicas),
	}
	for _, c := range st.Conditions {
		told := t.Condition(string(c.Type), string(c.Status), c.Reason, c.Message)
		told.Transition = c.LastTransitionTime.UTC()
		out.Conditions = append(out.Conditions, told)
	}
	return out
}
