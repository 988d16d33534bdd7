package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// moves is a namespace with ReplicationControllers whose pods are watched from their settling on.
type moves struct {
	plane     *testplane.Plane
	client    kubernetes.Interface
	config    *rest.Config
	namespace string
	before    map[string]*corev1.ReplicationController
	pods      map[string][]types.UID

	mu    sync.Mutex
	wrong []string
}

// newMoves creates so many ReplicationControllers, called prefix-0 and so on, of a size.
func newMoves(t *testing.T, plane *testplane.Plane, count int, size int32) *moves {
	t.Helper()
	m := &moves{plane: plane, client: clientOf(t, plane), config: plane.Config(t), before: map[string]*corev1.ReplicationController{}, pods: map[string][]types.UID{}}
	m.namespace = newNamespace(t, m.client, "moved")
	for i := range count {
		name := fmt.Sprintf("rc-%d", i)
		app := map[string]string{"app": name}
		rc := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ReplicationControllerSpec{
			Replicas: &size, Selector: app,
			Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "shop:v1"}}}},
		}}
		if _, err := m.client.CoreV1().ReplicationControllers(m.namespace).Create(t.Context(), rc, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range count {
		name := fmt.Sprintf("rc-%d", i)
		testplane.Until(t, settleLimit, name, func() error {
			rc, err := m.client.CoreV1().ReplicationControllers(m.namespace).Get(t.Context(), name, metav1.GetOptions{})
			if err == nil && rc.Status.AvailableReplicas != size {
				err = fmt.Errorf("%d of %d pods are available", rc.Status.AvailableReplicas, size)
			}
			m.before[name] = rc
			return err
		})
	}
	m.watch(t)
	return m
}

// watch notes every pod that comes, goes or is restarted from now on.
func (m *moves) watch(t *testing.T) {
	t.Helper()
	list, err := m.client.CoreV1().Pods(m.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		p := &list.Items[i]
		m.pods[p.Labels["app"]] = append(m.pods[p.Labels["app"]], p.UID)
	}
	ctx := context.WithoutCancel(t.Context()) // It is stopped in the cleanup, which comes later.
	w, err := m.client.CoreV1().Pods(m.namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for e := range w.ResultChan() {
			p, ok := e.Object.(*corev1.Pod)
			if !ok {
				m.note("the watch of pods broke: %+v", e.Object)
				return
			}
			if p.Annotations[lastEvent] != "" {
				return
			}
			if p.Labels[madeByScaling] != "" {
				continue
			}
			restarted := slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.RestartCount > 0 })
			if e.Type != "MODIFIED" || p.DeletionTimestamp != nil || restarted || !podReady(p) {
				m.note("pod %s %s, ready %t, restarted %t, deleted at %v", p.Name, e.Type, podReady(p), restarted, p.DeletionTimestamp)
			}
		}
		m.note("the watch of pods ended early")
	}()
	t.Cleanup(func() {
		defer w.Stop()
		patch := []byte(`{"metadata":{"annotations":{"` + lastEvent + `":"yes"}}}`)
		if _, err := m.client.CoreV1().Pods(m.namespace).Patch(ctx, list.Items[0].Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Errorf("the last event: %v", err)
			return
		}
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("the watch of pods has not seen the last event within a minute")
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.wrong) > 0 {
			t.Errorf("%d events that should not have been:\n%s", len(m.wrong), strings.Join(m.wrong, "\n"))
		}
	})
}

// madeByScaling is the label of pods that a ReplicationController makes which somebody has scaled
// after its release.
const madeByScaling = "loopscope.dev/migrated-to"

// lastEvent is the annotation by which a test ends its watch, so that it has seen everything before.
const lastEvent = "loopscope.dev/last-event"

func (m *moves) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

// run is one command, which has to end well.
func (m *moves) run(t *testing.T, args ...string) (out string) {
	t.Helper()
	out, errOut, err := loopscope(t.Context(), t, m.plane.Kubeconfig, append([]string{"migrate", "-n", m.namespace}, args...)...)
	if err != nil {
		t.Errorf("migrate %v: %v\n%s%s", args, err, out, errOut)
	}
	return out
}

// moved checks that a Deployment has the pods, all of them and no other.
func (m *moves) moved(t *testing.T, name string) {
	t.Helper()
	d := waitSettled(t, m.client, m.namespace, name)
	if d.Spec.Paused || len(d.Finalizers) > 0 || d.Status.CollisionCount != nil || !equality.Semantic.DeepEqual(d.Spec.Template, *m.before[name].Spec.Template) {
		t.Errorf("%s: the Deployment is %+v", name, d)
	}
	sets, err := m.client.AppsV1().ReplicaSets(m.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil || len(sets.Items) != 1 {
		t.Fatalf("%s: %d ReplicaSets, want 1: %v", name, len(sets.Items), err)
	}
	set := &sets.Items[0]
	if !metav1.IsControlledBy(set, d) || set.Spec.Template.Spec.ServiceAccountName != "" || len(set.Finalizers) > 0 || set.Name != name+"-"+set.Labels[appsv1.DefaultDeploymentUniqueLabelKey] {
		t.Errorf("%s: the ReplicaSet is %+v", name, set)
	}
	m.same(t, name, set, true)
	if _, err := m.client.CoreV1().ReplicationControllers(m.namespace).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%s: the ReplicationController: %v, want not found", name, err)
	}
}

