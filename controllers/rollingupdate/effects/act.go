package effects

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// updateSync is one sync of one update.
type updateSync struct {
	engine.Redactor
	controller *controller
	key        string
	seen       engine.Versions // of the stores, from before anything was read
	// old and new are from the cache: never changed; nil where they do not exist.
	old, new *corev1.ReplicationController
	image    string        // that is asked for, in its very words
	live     []*corev1.Pod // those of the old one while they are labelled, else nil
	s        rollingupdate.Snapshot
	sync     *rollingupdate.Sync
}

func (t *updateSync) Core() decision.Core {
	if t.sync == nil {
		t.sync = rollingupdate.NewSync(&t.s)
	}
	return t.sync
}

func (t *updateSync) Now() time.Time                        { return t.s.Now }
func (t *updateSync) Snapshot() (telemetry.Snapshot, error) { return telemetry.SnapshotOf(&t.s) }

// Remember is nothing: what the next syncs need stands in the annotations.
func (*updateSync) Remember(*telemetry.Trace) {}

// Object is the old one, or the one that replaces it where that is gone.
func (t *updateSync) Object() runtime.Object {
	switch {
	case t.old != nil:
		return t.old
	case t.new != nil:
		return t.new
	}
	return nil
}

func (t *updateSync) Identity() engine.Identity {
	id := engine.Identity{Found: t.old != nil || t.new != nil, Waiting: len(t.s.Echo) > 0}
	if t.old != nil {
		id.UID = string(t.old.UID)
	}
	return id
}

// Do carries out one action. Nothing that it finds out is decided on in the same sync.
func (t *updateSync) Do(ctx context.Context, a decision.Action) (decision.Outcome, decision.Learnt) {
	return t.do(ctx, a), decision.Learnt{}
}

func (t *updateSync) do(ctx context.Context, a decision.Action) decision.Outcome {
	pod := a.Target.Kind == family.KindPod
	switch {
	case pod && a.Kind == decision.Label:
		return t.label(ctx, a)
	case pod && a.Kind == decision.Delete:
		return t.deletePod(ctx, a)
	case a.Kind == decision.Create:
		return t.create(ctx, a)
	case a.Kind == decision.Scale, a.Kind == decision.Update:
		return t.update(ctx, a)
	case a.Kind == decision.UpdateStatus:
		return t.updateStatus(ctx, a)
	case a.Kind == decision.Delete:
		return t.delete(ctx, a)
	}
	return engine.Unsupported(a)
}

// label gives a pod the label of the old ones, if it is still the one that was decided on.
func (t *updateSync) label(ctx context.Context, a decision.Action) decision.Outcome {
	set := map[string]string{}
	for _, c := range a.Changes {
		if key, ok := bracketed(c.Field, "metadata.labels"); ok {
			set[key] = c.To
		}
	}
	body, _ := json.Marshal(map[string]any{"metadata": map[string]any{"uid": a.Target.UID, "labels": set}}) // Strings always marshal.
	pod, err := t.controller.client.CoreV1().Pods(a.Target.Namespace).Patch(ctx, a.Target.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{})
	if err != nil {
		return engine.IgnoreNotFound(engine.OutcomeOf("", err))
	}
	t.controller.opts.Ledger.Written(t.podEntry(pod))
	return engine.OutcomeOf(pod.ResourceVersion, nil)
}

func (t *updateSync) deletePod(ctx context.Context, a decision.Action) decision.Outcome {
	uid, rv := types.UID(a.Target.UID), a.Target.RV
	err := t.controller.client.CoreV1().Pods(a.Target.Namespace).Delete(ctx, a.Target.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &rv}})
	return engine.IgnoreNotFound(engine.OutcomeOf("", err))
}

