package replay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// plane stands in for an API server: it numbers versions, names pods, lets them
// become ready, and fails now and then as real ones do.
type plane struct {
	*fake.Clientset
	mu     sync.Mutex
	number int
	failed map[string]int // by verb, resource and name: how often it was failed
}

func newPlane(objects ...runtime.Object) *plane {
	p := &plane{Clientset: fake.NewClientset(), failed: map[string]int{}}
	p.PrependReactor("*", "*", p.react)
	for _, o := range objects {
		if err := p.Tracker().Add(p.stamp(o)); err != nil {
			panic(err)
		}
	}
	return p
}

// stamp gives an object what the API server gives a new one.
func (p *plane) stamp(o runtime.Object) runtime.Object {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	m, err := meta.Accessor(o)
	if err != nil {
		panic(err)
	}
	if m.GetName() == "" {
		m.SetName(m.GetGenerateName() + strconv.Itoa(p.number))
	}
	m.SetUID(types.UID(fmt.Sprintf("uid-%d", p.number)))
	m.SetResourceVersion(strconv.Itoa(p.number))
	m.SetCreationTimestamp(metav1.Now())
	m.SetGeneration(1)
	if pod, ok := o.(*corev1.Pod); ok {
		play(pod)
	}
	return o
}

// play makes a pod ready unless its image cannot be pulled.
func play(pod *corev1.Pod) {
	pod.Spec.NodeName, pod.Status.Phase = "node-1", corev1.PodPending
	if pod.Spec.Containers[0].Image == "shop:404" {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: "shop:404", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image \"shop:404\""}}}}
		return
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
}

func (p *plane) react(action clienttesting.Action) (bool, runtime.Object, error) {
	switch a := action.(type) {
	case clienttesting.CreateActionImpl:
		if a.Resource.Resource == "events" {
			return false, nil, nil
		}
		if err := p.refusal(a.Verb, a.Resource, a.Subresource, a.Object); err != nil {
			return true, nil, err
		}
		p.stamp(a.Object)
	case clienttesting.UpdateActionImpl:
		if err := p.refusal(a.Verb, a.Resource, a.Subresource, a.Object); err != nil {
			return true, nil, err
		}
		p.version(a.Object, a.Subresource == "")
	case clienttesting.PatchActionImpl:
		if a.Name == "api-gone" { // Only the cache still has it.
			return true, nil, apierrors.NewNotFound(a.Resource.GroupResource(), a.Name)
		}
	}
	return false, nil, nil
}

func (p *plane) version(o runtime.Object, spec bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	m, err := meta.Accessor(o)
	if err != nil {
		panic(err)
	}
	m.SetResourceVersion(strconv.Itoa(p.number))
	if spec {
		m.SetGeneration(m.GetGeneration() + 1)
	}
}

// refusal is the error of a write that is failed on purpose, each a few times.
func (p *plane) refusal(verb string, resource schema.GroupVersionResource, sub string, o runtime.Object) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	is := func(v, r string, most int) bool {
		key := verb + " " + resource.Resource + "/" + sub + " " + v
		if verb != v || resource.Resource != r || p.failed[key] >= most {
			return false
		}
		p.failed[key]++
		return true
	}
	owner := ""
	if ref := metav1.GetControllerOf(m); ref != nil {
		owner = ref.Name
	}
	at := resource.GroupResource()
	switch {
	case owner == "quota" && verb == "create" && resource.Resource == "pods":
		return apierrors.NewForbidden(at, m.GetName(), errors.New("exceeded quota: pods"))
	case m.GetName() == "web" && is("update", "deployments", 2):
		return apierrors.NewConflict(at, m.GetName(), errors.New("the object has been modified"))
	case m.GetName() == "api" && is("update", "replicationcontrollers", 1):
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGatewayTimeout, Message: "timed out", Reason: metav1.StatusReasonTimeout}}
	case owner == "taken" && is("create", "replicasets", 1):
		foreign := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: m.GetName(), UID: "foreign", ResourceVersion: "1"}}
		return errors.Join(p.Tracker().Add(foreign), apierrors.NewAlreadyExists(at, m.GetName()))
	case strings.HasPrefix(owner, "ending-") && verb == "create" && resource.Resource == "pods":
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "the namespace is being terminated",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}
	}
	return nil
}

func labelled(name string) map[string]string { return map[string]string{"app": name} }

func template(name, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labelled(name)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}}}
}

