package controllers

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// field is what the loops see of a cluster in one test.
type field struct {
	d    *appsv1.Deployment
	sets []*appsv1.ReplicaSet
	rc   *corev1.ReplicationController
	pods []*corev1.Pod
}

// rollout is in its middle: an old ReplicaSet with ready pods, a new one whose
// pods wait for an image, for a node and for their containers, and one that was
// evicted.
func rollout() *field {
	app := func() map[string]string { return map[string]string{"app": "web"} }
	d := lab.Deployment("web", "d-1", appsv1.RollingUpdateDeploymentStrategyType)
	d.Generation, d.Spec.Replicas, d.Annotations = 7, new(int32(3)), map[string]string{deployments.AnnotationRevision: "2"}
	d.Spec.Template = *lab.Template(app(), "")
	d.Spec.ProgressDeadlineSeconds = new(int32(600))
	f := &field{d: d}
	for i, image := range []string{"web:1", ""} {
		name := fmt.Sprintf("web-%d", i+1)
		rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object(name, "r-"+name, "1", app(), lab.OwnedBy(family.KindDeployment, "web", "d-1"))}
		rs.Spec = appsv1.ReplicaSetSpec{Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: app()}, Template: *lab.Template(app(), image)}
		rs.Annotations = map[string]string{deployments.AnnotationRevision: fmt.Sprint(i + 1), deployments.AnnotationDesired: "3", deployments.AnnotationMax: "4"}
		rs.CreationTimestamp = metav1.Unix(int64(1000+i), 0)
		f.sets = append(f.sets, rs)
	}
	f.sets[0].Status = appsv1.ReplicaSetStatus{Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3}
	f.sets[1].Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate"}}
	f.rc = &corev1.ReplicationController{ObjectMeta: lab.Object("old", "rc-1", "1", app(), nil)}
	f.rc.Spec = corev1.ReplicationControllerSpec{Replicas: new(int32(2)), Selector: map[string]string{"app": "old"}, Template: lab.Template(map[string]string{"app": "old"}, "")}
	waits := []corev1.PodStatus{
		{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}},
		{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"}}},
		{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}},
		{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		{Phase: corev1.PodFailed, Conditions: []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: laboratoryTime}}}},
	}
	for i, status := range waits {
		name := fmt.Sprintf("web-2-%d", i)
		f.pods = append(f.pods, &corev1.Pod{ObjectMeta: lab.Object(name, "p-"+name, "1", app(), lab.OwnedBy(family.KindReplicaSet, "web-2", "r-web-2")), Status: status})
	}
	p := &corev1.Pod{ObjectMeta: lab.Object("old-1", "p-old-1", "1", map[string]string{"app": "old"}, lab.OwnedBy(family.KindReplicationController, "old", "rc-1"))}
	f.pods = append(f.pods, p)
	return f
}

func (f *field) objects() []runtime.Object {
	list := []runtime.Object{f.d, f.rc}
	for _, rs := range f.sets {
		list = append(list, rs)
	}
	for _, p := range f.pods {
		list = append(list, p)
	}
	return list
}

// plant fills every string of every object.
func (f *field) plant(p *planting) {
	p.fill("Deployment", f.d)
	p.fill("ReplicationController", f.rc)
	for _, rs := range f.sets {
		p.fill("ReplicaSet", rs)
	}
	for _, pod := range f.pods {
		p.fill("Pod", pod)
	}
	for _, o := range f.objects() {
		m, _ := meta.Accessor(o)
		for i, entry := range m.GetManagedFields() {
			entry.Time = &metav1.Time{Time: time.Unix(1, 0)}
			m.GetManagedFields()[i] = entry
		}
		// Who owns what is not left to chance.
		m.SetOwnerReferences(slices.DeleteFunc(m.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.Controller == nil }))
	}
}

// newer is the next version of an object, with another spec.
func newer(o runtime.Object) {
	m, _ := meta.Accessor(o)
	m.SetResourceVersion("2")
	m.SetGeneration(m.GetGeneration() + 1)
}

// Selectors hold secrets in two situations only, as nothing matches them then.
const (
	strangeSelector = "strange selector" // that cannot be read
	otherLabels     = "other labels"
	noNode          = "no node"
)

// spared are the ends of the paths below which a situation plants nothing.
func spared(situation string) []string {
	switch situation {
	case strangeSelector:
		return nil
	case otherLabels:
		return []string{".matchExpressions"}
	case noNode:
		return []string{".spec.selector", "Pod.spec.nodeName"}
	default:
		return []string{".spec.selector"}
	}
}