// create makes the new one, or one of the old name where that is gone.
func (t *updateSync) create(ctx context.Context, a decision.Action) decision.Outcome {
	from := t.old
	if rollingupdate.TemplateFrom(&a) != "" {
		from = t.new
	}
	if from == nil || from.Spec.Template == nil {
		return decision.Outcome{State: decision.Superseded}
	}
	rc := emptied(from, a.Target.Name)
	if from == t.old {
		rc.Spec.Template = t.newTemplate()
	}
	t.apply(rc, a)
	made, err := t.controller.client.CoreV1().ReplicationControllers(rc.Namespace).Create(ctx, rc, metav1.CreateOptions{})
	if err != nil {
		return engine.OutcomeOf("", err)
	}
	t.controller.opts.Ledger.Written(t.entry(made))
	return engine.OutcomeOf(made.ResourceVersion, nil)
}

// untracked are labels or annotations without those of an update, and without those by which
// tools know what they have deployed: they would delete what they do not find in their sources.
func untracked(from map[string]string) map[string]string {
	out := maps.Clone(from)
	maps.DeleteFunc(out, func(key, _ string) bool { return rollingupdate.OfOne(key) })
	return out
}

// tracked are labels with those by which tools know the object that had these before.
func tracked(labels, before map[string]string) map[string]string {
	out := maps.Clone(labels)
	for key, value := range before {
		if rollingupdate.OfOne(key) {
			out = with(out, key, value)
		}
	}
	return out
}

// newTemplate is that of the new one, made from the old one's.
func (t *updateSync) newTemplate() *corev1.PodTemplateSpec {
	if t.old == nil || t.old.Spec.Template == nil || t.s.Request == nil {
		return &corev1.PodTemplateSpec{}
	}
	r, template := t.s.Request, t.old.Spec.Template.DeepCopy()
	for i := range template.Spec.Containers {
		c := &template.Spec.Containers[i]
		if c.Name == r.Container || r.Container == "" && len(template.Spec.Containers) == 1 {
			c.Image = t.image
			if r.ImagePullPolicy != "" {
				c.ImagePullPolicy = corev1.PullPolicy(r.ImagePullPolicy)
			}
		}
	}
	return template
}

// update writes size, labels, annotations, selector and template of one of the two.
func (t *updateSync) update(ctx context.Context, a decision.Action) decision.Outcome {
	was := t.controller.cached(a.Target.Namespace, a.Target.Name)
	if was == nil || string(was.UID) != a.Target.UID || was.ResourceVersion != a.Target.RV {
		return decision.Outcome{State: decision.Superseded} // The cache moved on; its event brings the next sync.
	}
	rc := was.DeepCopy()
	if name := rollingupdate.TemplateFrom(&a); name != "" {
		from := t.controller.cached(a.Target.Namespace, name)
		if from == nil || from.Spec.Template == nil {
			return decision.Outcome{State: decision.Superseded}
		}
		spec := from.Spec.DeepCopy()
		rc.Labels = tracked(from.Labels, rc.Labels)
		rc.Spec.Template, rc.Spec.Selector, rc.Spec.MinReadySeconds = spec.Template, spec.Selector, spec.MinReadySeconds
	}
	t.apply(rc, a)
	controllers := t.controller.client.CoreV1().ReplicationControllers(rc.Namespace)
	return t.put(ctx, was, func() (*corev1.ReplicationController, error) {
		return controllers.Update(ctx, rc, metav1.UpdateOptions{})
	})
}

// put sends a guarded write of one of the two.
func (t *updateSync) put(ctx context.Context, was *corev1.ReplicationController, send func() (*corev1.ReplicationController, error)) decision.Outcome {
	return t.controller.Put(was, func() (engine.Entry, error) {
		written, err := send()
		if err != nil {
			return engine.Entry{}, err
		}
		return t.entry(written), nil
	}, func() *decision.Writer {
		read := func() (*corev1.ReplicationController, error) {
			return t.controller.client.CoreV1().ReplicationControllers(was.Namespace).Get(ctx, was.Name, metav1.GetOptions{})
		}
		return engine.OtherWriter(t.controller.Loop, was, read, func(old, new *corev1.ReplicationController) []decision.Change { return changes.Between(old, new) })
	})
}

