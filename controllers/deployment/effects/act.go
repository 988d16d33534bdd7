package effects

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// deploymentSync is one sync of one Deployment.
type deploymentSync struct {
	engine.Redactor
	controller *deploymentController
	key        string
	seen       engine.Versions    // of the stores, from before anything was read
	d          *appsv1.Deployment // from the cache: never changed; nil where it is gone
	s          deployment.Snapshot
	sync       *deployment.Sync
	parent     engine.ParentCheck
	// template is what is known of the Deployment's.
	template *knownTemplate
}

func (t *deploymentSync) Core() decision.Core {
	if t.sync == nil {
		t.sync = deployment.NewSync(&t.s)
	}
	return t.sync
}

func (t *deploymentSync) Now() time.Time                        { return t.s.Now }
func (t *deploymentSync) Snapshot() (telemetry.Snapshot, error) { return telemetry.SnapshotOf(&t.s) }

func (t *deploymentSync) Remember(trace *telemetry.Trace) {
	if t.s.Found {
		t.controller.changes.Note(t.key, t.s.UID, t.controller.changes.Of(t.key, t.s.UID).after(&t.s, trace))
	}
}

func (t *deploymentSync) Object() runtime.Object {
	if t.d == nil {
		return nil
	}
	return t.d
}

func (t *deploymentSync) Identity() engine.Identity {
	return engine.Identity{UID: t.s.UID, Found: t.s.Found, Waiting: len(t.s.Echo) > 0}
}

// Do carries out one action.
func (t *deploymentSync) Do(ctx context.Context, a decision.Action) (decision.Outcome, decision.Learnt) {
	switch a.Kind {
	case decision.CreateReplicaSet:
		return t.create(ctx, a)
	case decision.UpdateReplicaSet:
		return t.update(ctx, a)
	case decision.DeleteReplicaSet:
		return t.delete(ctx, a), decision.Learnt{}
	case decision.UpdateDeployment:
		return t.restore(ctx, a), decision.Learnt{}
	case decision.Adopt:
		return t.adopt(ctx, a)
	case decision.Release:
		return t.release(ctx, a)
	}
	return engine.Unsupported(a), decision.Learnt{}
}

func (t *deploymentSync) create(ctx context.Context, a decision.Action) (decision.Outcome, decision.Learnt) {
	rs := t.newReplicaSet(a)
	made, err := t.controller.client.AppsV1().ReplicaSets(rs.Namespace).Create(ctx, rs, metav1.CreateOptions{})
	switch {
	case err == nil:
		t.controller.wroteReplicaSet(made)
		o := engine.OutcomeOf(made.ResourceVersion, nil)
		o.Names = []string{made.Name}
		return o, decision.Learnt{}
	case apierrors.IsAlreadyExists(err):
		return t.nameTaken(ctx, rs, err)
	case engine.NamespaceTerminating(err):
		return engine.OutcomeOf("", err), decision.Learnt{NamespaceTerminating: true}
	default:
		return engine.OutcomeOf("", err), decision.Learnt{}
	}
}

// newReplicaSet builds the object of a create from the Deployment it belongs to ([N-3]).
func (t *deploymentSync) newReplicaSet(a decision.Action) *appsv1.ReplicaSet {
	d := t.d
	template := *d.Spec.Template.DeepCopy()
	template.Labels = withLabel(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey, a.Hash)
	selector := d.Spec.Selector.DeepCopy()
	selector.MatchLabels = withLabel(selector.MatchLabels, appsv1.DefaultDeploymentUniqueLabelKey, a.Hash)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: a.Target.Name, Namespace: d.Namespace, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind(family.KindDeployment))},
		},
		Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template},
	}
	t.apply(rs, a)
	return rs
}

// nameTaken asks the API server who has the name.
func (t *deploymentSync) nameTaken(ctx context.Context, rs *appsv1.ReplicaSet, taken error) (decision.Outcome, decision.Learnt) {
	live, err := t.controller.client.AppsV1().ReplicaSets(rs.Namespace).Get(ctx, rs.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err): // Gone again: the next try has the name.
		return decision.Outcome{State: decision.Conflicted, Failure: engine.FailureOf(taken)}, decision.Learnt{}
	case err != nil:
		return unreadHolder(err), decision.Learnt{}
	}
	found := &decision.NameTaken{
		Name: live.Name, UID: string(live.UID),
		Mine: metav1.IsControlledBy(live, t.d), SameTemplate: sameTemplate(&t.d.Spec.Template, &live.Spec.Template),
	}
	if found.Mine {
		t.controller.opts.Ledger.ReadLive(replicaSetEntry(live))
	}
	return engine.OutcomeOf("", taken), decision.Learnt{NameTaken: found}
}