// situations are what else may be the matter while the secrets are there.
var situations = map[string]func(*field){
	"rollout":       func(*field) {},
	"first rollout": func(f *field) { f.sets = f.sets[:1] },
	"same template": func(f *field) { f.sets[1].Spec.Template = *f.d.Spec.Template.DeepCopy() },
	"paused":        func(f *field) { f.d.Spec.Paused = true },
	"rollback":      func(f *field) { f.d.Annotations[deployments.AnnotationRollback] = "1" },
	"orphans": func(f *field) {
		for _, rs := range f.sets {
			rs.OwnerReferences = nil
		}
		for _, p := range f.pods {
			p.OwnerReferences = nil
		}
	},
	"too many pods": func(f *field) {
		for _, rs := range f.sets {
			rs.Spec.Replicas = new(int32(0))
		}
		f.rc.Spec.Replicas = new(int32(0))
	},
	"other strategy": func(f *field) {
		f.d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	},
	strangeSelector: func(*field) {},
	otherLabels:     func(*field) {},
	noNode:          func(*field) {},
	"bad selector": func(f *field) {
		bad := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like", Values: []string{"web"}}}}
		f.d.Spec.Selector, f.sets[0].Spec.Selector = bad, bad
	},
}

// echoed is the credential in an answer of the API server.
const echoed = "ECHOED5ECRET"

// replies are how the API server may answer a write.
var replies = map[string]func(o runtime.Object, name string) (runtime.Object, error){
	"taken": func(o runtime.Object, _ string) (runtime.Object, error) { return o, nil },
	"conflict": func(_ runtime.Object, name string) (runtime.Object, error) {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "deployments"}, name, fmt.Errorf("it has been modified"))
	},
	"refused": func(_ runtime.Object, name string) (runtime.Object, error) {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, name, fmt.Errorf("exceeded quota: team, requested: pods=1, used: pods=2, limited: pods=2"))
	},
	"echoed": func(_ runtime.Object, name string) (runtime.Object, error) { // By a webhook that quotes what it refuses.
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, name, fmt.Errorf("admission webhook \"policy.example\" denied the request: env DB_URL is password=%[1]s and Bearer %[1]s", echoed))
	},
	"lost": func(runtime.Object, string) (runtime.Object, error) {
		return nil, fmt.Errorf("connection reset by peer")
	},
}

// answering is an API server that holds a field and answers every write alike.
func answering(f *field, reply func(runtime.Object, string) (runtime.Object, error)) *fake.Clientset {
	client := &fake.Clientset{}
	client.AddReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		switch a := a.(type) {
		case clienttesting.ListAction:
			return true, f.list(a.GetResource().Resource), nil
		case clienttesting.CreateAction: // Updates have the same form.
			o := a.GetObject().DeepCopyObject()
			m, _ := meta.Accessor(o)
			if m.GetUID() == "" {
				m.SetUID("made")
				m.SetName(m.GetName() + m.GetGenerateName())
			}
			m.SetResourceVersion("9")
			out, err := reply(o, m.GetName())
			return true, out, err
		case clienttesting.PatchAction:
			o := f.get(a.GetResource().Resource, a.GetName())
			out, err := reply(o, a.GetName())
			return true, out, err
		case clienttesting.DeleteAction:
			_, err := reply(nil, a.GetName())
			return true, nil, err
		case clienttesting.GetAction:
			return true, f.get(a.GetResource().Resource, a.GetName()), nil
		}
		return false, nil, nil
	})
	return client
}

func (f *field) get(resource, name string) runtime.Object {
	for _, o := range f.objects() {
		m, _ := meta.Accessor(o)
		if m.GetName() == name && resourceOf(o) == resource {
			return o.DeepCopyObject()
		}
	}
	return nil
}

func (f *field) list(resource string) runtime.Object {
	switch resource {
	case family.ResourceReplicaSets:
		list := &appsv1.ReplicaSetList{}
		for _, rs := range f.sets {
			list.Items = append(list.Items, *rs)
		}
		return list
	default:
		list := &corev1.PodList{}
		for _, p := range f.pods {
			list.Items = append(list.Items, *p)
		}
		return list
	}
}

func resourceOf(o runtime.Object) string {
	switch o.(type) {
	case *appsv1.Deployment:
		return family.ResourceDeployments
	case *appsv1.ReplicaSet:
		return family.ResourceReplicaSets
	case *corev1.ReplicationController:
		return family.ResourceReplicationControllers
	default:
		return family.ResourcePods
	}
}