// apply makes the changes of an action, which say all that is written.
func (t *updateSync) apply(rc *corev1.ReplicationController, a decision.Action) {
	if a.Size != nil {
		n := int32(a.Size.To)
		rc.Spec.Replicas = &n
	}
	for _, c := range a.Changes {
		if key, ok := bracketed(c.Field, "metadata.annotations"); ok {
			rc.Annotations = with(rc.Annotations, key, c.To)
		}
		if key, ok := bracketed(c.Field, "spec.selector"); ok {
			rc.Spec.Selector = with(rc.Spec.Selector, key, c.To)
		}
		if key, ok := bracketed(c.Field, "spec.template.metadata.labels"); ok {
			rc.Spec.Template.Labels = with(rc.Spec.Template.Labels, key, c.To)
		}
		if c.Field == rollingupdate.FieldAccount {
			rc.Spec.Template.Spec.ServiceAccountName, rc.Spec.Template.Spec.DeprecatedServiceAccount = c.To, c.To
		}
	}
}

// bracketed is the key in "field[key]".
func bracketed(field, of string) (key string, ok bool) {
	key, ok = strings.CutPrefix(field, of+"[")
	return strings.TrimSuffix(key, "]"), ok && strings.HasSuffix(field, "]")
}

// with sets a key, or removes it where there is no value.
func with(m map[string]string, key, value string) map[string]string {
	if value == "" {
		delete(m, key)
		return m
	}
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// updateStatus publishes a condition, and leaves the rest of the status to the loop of
// ReplicationControllers.
func (t *updateSync) updateStatus(ctx context.Context, a decision.Action) decision.Outcome {
	was := t.controller.cached(a.Target.Namespace, a.Target.Name)
	if was == nil || string(was.UID) != a.Target.UID || was.ResourceVersion != a.Target.RV {
		return decision.Outcome{State: decision.Superseded}
	}
	status, reason, _ := strings.Cut(a.Changes[0].To, " ")
	rc := was.DeepCopy()
	if reason == "" {
		rc.Status.Conditions = slices.DeleteFunc(rc.Status.Conditions, func(c corev1.ReplicationControllerCondition) bool {
			return c.Type == rollingupdate.CondProgressing
		})
	} else {
		setCondition(&rc.Status, corev1.ReplicationControllerCondition{
			Type: rollingupdate.CondProgressing, Status: corev1.ConditionStatus(status), Reason: reason,
			Message: rollingupdate.Message(reason, t.s.NewName, t.sync.Why()), LastTransitionTime: metav1.NewTime(t.s.Now),
		})
	}
	return t.put(ctx, was, func() (*corev1.ReplicationController, error) {
		return t.controller.client.CoreV1().ReplicationControllers(rc.Namespace).UpdateStatus(ctx, rc, metav1.UpdateOptions{})
	})
}

func setCondition(st *corev1.ReplicationControllerStatus, c corev1.ReplicationControllerCondition) {
	for i := range st.Conditions {
		if st.Conditions[i].Type == c.Type {
			st.Conditions[i] = c
			return
		}
	}
	st.Conditions = append(st.Conditions, c)
}

// delete deletes one of the two, which has no pods any more.
func (t *updateSync) delete(ctx context.Context, a decision.Action) decision.Outcome {
	uid, rv := types.UID(a.Target.UID), a.Target.RV
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &rv}}
	how := metav1.DeletePropagationBackground // The API server's own default keeps what it may still own.
	options.PropagationPolicy = &how
	return engine.IgnoreNotFound(t.controller.Guarded(uid, rv, func() (engine.Entry, error) {
		return engine.Entry{}, t.controller.client.CoreV1().ReplicationControllers(a.Target.Namespace).Delete(ctx, a.Target.Name, options)
	}))
}

// Publish is never asked for: the conditions are writes of their own.
func (*updateSync) Publish(context.Context) decision.Outcome {
	return decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Reason: "Unsupported", Message: fmt.Sprintf("no code publishes a status of a %s", rollingupdate.Loop.Kind)}}
}