// unreadHolder is the outcome of a create whose name is taken by what cannot be read. The create was
// answered with AlreadyExists, and nobody has refused the ReplicaSet for what it is ([N-4]).
func unreadHolder(err error) decision.Outcome {
	o := engine.Refusal(fmt.Errorf("cannot read who took its name: %w", err))
	if o.State == decision.Refused {
		o.Failure.Code, o.Failure.Reason = http.StatusConflict, decision.AlreadyExists
	}
	return o
}

// update writes size, annotations and minReadySeconds of a ReplicaSet.
func (t *deploymentSync) update(ctx context.Context, a decision.Action) (decision.Outcome, decision.Learnt) {
	cached, err := t.controller.replicaSets.ReplicaSets(a.Target.Namespace).Get(a.Target.Name)
	if err != nil || string(cached.UID) != a.Target.UID || cached.ResourceVersion != a.Target.RV {
		return decision.Outcome{State: decision.Superseded}, decision.Learnt{} // The cache moved on; its event brings the next sync.
	}
	rs := cached.DeepCopy()
	t.apply(rs, a)
	sets := t.controller.client.AppsV1().ReplicaSets(rs.Namespace)
	var written *appsv1.ReplicaSet
	o := t.controller.Guarded(rs.UID, rs.ResourceVersion, func() (_ engine.Entry, err error) {
		written, err = sets.Update(ctx, rs, metav1.UpdateOptions{})
		if err != nil {
			return engine.Entry{}, err
		}
		return replicaSetEntry(written), nil
	})
	if o.State == decision.Conflicted {
		o.Other = engine.OtherWriter(t.controller.Loop, cached, func() (*appsv1.ReplicaSet, error) { return sets.Get(ctx, rs.Name, metav1.GetOptions{}) }, family.ReplicaSetFields)
	}
	if o.State != decision.Written {
		return o, decision.Learnt{}
	}
	return o, t.noteUnkept(a, cached, written)
}

// apply puts an action's size, stamp and minReadySeconds on a ReplicaSet of ours.
func (t *deploymentSync) apply(rs *appsv1.ReplicaSet, a decision.Action) {
	if a.Size != nil {
		n := int32(a.Size.To)
		rs.Spec.Replicas = &n
	}
	if a.MinReadySeconds != nil {
		rs.Spec.MinReadySeconds = int32(*a.MinReadySeconds)
	}
	if a.Stamp == nil {
		return
	}
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	if a.Stamp.Copy {
		copyAnnotations(t.d.Annotations, rs.Annotations)
	}
	stamp(rs.Annotations, a.Stamp)
}

func copyAnnotations(from, to map[string]string) {
	for k, v := range from {
		if !isOwnAnnotation(k) {
			to[k] = v
		}
	}
}

func isOwnAnnotation(key string) bool {
	for _, own := range ownAnnotations {
		if key == own {
			return true
		}
	}
	return false
}

func stamp(annotations map[string]string, s *decision.Stamp) {
	if s.Revision != "" {
		annotations[AnnotationRevision] = s.Revision
	}
	if s.History != "" {
		annotations[AnnotationHistory] = verbatimHistory(annotations[AnnotationHistory], s.History)
	}
	if s.Desired != nil {
		annotations[AnnotationDesired] = strconv.FormatInt(*s.Desired, 10)
	}
	if s.Max != nil {
		annotations[AnnotationMax] = strconv.FormatInt(*s.Max, 10)
	}
}

// verbatimHistory puts back what a list of revisions was before a revision was added, where
// the record holds other words.
func verbatimHistory(was, next string) string {
	if added, found := strings.CutPrefix(next, redact.Numbers(was)); found && was != "" {
		return was + added
	}
	return next
}

func (t *deploymentSync) delete(ctx context.Context, a decision.Action) decision.Outcome {
	uid, rv := types.UID(a.Target.UID), a.Target.RV
	return engine.IgnoreNotFound(t.controller.Guarded(uid, rv, func() (engine.Entry, error) {
		return engine.Entry{}, t.controller.client.AppsV1().ReplicaSets(a.Target.Namespace).Delete(ctx, a.Target.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &rv},
		})
	}))
}

// restore writes the template of an earlier revision back and clears the
// rollback request ([RB-4]).
func (t *deploymentSync) restore(ctx context.Context, a decision.Action) decision.Outcome {
	d := t.d.DeepCopy()
	if a.Restore != nil {
		rs, err := t.controller.replicaSets.ReplicaSets(a.Restore.Namespace).Get(a.Restore.Name)
		if err != nil || string(rs.UID) != a.Restore.UID {
			return decision.Outcome{State: decision.Superseded}
		}
		d.Spec.Template = *withoutHash(rs.Spec.Template.DeepCopy())
		d.Annotations = restoredAnnotations(d.Annotations, rs.Annotations)
	}
	delete(d.Annotations, AnnotationRollback)
	return t.put(ctx, func() (*appsv1.Deployment, error) {
		return t.controller.client.AppsV1().Deployments(d.Namespace).Update(ctx, d, metav1.UpdateOptions{})
	})
}

