package effects

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// The annotations by which a Deployment and its ReplicaSets are tied ([G-2]).
const (
	AnnotationRevision = "deployment.kubernetes.io/revision"
	AnnotationHistory  = "deployment.kubernetes.io/revision-history"
	AnnotationDesired  = "deployment.kubernetes.io/desired-replicas"
	AnnotationMax      = "deployment.kubernetes.io/max-replicas"
	AnnotationRollback = "deprecated.deployment.rollback.to"
)

// ownAnnotations are never copied from a Deployment to its ReplicaSets ([G-2]).
var ownAnnotations = []string{corev1.LastAppliedConfigAnnotation, AnnotationRevision, AnnotationHistory, AnnotationDesired, AnnotationMax, AnnotationRollback}

// Observe takes the snapshot of one Deployment from the caches.
func (b *deploymentController) Observe(ctx context.Context, key string) (engine.Sync, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, fmt.Errorf("key %q: %w", key, err)
	}
	t := &deploymentSync{controller: b, key: key, seen: engine.VersionsOf(b.stores)}
	t.s = deployment.Snapshot{Version: deployment.SnapshotVersion, Now: engine.WallTime(b.now()), Namespace: namespace, Name: name}
	t.d, err = b.deployments.Deployments(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		b.forgetKey(key) // A sync under way may have noted something after the delete event.
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
	t.fill()
	return t, nil
}

// readLive finds out what became of a write whose reply was lost: the caches
// have to catch up with everything that a live read shows.
func (b *deploymentController) readLive(ctx context.Context, t *deploymentSync) error {
	asked := b.now()
	live, err := b.live(ctx, t.d)
	if apierrors.IsNotFound(err) {
		b.opts.Ledger.Confirmed(t.d.UID, asked, nil)
		return nil // The cache will see it go.
	}
	if err != nil {
		return fmt.Errorf("live read after a lost reply: %w", err)
	}
	found := []engine.Entry{deploymentEntry(live)}
	children, err := b.client.AppsV1().ReplicaSets(t.d.Namespace).List(ctx, engine.Selecting(t.d.Spec.Selector))
	if err != nil {
		return fmt.Errorf("live read of ReplicaSets after a lost reply: %w", err)
	}
	for i := range children.Items {
		if rs := &children.Items[i]; metav1.IsControlledBy(rs, live) {
			found = append(found, replicaSetEntry(rs))
		}
	}
	b.opts.Ledger.Confirmed(t.d.UID, asked, found)
	t.s.LiveReads = []string{family.KindDeployment + " " + live.Name, fmt.Sprintf("%d ReplicaSets", len(children.Items))}
	return nil
}