func deploymentOf(name, image string, replicas int32) *appsv1.Deployment {
	deadline := int32(600)
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labelled(name)}, Template: template(name, image), ProgressDeadlineSeconds: &deadline,
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{}},
	}}
}

func controllerOf(name string, replicas int32) *corev1.ReplicationController {
	t := template(name, "shop:v1")
	return &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: labelled(name), Template: &t}}
}

// recorded runs the real loops until the record holds every kind of end that
// the plane provokes, and gives everything that was recorded.
func recorded(t testing.TB) []*telemetry.Trace {
	t.Helper()
	orphan := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labelled("api")}, Spec: template("api", "shop:v1").Spec}
	}
	bad := deploymentOf("bad", "shop:404", 2)
	unreadable := deploymentOf("unreadable", "shop:v1", 1)
	unreadable.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Sometimes"}}
	p := newPlane(deploymentOf("web", "shop:v1", 4), bad, unreadable, deploymentOf("taken", "shop:v1", 1), deploymentOf("ending", "shop:v1", 2),
		controllerOf("api", 3), controllerOf("quota", 2), orphan("api-orphan"), orphan("api-gone"))
	journal := telemetry.NewJournal(telemetry.JournalOptions{Loops: controllers.Loops})
	stop := runLoops(t, p, journal)
	defer stop()
	rolled := false
	until(t, func() error {
		if !rolled {
			rolled = roll(t.Context(), p)
		}
		return seen(journal)
	})
	stop()
	return journal.Kept(0, 1<<20)
}

func runLoops(t testing.TB, p *plane, journal *telemetry.Journal) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := informers.NewSharedInformerFactory(p, 0)
	opts := engine.Options{Recorder: journal, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	var loops []*engine.Loop
	for _, r := range controllers.Registered {
		l, err := r.New(ctx, engine.Needs{Informers: f, Client: p, Options: opts})
		if err != nil {
			t.Fatal(err)
		}
		loops = append(loops, l)
	}
	f.StartWithContext(ctx)
	var group sync.WaitGroup
	for _, l := range loops {
		group.Go(func() {
			if err := l.Run(ctx, 2); err != nil {
				t.Error(err)
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); group.Wait(); f.Shutdown() })
}

// roll changes what runs, once the first rollout has come up.
func roll(ctx context.Context, p *plane) bool {
	client := p.AppsV1().Deployments("shop")
	d, err := client.Get(ctx, "web", metav1.GetOptions{})
	if err != nil || d.Status.AvailableReplicas != 4 {
		return false
	}
	d.Spec.Template.Spec.Containers[0].Image = "shop:v2"
	_, err = client.Update(ctx, d, metav1.UpdateOptions{})
	return err == nil
}

// seen says what the record still lacks.
func seen(j *telemetry.Journal) error {
	results, rounds := map[telemetry.Result]int{}, map[string]int{}
	rolled, resized := false, false
	for _, x := range j.Kept(0, 1<<20) {
		results[x.Result]++
		resized = resized || resizes(x)
		rounds[x.Loop] = max(rounds[x.Loop], len(x.Rounds))
		rolled = rolled || x.Name == "web" && slices.ContainsFunc(x.Path(), func(s decision.Step) bool { return s.Question == "D-10" }) && strings.Contains(string(x.Snapshot.JSON()), "shop:v2")
	}
	for _, want := range []telemetry.Result{telemetry.ResultWrote, telemetry.ResultUnchanged, telemetry.ResultFailed, telemetry.ResultStale, telemetry.ResultUnknown} {
		if results[want] == 0 {
			return fmt.Errorf("no sync was %s: %v", want, results)
		}
	}
	for _, loop := range []string{"deployment", "replicaset", "replicationcontroller"} {
		if rounds[loop] < 2 {
			return fmt.Errorf("no sync of the %s loop learnt anything: %v", loop, rounds)
		}
	}
	if !rolled || !resized || j.Last() < 60 {
		return fmt.Errorf("%d syncs, rolled out %v, resized %v", j.Last(), rolled, resized)
	}
	return nil
}

// resizes says whether a sync wanted another size of a ReplicaSet that exists.
func resizes(x *telemetry.Trace) bool {
	return slices.ContainsFunc(x.Rounds, func(r decision.Round) bool {
		return slices.ContainsFunc(r.Verdict.Actions, func(a decision.Action) bool {
			return a.Kind == decision.UpdateReplicaSet && a.Size != nil
		})
	})
}

// until asks every few milliseconds, for a minute at most.
func until(t testing.TB, check func() error) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}
