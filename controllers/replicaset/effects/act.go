package effects

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// maxNames bounds the pods an outcome names.
const maxNames = 50

// replicaSetSync is one sync of one owner of pods, in the form of a ReplicaSet.
type replicaSetSync struct {
	engine.Redactor
	controller *replicaSetController
	key        string
	seen       engine.Versions    // of the stores, from before anything was read
	rs         *appsv1.ReplicaSet // from the cache: never changed; nil where it is gone
	s          replicaset.Snapshot
	sync       *replicaset.Sync
	parent     engine.ParentCheck
	expect     engine.Expected // as of before the pods were listed
}

func (t *replicaSetSync) Core() decision.Core {
	if t.sync == nil {
		t.sync = replicaset.NewSync(&t.s)
	}
	return t.sync
}

func (t *replicaSetSync) Now() time.Time                        { return t.s.Now }
func (t *replicaSetSync) Snapshot() (telemetry.Snapshot, error) { return telemetry.SnapshotOf(&t.s) }

func (t *replicaSetSync) Remember(trace *telemetry.Trace) {
	if t.s.Found {
		t.controller.changes.Note(t.key, t.s.UID, engine.ClaimsAfter(t.controller.changes.Of(t.key, t.s.UID), t.s.Now, t.s.Want, trace))
	}
}

// Object is a reference, as the event must name the object and not its form.
func (t *replicaSetSync) Object() runtime.Object {
	if t.rs == nil {
		return nil
	}
	return &corev1.ObjectReference{
		APIVersion: t.controller.owners.kind().GroupVersion().String(), Kind: t.controller.kind(),
		Namespace: t.rs.Namespace, Name: t.rs.Name, UID: t.rs.UID, ResourceVersion: t.rs.ResourceVersion,
	}
}

func (t *replicaSetSync) Identity() engine.Identity {
	return engine.Identity{UID: t.s.UID, Owner: t.s.Owner, Found: t.s.Found, Waiting: len(t.s.Echo) > 0}
}

// Do carries out one action.
func (t *replicaSetSync) Do(ctx context.Context, a decision.Action) (decision.Outcome, decision.Learnt) {
	switch a.Kind {
	case decision.CreatePods:
		return t.create(ctx, a)
	case decision.DeletePods:
		return t.delete(ctx, a), decision.Learnt{}
	case decision.Adopt:
		return t.adopt(ctx, a)
	case decision.Release:
		return t.patch(ctx, a, engine.ReleasePatch(a.Target.UID, string(t.rs.UID)))
	}
	return engine.Unsupported(a), decision.Learnt{}
}

// podResults collects the replies of many requests that run at once.
type podResults struct {
	mu          sync.Mutex
	outcome     decision.Outcome
	lost        *decision.Failure // the first after which a pod may be there all the same
	terminating bool
}

func (p *podResults) created(pod *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.outcome.RVs) < maxNames {
		p.outcome.RVs = append(p.outcome.RVs, pod.ResourceVersion)
	}
	p.count(pod.Name)
}

func (p *podResults) deleted(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count(name)
}

// count notes a pod that was done. It is locked.
func (p *podResults) count(name string) {
	p.outcome.Done++
	if len(p.outcome.Names) < maxNames {
		p.outcome.Names = append(p.outcome.Names, name)
	}
}

// failed keeps the first failure. One of a namespace that is being deleted is told to nobody ([P-4]),
// so any other takes its place, as an answer does of none.
func (p *podResults) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome.Failed++
	now := engine.FailureOf(err)
	if p.lost == nil && engine.OutcomeUnknown(err) {
		p.lost = now
	}
	p.terminating = p.terminating || engine.NamespaceTerminating(err)
	if f := p.outcome.Failure; f == nil || f.Terminal && !now.Terminal || f.Down() && !now.Down() && !now.Terminal {
		p.outcome.Failure = now
	}
}

// sum is the outcome of all of them.
func (p *podResults) sum() decision.Outcome {
	o := p.outcome
	switch {
	case o.Failed == 0:
		o.State = decision.Written
	case p.lost != nil:
		o.State = decision.Unknown
		if p.lost != o.Failure {
			o.Lost = p.lost
		}
	case o.Done > 0:
		o.State = decision.Partly
	case o.Failure.Down():
		o.State = decision.Unanswered
	default:
		o.State = decision.Refused
	}
	return o
}

// create starts slowly: batches of 1, 2, 4, ..., and none after one with a
// failure, so that a refusing quota costs one request and not five hundred ([P-3]).
func (t *replicaSetSync) create(ctx context.Context, a decision.Action) (decision.Outcome, decision.Learnt) {
	if len(t.rs.Spec.Template.Labels) == 0 { // Nobody would find such a pod again.
		return decision.Outcome{State: decision.Refused, Untried: a.Count, Failure: &decision.Failure{Reason: "Invalid", Message: "unable to create pods, no labels"}}, decision.Learnt{}
	}
	t.controller.Expectations().Expect(t.key, a.Count)
	var all podResults
	left := a.Count
	for batch := int64(1); left > 0 && all.outcome.Failed == 0; batch *= 2 {
		n := min(batch, left)
		runAll(n, func(int64) { t.createPod(ctx, &all) })
		left -= n
	}
	all.outcome.Untried = left
	// What failed or was never tried will not be seen.
	t.controller.Expectations().Created(t.key, a.Count-all.outcome.Done)
	return all.sum(), decision.Learnt{NamespaceTerminating: all.terminating}
}