// live is the Deployment as the API server has it now.
func (b *deploymentController) live(ctx context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	return b.client.AppsV1().Deployments(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
}

func deploymentEntry(d *appsv1.Deployment) engine.Entry {
	return engine.Entry{UID: d.UID, Resource: family.ResourceDeployments, Object: family.KindDeployment + " " + d.Name, RV: d.ResourceVersion}
}

func (b *deploymentController) wroteReplicaSet(rs *appsv1.ReplicaSet) {
	b.opts.Ledger.Written(replicaSetEntry(rs))
}

func replicaSetEntry(rs *appsv1.ReplicaSet) engine.Entry {
	return engine.Entry{UID: rs.UID, Owner: engine.OwnerUID(rs), Resource: family.ResourceReplicaSets, Object: family.KindReplicaSet + " " + rs.Name, RV: rs.ResourceVersion}
}

// fill copies what is decided on out of the cached objects.
func (t *deploymentSync) fill() {
	d, s := t.d, &t.s
	s.Found, s.UID, s.RV, s.Created = true, string(d.UID), d.ResourceVersion, d.CreationTimestamp.UTC()
	s.Generation, s.Deleting, s.Paused = d.Generation, d.DeletionTimestamp != nil, d.Spec.Paused
	s.Want, s.MinReady = int64(family.DefaultToOne(d.Spec.Replicas)), int64(d.Spec.MinReadySeconds)
	s.Deadline, s.HistoryLimit = limited(d.Spec.ProgressDeadlineSeconds), limited(d.Spec.RevisionHistoryLimit)
	s.Strategy = redact.Line(string(d.Spec.Strategy.Type))
	if r := d.Spec.Strategy.RollingUpdate; r != nil {
		s.MaxSurge, s.MaxUnavailable = intOrPercent(r.MaxSurge), intOrPercent(r.MaxUnavailable)
	}
	s.Revision, s.RollbackTo = t.RedactNumber(d.Annotations[AnnotationRevision]), redact.Number(d.Annotations[AnnotationRollback])
	s.Images = family.Images(&d.Spec.Template.Spec)
	s.Status, s.Held = t.status(&d.Status), t.controller.HeldSince(t.key, d.UID)
	s.Lag = t.controller.opts.Ledger.Lag()
	s.NamespaceTerminating = t.controller.opts.Ledger.TerminatingSince(d.Namespace, d.CreationTimestamp.Time)
	s.Recent = engine.Current(t.controller.changes.Of(t.key, s.UID).change, s.Now)
	s.Contest = t.controller.contests.current(d.UID, s.Now)
	s.CountTerminating = t.controller.opts.TerminatingReplicas()
	s.SizeEventsBefore132 = t.controller.opts.Release().Before(engine.ReleaseSizeEvents)
	t.template = t.controller.templates.get(t.key, d)
	s.Arrived = t.controller.Arrived(t.key)
	t.nameNext()
	selector := t.selector()
	t.fillReplicaSets(selector)
	s.Echo = t.echoes()
	s.LastProgress = t.lastProgress()
}

// nameNext computes what a new ReplicaSet would be called, now and after one
// more collision.
func (t *deploymentSync) nameNext() {
	d, s := t.d, &t.s
	s.NextHash = t.template.hash(&d.Spec.Template, d.Status.CollisionCount)
	s.NextName = ReplicaSetName(d.Name, s.NextHash)
	next := int32(1)
	if d.Status.CollisionCount != nil {
		next = *d.Status.CollisionCount + 1
	}
	s.CollisionHash = t.template.hash(&d.Spec.Template, &next)
	s.CollisionName = ReplicaSetName(d.Name, s.CollisionHash)
}

func (t *deploymentSync) selector() labels.Selector {
	d, s := t.d, &t.s
	s.SelectsAll = d.Spec.Selector != nil && equality.Semantic.DeepEqual(d.Spec.Selector, &metav1.LabelSelector{})
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		s.SelectorError = redact.Message(err.Error())
		return labels.Nothing()
	}
	s.Selector = redact.Line(selector.String())
	return selector
}