// asBefore checks that nothing of a migration is left.
func (m *moves) asBefore(t *testing.T, name string) {
	t.Helper()
	rc, err := m.client.CoreV1().ReplicationControllers(m.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if was := m.before[name]; !equality.Semantic.DeepEqual(rc.Spec, was.Spec) || !equality.Semantic.DeepEqual(rc.Annotations, was.Annotations) {
		t.Errorf("%s is %+v, was %+v", name, rc, was)
	}
	m.same(t, name, rc, false)
	sets, err := m.client.AppsV1().ReplicaSets(m.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil || len(sets.Items) > 0 {
		t.Errorf("%s: %d ReplicaSets are left, %v", name, len(sets.Items), err)
	}
	if _, err := m.client.AppsV1().Deployments(m.namespace).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%s: the Deployment: %v, want not found", name, err)
	}
}

// same compares the pods of an owner with those of before.
func (m *moves) same(t *testing.T, name string, owner metav1.Object, hashed bool) {
	t.Helper()
	list, err := m.client.CoreV1().Pods(m.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		t.Fatal(err)
	}
	var uids []types.UID
	for i := range list.Items {
		p := &list.Items[i]
		uids = append(uids, p.UID)
		if len(p.OwnerReferences) != 1 || !metav1.IsControlledBy(p, owner) || (p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != "") != hashed {
			t.Errorf("%s: pod %s has owners %+v and labels %v", name, p.Name, p.OwnerReferences, p.Labels)
		}
	}
	slices.Sort(uids)
	was := slices.Sorted(slices.Values(m.pods[name]))
	if !slices.Equal(uids, was) {
		t.Errorf("%s: its pods are %v, were %v", name, uids, was)
	}
}

// churn keeps the loops busy with rollouts until the test ends.
func (m *moves) churn(t *testing.T) {
	t.Helper()
	namespace := newNamespace(t, m.client, "churn")
	create(t, m.client, namespace, oneByOne("busy", 12, 0))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				text := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"shop:n%d"}]}}}}`, n)
				_, _ = m.client.AppsV1().Deployments(namespace).Patch(ctx, "busy", types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{})
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// eachLoops runs a test with kube-controller-manager's loops and with Loopscope's.
func eachLoops(t *testing.T, test func(*testing.T, *testplane.Plane)) {
	t.Run("upstream", func(t *testing.T) {
		t.Parallel()
		test(t, upstreamPlane(t))
	})
	t.Run("own", func(t *testing.T) {
		t.Parallel()
		test(t, ownPlane(t).Plane)
	})
}

var unattended = regexp.MustCompile(`for ([0-9.]+) s no loop`)

// TestMigrate moves ReplicationControllers while other rollouts are under way: all there, half of
// them back and there again. No pod is deleted, restarted or created.
func TestMigrate(t *testing.T) {
	t.Parallel()
	eachLoops(t, func(t *testing.T, plane *testplane.Plane) {
		count := int(testplane.Number(t, "LOOPSCOPE_E2E_MIGRATED", 2))
		m := newMoves(t, plane, count, 5)
		m.churn(t)
		began := time.Now()
		var mu sync.Mutex
		var said strings.Builder
		var all sync.WaitGroup
		slots := make(chan struct{}, 4)
		for i := range count {
			all.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				name, out := fmt.Sprintf("rc-%d", i), ""
				if i%2 == 0 {
					out += m.run(t, "rc/"+name, "--write", "--keep-rc") + m.run(t, "rc/"+name, "--write", "--undo")
					m.asBefore(t, name)
				}
				out += m.run(t, "rc/"+name, "--write")
				mu.Lock()
				defer mu.Unlock()
				said.WriteString(out)
			})
		}
		all.Wait()
		took := time.Since(began)
		for i := range count {
			m.moved(t, fmt.Sprintf("rc-%d", i))
		}
		var spans []string
		for _, match := range unattended.FindAllStringSubmatch(said.String(), -1) {
			spans = append(spans, match[1])
		}
		slices.Sort(spans)
		t.Logf("%d with 5 pods each moved in %s, half of them back and there again; unattended %s s", count, took.Round(100*time.Millisecond), strings.Join(spans, " "))
	})
}

// TestMigratePlan says beforehand what is in the way and what would be done, and writes nothing.
func TestMigratePlan(t *testing.T) {
	t.Parallel()
	m := newMoves(t, ownPlane(t).Plane, 1, 2)
	says := func(code int, words ...string) {
		t.Helper()
		out, errOut, err := loopscope(t.Context(), t, m.plane.Kubeconfig, "migrate", "rc/rc-0", "-n", m.namespace)
		got := 0
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			got = exit.ExitCode()
		}
		if got != code {
			t.Errorf("it ended with %d, want %d: %v %s", got, code, err, errOut)
		}
		for _, want := range words {
			if !strings.Contains(out, want) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		}
	}
	m.plane.Kubectl(t, "-n", m.namespace, "create", "deployment", "rc-0", "--image=nginx:1.27", "--replicas=0")
	m.plane.Kubectl(t, "-n", m.namespace, "autoscale", "rc", "rc-0", "--min=2", "--max=2")
	m.plane.Kubectl(t, "-n", m.namespace, "create", "quota", "none", "--hard=count/replicasets.apps=0")
	says(2, "IN THE WAY", "Deployment rc-0 is there already", "selector of Deployment rc-0", "patch hpa rc-0", "Nothing was written.")
	m.plane.Kubectl(t, "-n", m.namespace, "delete", "deployment", "rc-0", "--cascade=foreground", "--wait")
	says(2, "the API server would not take the ReplicaSet")
	m.plane.Kubectl(t, "-n", m.namespace, "delete", "quota", "none")
	says(0, "  8. Delete the ReplicationController", "rc-0 is settled: 2 of 2 available", "WOULD WRITE  nothing", "--write takes these steps")
	m.asBefore(t, "rc-0")
}