// restoredAnnotations keeps the Deployment's own ones and takes the others from
// the ReplicaSet that is restored.
func restoredAnnotations(from, restored map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range from {
		if isOwnAnnotation(k) {
			out[k] = v
		}
	}
	copyAnnotations(restored, out)
	return out
}

// Publish writes the status, and with it the revision annotation, in one PUT:
// the status endpoint takes annotations and keeps spec and labels.
func (t *deploymentSync) Publish(ctx context.Context) decision.Outcome {
	d := t.d.DeepCopy()
	setDeploymentStatus(&d.Status, &t.sync.Report().Status, t.UnredactCondition)
	if t.sync.Report().Revision != "" {
		if d.Annotations == nil {
			d.Annotations = map[string]string{}
		}
		d.Annotations[AnnotationRevision] = t.UnredactNumber(t.sync.Report().Revision)
	}
	return t.put(ctx, func() (*appsv1.Deployment, error) {
		return t.controller.client.AppsV1().Deployments(d.Namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{})
	})
}

// put sends a guarded write of the Deployment itself.
func (t *deploymentSync) put(ctx context.Context, send func() (*appsv1.Deployment, error)) decision.Outcome {
	return t.controller.Put(t.d, func() (engine.Entry, error) {
		written, err := send()
		if err != nil {
			return engine.Entry{}, err
		}
		return deploymentEntry(written), nil
	}, func() *decision.Writer {
		return engine.OtherWriter(t.controller.Loop, t.d, func() (*appsv1.Deployment, error) { return t.controller.live(ctx, t.d) }, deploymentFields)
	})
}

// adopt makes an orphan ours, after one live look at whether we still exist ([A-2]).
func (t *deploymentSync) adopt(ctx context.Context, a decision.Action) (decision.Outcome, decision.Learnt) {
	state, err := t.parent.Check(string(t.d.UID), func() (metav1.Object, error) {
		return t.controller.live(ctx, t.d)
	})
	if err != nil {
		return engine.Refusal(engine.CannotAdopt(a, err)), decision.Learnt{}
	}
	if state != "" {
		return decision.Outcome{State: decision.NotTried}, decision.Learnt{Parent: state}
	}
	ref := metav1.NewControllerRef(t.d, appsv1.SchemeGroupVersion.WithKind(family.KindDeployment))
	return t.patch(ctx, a, engine.AdoptPatch(a.Target.UID, ref))
}

func (t *deploymentSync) release(ctx context.Context, a decision.Action) (decision.Outcome, decision.Learnt) {
	return t.patch(ctx, a, engine.ReleasePatch(a.Target.UID, string(t.d.UID)))
}

func (t *deploymentSync) patch(ctx context.Context, a decision.Action, body []byte) (decision.Outcome, decision.Learnt) {
	rs, err := t.controller.client.AppsV1().ReplicaSets(a.Target.Namespace).Patch(ctx, a.Target.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{})
	if err == nil {
		t.controller.opts.Ledger.Written(engine.Entry{UID: rs.UID, Owner: t.d.UID, Resource: family.ResourceReplicaSets, Object: family.KindReplicaSet + " " + rs.Name, RV: rs.ResourceVersion})
		return engine.OutcomeOf(rs.ResourceVersion, nil), decision.Learnt{}
	}
	return engine.ClaimOutcome(a, err)
}

// Pending is all that the ledger holds, which the loops share.
func (b *deploymentController) Pending() []telemetry.EchoState {
	var list []telemetry.EchoState
	for _, e := range b.opts.Ledger.All() {
		list = append(list, telemetry.EchoState{Object: e.Object, Written: e.Written, Cached: e.Cached, Since: e.Since, Check: e.Check})
	}
	return list
}

// setDeploymentStatus fills in what is to be published, what others said in
// their very words.
func setDeploymentStatus(st *appsv1.DeploymentStatus, s *deployment.Status, verbatim func(decision.Condition) engine.Words) {
	st.ObservedGeneration = s.ObservedGeneration
	st.Replicas, st.UpdatedReplicas = int32(s.Replicas), int32(s.Updated)
	st.ReadyReplicas, st.AvailableReplicas, st.UnavailableReplicas = int32(s.Ready), int32(s.Available), int32(s.Unavailable)
	st.TerminatingReplicas, st.CollisionCount = family.ToInt32(s.Terminating), family.ToInt32(s.Collisions)
	st.Conditions = nil
	for _, c := range s.Conditions {
		said := verbatim(c)
		st.Conditions = append(st.Conditions, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentConditionType(said.Kind), Status: corev1.ConditionStatus(said.Status), Reason: said.Reason, Message: said.Message,
			LastUpdateTime: metav1.NewTime(c.Updated), LastTransitionTime: metav1.NewTime(c.Transition),
		})
	}
}