// fillReplicaSets adds the candidates: our own, and orphans that match.
func (t *deploymentSync) fillReplicaSets(selector labels.Selector) {
	own := family.ControlledBy(t.controller.owned, t.d.Namespace, t.d.UID)
	t.s.Deletion = family.Deletion(t.d, own)
	t.s.Changed = t.template.change(own)
	for _, rs := range own {
		one := t.replicaSet(rs, true, selector.Matches(labels.Set(rs.Labels)))
		if rs.Name == t.s.NextName && !one.SameTemplate {
			t.s.Mutated = templateDifference(&t.d.Spec.Template, &rs.Spec.Template)
		}
		t.s.ReplicaSets = append(t.s.ReplicaSets, one)
	}
	for _, rs := range family.OrphansIn(t.controller.owned, t.d.Namespace) {
		if selector.Matches(labels.Set(rs.Labels)) {
			t.s.ReplicaSets = append(t.s.ReplicaSets, t.replicaSet(rs, false, true))
		}
	}
	slices.SortFunc(t.s.ReplicaSets, func(a, b deployment.ReplicaSet) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
}

func (t *deploymentSync) replicaSet(rs *appsv1.ReplicaSet, mine, matches bool) deployment.ReplicaSet {
	out := deployment.ReplicaSet{
		Name: rs.Name, UID: string(rs.UID), RV: rs.ResourceVersion, Created: rs.CreationTimestamp.UTC(),
		Mine: mine, Matches: matches, Deleting: rs.DeletionTimestamp != nil,
		SameTemplate: t.template.sameAs(&t.d.Spec.Template, rs),
		CopyStale:    copyStale(t.d.Annotations, rs.Annotations), NotKept: t.notKept(rs),
		Replicas: int64(family.DefaultToOne(rs.Spec.Replicas)), MinReady: int64(rs.Spec.MinReadySeconds),
		Generation: rs.Generation, ObservedGeneration: rs.Status.ObservedGeneration,
		StatusReplicas: int64(rs.Status.Replicas), Ready: int64(rs.Status.ReadyReplicas), Available: int64(rs.Status.AvailableReplicas),
		Terminating: family.ToInt(rs.Status.TerminatingReplicas),
		Failure:     t.replicaFailure(rs),
		Revision:    t.RedactNumber(rs.Annotations[AnnotationRevision]), History: redact.Numbers(rs.Annotations[AnnotationHistory]),
		Desired: redact.Number(rs.Annotations[AnnotationDesired]), Max: redact.Number(rs.Annotations[AnnotationMax]),
		Images: family.Images(&rs.Spec.Template.Spec),
	}
	if is, there := rs.Annotations[AnnotationRevision]; there && is == "" {
		out.EmptyRevision = true
	}
	if least := t.controller.sizes.minimum(rs.UID, sizeAt{rs.Generation, out.Replicas}, statusAt{out.ObservedGeneration, out.StatusReplicas}); least < out.Replicas {
		out.Least = &least
	}
	if mine {
		pods := family.PodsOf(t.controller.pods, rs.Namespace, family.KindReplicaSet, rs.Name, string(rs.UID))
		t.fillPods(&out, pods)
		out.Deletion = family.Deletion(rs, pods)
		if out.Replicas > 0 {
			out.Lost = family.Lost(rs.Name, rs.Spec.Selector, t.s.Now, pods, family.PodsIn(t.controller.pods, rs.Namespace))
		}
	}
	return out
}

// fillPods counts the pods of a ReplicaSet and describes those that block.
func (t *deploymentSync) fillPods(rs *deployment.ReplicaSet, pods []*corev1.Pod) {
	var blocking []deployment.Pod
	for _, p := range pods {
		if d := family.Disruption(p); family.IsRecent(d, t.s.Now) {
			rs.Disrupted = append(rs.Disrupted, decision.DisruptedPod{Name: p.Name, Created: p.CreationTimestamp.UTC(), Node: redact.Line(p.Spec.NodeName), Disruption: *d})
		}
		if family.PodFinished(p) {
			if p.DeletionTimestamp != nil {
				rs.TerminatingEnded++
				rs.TerminatingEndedPods = append(rs.TerminatingEndedPods, family.TerminatingPod(p))
			}
			continue
		}
		rs.NonTerminal++
		if p.DeletionTimestamp != nil {
			rs.TerminatingNow++
			rs.TerminatingPods = append(rs.TerminatingPods, family.TerminatingPod(p))
			continue
		}
		if !family.PodAvailable(p, rs.MinReady, t.s.Now) {
			blocking = append(blocking, blockingPod(p))
		}
		recordStartupTime(rs, p)
	}
	rs.TerminatingPods, rs.TerminatingEndedPods = family.FirstTerminating(rs.TerminatingPods), family.FirstTerminating(rs.TerminatingEndedPods)
	rs.Disrupted = newestDisrupted(rs.Disrupted)
	rs.Blocked(blocking, t.s.Now)
}

// recordStartupTime notes how long a ready pod took, of those that became ready once.
func recordStartupTime(rs *deployment.ReplicaSet, p *corev1.Pod) {
	since := family.PodReadySince(p)
	if since.IsZero() {
		return
	}
	took := since.Sub(p.CreationTimestamp.Time)
	if regular, sidecar := family.Restarts(p); regular > 0 || sidecar > 0 || took > deployment.MaxStartupTime {
		return
	}
	if rs.Startup == nil {
		rs.Startup = &deployment.StartupTimes{}
	}
	rs.Startup.Add(took)
}

func blockingPod(p *corev1.Pod) deployment.Pod {
	w := family.PodWaitOf(p)
	restarted, _ := family.Restarts(p)
	return deployment.Pod{
		Name: p.Name, Created: p.CreationTimestamp.UTC(), Phase: redact.Line(string(p.Status.Phase)), Node: redact.Line(p.Spec.NodeName),
		Ready: family.PodReady(p), ReadySince: family.PodReadySince(p),
		Reason: w.Reason, Message: w.Message, Image: w.Image, Since: w.Since, Restarts: restarted, ContainerState: w.Container, Nominated: w.Nominated, Scheduler: w.Scheduler, ResourceClaim: w.ResourceClaim, NodeNamed: w.NodeNamed,
	}
}

// echoes are our writes to this Deployment and its ReplicaSets that the caches
// do not show yet.
func (t *deploymentSync) echoes() []deployment.Echo {
	var list []deployment.Echo
	for _, e := range t.controller.opts.Ledger.Pending(t.d.UID, t.controller.stores, t.seen, t.cached) {
		list = append(list, deployment.Echo{Object: e.Object, Written: e.Written, Cached: e.Cached, Since: engine.WallTime(e.Since), Check: engine.WallTime(e.Check)})
		if e.Overdue {
			t.controller.MarkUnresolved(t.key)
		}
	}
	slices.SortFunc(list, func(a, b deployment.Echo) int { return strings.Compare(a.Object, b.Object) })
	return list
}

func (t *deploymentSync) cached(resource string, uid types.UID) string {
	if resource == family.ResourceDeployments {
		return t.d.ResourceVersion
	}
	for i := range t.s.ReplicaSets {
		if t.s.ReplicaSets[i].UID == string(uid) {
			return t.s.ReplicaSets[i].RV
		}
	}
	return ""
}

func (t *deploymentSync) lastProgress() time.Time {
	var counts [4]int64
	for _, rs := range t.s.ReplicaSets {
		counts[0] += rs.Replicas
		counts[1] += rs.StatusReplicas
		counts[2] += rs.Ready
		counts[3] += rs.Available
	}
	var updated time.Time
	for _, c := range t.d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionTrue {
			updated = c.LastUpdateTime.UTC()
		}
	}
	return t.controller.progress.note(t.key, counts, updated, t.s.Now)
}