func (t *replicaSetSync) createPod(ctx context.Context, all *podResults) {
	var pod *corev1.Pod
	err := t.controller.WithRecover(func() (err error) {
		pod, err = t.controller.client.CoreV1().Pods(t.rs.Namespace).Create(ctx, t.newPod(), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		all.failed(err)
		return
	}
	all.created(pod)
}

// newPod builds a pod from the template ([P-2]).
func (t *replicaSetSync) newPod() *corev1.Pod {
	template := t.rs.Spec.Template.DeepCopy()
	prefix := t.rs.Name + "-"
	if len(validation.NameIsDNSSubdomain(prefix, true)) > 0 {
		prefix = t.rs.Name
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: prefix, Namespace: t.rs.Namespace,
			Labels: template.Labels, Annotations: template.Annotations, Finalizers: template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(t.rs, t.controller.owners.kind())},
		},
		Spec: template.Spec,
	}
}

// delete removes all victims at once, each only if it is still the pod that was ranked.
func (t *replicaSetSync) delete(ctx context.Context, a decision.Action) decision.Outcome {
	uids := make([]types.UID, 0, len(a.Victims))
	for _, v := range a.Victims {
		uids = append(uids, types.UID(v.UID))
	}
	t.controller.Expectations().Expect(t.key, 0, uids...)
	var all podResults
	runAll(int64(len(a.Victims)), func(i int64) { t.deletePod(ctx, a.Victims[i], &all) })
	return all.sum()
}

func (t *replicaSetSync) deletePod(ctx context.Context, v decision.Victim, all *podResults) {
	uid := types.UID(v.UID)
	err := t.controller.WithRecover(func() error {
		return t.controller.client.CoreV1().Pods(t.rs.Namespace).Delete(ctx, v.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	})
	switch {
	case err == nil:
		all.deleted(v.Name)
	case apierrors.IsNotFound(err):
		t.controller.Expectations().Deleted(t.key, uid)
	default:
		if !engine.OutcomeUnknown(err) { // Otherwise a live read tells whether it is still to come.
			t.controller.Expectations().Deleted(t.key, uid)
		}
		all.failed(fmt.Errorf(engine.NotDeleted+"%w", err))
	}
}

// runAll runs f for 0 to n-1, all at the same time, and waits for them.
func runAll(n int64, f func(i int64)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { f(i) })
	}
	group.Wait()
}

// adopt makes an orphan ours, after one live look at whether we still exist ([A-2]).
func (t *replicaSetSync) adopt(ctx context.Context, a decision.Action) (decision.Outcome, decision.Learnt) {
	state, err := t.parent.Check(string(t.rs.UID), func() (metav1.Object, error) {
		return t.controller.owners.live(ctx, t.rs.Namespace, t.rs.Name)
	})
	if err != nil {
		return engine.Refusal(engine.CannotAdopt(a, err)), decision.Learnt{}
	}
	if state != "" {
		return decision.Outcome{State: decision.NotTried}, decision.Learnt{Parent: state}
	}
	return t.patch(ctx, a, engine.AdoptPatch(a.Target.UID, metav1.NewControllerRef(t.rs, t.controller.owners.kind())))
}

func (t *replicaSetSync) patch(ctx context.Context, a decision.Action, body []byte) (decision.Outcome, decision.Learnt) {
	pod, err := t.controller.client.CoreV1().Pods(a.Target.Namespace).Patch(ctx, a.Target.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{})
	if err != nil {
		return engine.ClaimOutcome(a, err)
	}
	t.controller.wrotePod(pod, t.rs)
	return engine.OutcomeOf(pod.ResourceVersion, nil), decision.Learnt{}
}

// Publish writes the status, once and guarded: the Deployment loop writes the same object.
func (t *replicaSetSync) Publish(ctx context.Context) decision.Outcome {
	rs := t.rs.DeepCopy()
	setReplicaSetStatus(&rs.Status, &t.sync.Report().Status, t.UnredactCondition)
	return t.controller.Put(t.rs, func() (engine.Entry, error) {
		written, err := t.controller.owners.putStatus(ctx, rs)
		if err != nil {
			return engine.Entry{}, err
		}
		return t.controller.entryOf(written), nil
	}, func() *decision.Writer {
		read := func() (*appsv1.ReplicaSet, error) { return t.controller.owners.live(ctx, rs.Namespace, rs.Name) }
		return engine.OtherWriter(t.controller.Loop, t.rs, read, family.ReplicaSetFields)
	})
}

// Pending is nothing: the ledger is shared, and the Deployment loop lists it.
func (*replicaSetController) Pending() []telemetry.EchoState { return nil }

// setReplicaSetStatus fills in what is to be published, what others said in
// their very words.
func setReplicaSetStatus(st *appsv1.ReplicaSetStatus, s *replicaset.Status, verbatim func(decision.Condition) engine.Words) {
	st.ObservedGeneration = s.ObservedGeneration
	st.Replicas, st.FullyLabeledReplicas = int32(s.Replicas), int32(s.FullyLabeled)
	st.ReadyReplicas, st.AvailableReplicas = int32(s.Ready), int32(s.Available)
	st.TerminatingReplicas = family.ToInt32(s.Terminating)
	st.Conditions = nil
	for _, c := range s.Conditions {
		said := verbatim(c)
		st.Conditions = append(st.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(said.Kind), Status: corev1.ConditionStatus(said.Status), Reason: said.Reason, Message: said.Message,
			LastTransitionTime: metav1.NewTime(c.Transition),
		})
	}
}