// copyStale reports whether an annotation of the Deployment is missing or
// different on the ReplicaSet.
func copyStale(from, to map[string]string) bool {
	for k, v := range from {
		if have, ok := to[k]; !slices.Contains(ownAnnotations, k) && (!ok || have != v) {
			return true
		}
	}
	return false
}

func (t *deploymentSync) status(st *appsv1.DeploymentStatus) deployment.Status {
	out := deployment.Status{
		ObservedGeneration: st.ObservedGeneration, Replicas: int64(st.Replicas), Updated: int64(st.UpdatedReplicas),
		Ready: int64(st.ReadyReplicas), Available: int64(st.AvailableReplicas), Unavailable: int64(st.UnavailableReplicas),
		Terminating: family.ToInt(st.TerminatingReplicas), Collisions: family.ToInt(st.CollisionCount),
	}
	for _, c := range st.Conditions {
		told := t.Condition(string(c.Type), string(c.Status), c.Reason, c.Message)
		told.Updated, told.Transition = c.LastUpdateTime.UTC(), c.LastTransitionTime.UTC()
		out.Conditions = append(out.Conditions, told)
	}
	return out
}

func (t *deploymentSync) replicaFailure(rs *appsv1.ReplicaSet) *decision.Condition {
	for _, c := range rs.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure {
			told := t.Condition(string(c.Type), string(c.Status), c.Reason, c.Message)
			told.Transition = c.LastTransitionTime.UTC()
			return &told
		}
	}
	return nil
}

// limited is nil for "no limit": absent, or the largest int32, as Kubernetes' own tools write it.
func limited(n *int32) *int64 {
	if n == nil || *n == math.MaxInt32 {
		return nil
	}
	return family.ToInt(n)
}

func intOrPercent(v *intstr.IntOrString) *deployment.IntOrPercent {
	switch {
	case v == nil:
		return nil
	case v.Type == intstr.String:
		return &deployment.IntOrPercent{Percent: redact.Line(v.StrVal)}
	default:
		return &deployment.IntOrPercent{Int: int64(v.IntVal)}
	}
}
