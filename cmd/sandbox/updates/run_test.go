package updates

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/controllers/engine"
	replicasets "github.com/loopscope/loopscope/controllers/replicaset/effects"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	rollingupdates "github.com/loopscope/loopscope/controllers/rollingupdate/effects"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
)

// limit is how long an update may take on a busy machine.
const limit = 2 * time.Minute

// run is one namespace with one ReplicationController and the loops that keep it.
type run struct {
	t         *testing.T
	plane     plane
	client    kubernetes.Interface // the administrator's
	namespace string
	size      int32
	watch     *watcher
	said      said
}

// said is the newest sentence of each update, by its code.
type said struct {
	mu    sync.Mutex
	codes map[string]string
}

// Record notes a sync of an update.
func (s *said) Record(t *telemetry.Trace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.codes == nil {
		s.codes = map[string]string{}
	}
	if t.Loop == rollingupdate.Loop.Name {
		s.codes[t.Name] = t.Sentence.Code
	}
}

// SyncOf knows no sync.
func (*said) SyncOf(_, _, _, _ string) (uint64, bool) { return 0, false }

// says waits until the sentence of an update is of that situation.
func (r *run) says(name, code string) {
	r.t.Helper()
	testplane.Until(r.t, limit, "the sentence "+code, func() error {
		r.said.mu.Lock()
		defer r.said.mu.Unlock()
		if is := r.said.codes[name]; is != code {
			return fmt.Errorf("it is %q", is)
		}
		return nil
	})
}

func newRun(t *testing.T, plane plane, size int32) *run {
	t.Helper()
	config := plane.Config(t)
	config.QPS, config.Burst = 200, 400
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ns, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "update-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &run{t: t, plane: plane, client: client, namespace: ns.Name, size: size}
}

// create makes a ReplicationController of that image.
func (r *run) create(name, image string, size int32, labels, annotations map[string]string) *corev1.ReplicationController {
	r.t.Helper()
	rc, err := r.client.CoreV1().ReplicationControllers(r.namespace).Create(r.t.Context(), &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}, Annotations: annotations},
		Spec: corev1.ReplicationControllerSpec{Replicas: &size, Selector: labels, Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return rc
}

var appWeb = map[string]string{"app": "web"}

// old makes the one that is replaced, and waits for its pods.
func (r *run) old(labels map[string]string) *corev1.ReplicationController {
	r.t.Helper()
	rc := r.create("web", "web:1", r.size, labels, nil)
	r.available("web", r.size)
	return rc
}

func (r *run) get(name string) (*corev1.ReplicationController, error) {
	return r.client.CoreV1().ReplicationControllers(r.namespace).Get(r.t.Context(), name, metav1.GetOptions{})
}

// available waits until one of them has that many available pods, and no other.
func (r *run) available(name string, n int32) {
	r.t.Helper()
	testplane.Until(r.t, limit, fmt.Sprintf("%d pods of %s", n, name), func() error {
		rc, err := r.get(name)
		if err != nil {
			return err
		}
		if st := rc.Status; st.ObservedGeneration < rc.Generation || st.Replicas != n || st.AvailableReplicas != n {
			return fmt.Errorf("status %+v", st)
		}
		return nil
	})
}

// ask writes a request.
func (r *run) ask(request string) { r.annotate("web", rollingupdate.AnnotationRequest, request) }

func (r *run) annotate(name, key, value string) {
	r.t.Helper()
	if err := r.tryAnnotate(r.t.Context(), name, key, value); err != nil {
		r.t.Fatal(err)
	}
}

func (r *run) tryAnnotate(ctx context.Context, name, key, value string) error {
	body := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	_, err := r.client.CoreV1().ReplicationControllers(r.namespace).Patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	return err
}

// ended waits for the result of the request.
func (r *run) ended(name, id, how string) {
	r.t.Helper()
	testplane.Until(r.t, limit, "result on "+name, func() error {
		rc, err := r.get(name)
		if err != nil {
			return err
		}
		result := rc.Annotations[rollingupdate.AnnotationResult]
		if !strings.Contains(result, fmt.Sprintf(`"id":%q,"ended":%q`, id, how)) {
			return fmt.Errorf("annotations %v, conditions %+v", rc.Annotations, rc.Status.Conditions)
		}
		return nil
	})
}

// left waits for what there is to be at the end: these ReplicationControllers with their
// sizes, of that image, without notes, and no pod too many.
func (r *run) left(image string, sizes map[string]int32) {
	r.t.Helper()
	testplane.Until(r.t, limit, "the end", func() error {
		list, err := r.client.CoreV1().ReplicationControllers(r.namespace).List(r.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) != len(sizes) {
			var all []string
			for _, rc := range list.Items {
				all = append(all, fmt.Sprintf("%s with %d pods and %v", rc.Name, *rc.Spec.Replicas, rc.Annotations))
			}
			return fmt.Errorf("there is %v, want %v", all, sizes)
		}
		for i := range list.Items {
			rc := &list.Items[i]
			if n, known := sizes[rc.Name]; !known || *rc.Spec.Replicas != n || rc.Status.AvailableReplicas != n || rc.Status.Replicas != n {
				return fmt.Errorf("%s has %d pods, and status %+v, want %v", rc.Name, *rc.Spec.Replicas, rc.Status, sizes)
			}
			if rc.Spec.Template.Spec.ServiceAccountName != "" || rc.Spec.Selector[rollingupdate.LabelParked] != "" || rc.Spec.Template.Labels[rollingupdate.LabelParked] != "" {
				return fmt.Errorf("%s is still sealed: %+v", rc.Name, rc.Spec)
			}
			if n := sizes[rc.Name]; n > 0 && rc.Spec.Template.Spec.Containers[0].Image != image {
				return fmt.Errorf("%s has the image %s, want %s", rc.Name, rc.Spec.Template.Spec.Containers[0].Image, image)
			}
			for key, value := range rc.Annotations {
				if key != rollingupdate.AnnotationResult {
					return fmt.Errorf("%s still has %s=%s", rc.Name, key, value)
				}
			}
		}
		return r.podsAre(image, sizes)
	})
}

// podsAre checks the pods: none of another image, none without a controller.
func (r *run) podsAre(image string, sizes map[string]int32) error {
	all, err := r.client.CoreV1().Pods(r.namespace).List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	want := 0
	for _, n := range sizes {
		want += int(n)
	}
	if len(all.Items) != want {
		return fmt.Errorf("%d pods, want %d", len(all.Items), want)
	}
	for i := range all.Items {
		if pod := &all.Items[i]; pod.Spec.Containers[0].Image != image || metav1.GetControllerOf(pod) == nil {
			return fmt.Errorf("pod %s of %s has the controller %v", pod.Name, pod.Spec.Containers[0].Image, metav1.GetControllerOf(pod))
		}
	}
	return nil
}

// killer ends the process, so to speak, at a write: before it is sent, or after it was taken
// and before the reply came. Writes are counted from 1; 0 is none.
type killer struct {
	at    int64
	after bool
	n     atomic.Int64
	dead  atomic.Bool
	kill  func()
	// meet is called before a write; nil for nothing.
	meet func(n int64)
	next http.RoundTripper
}

var errKilled = errors.New("the process was killed")

func (k *killer) RoundTrip(req *http.Request) (*http.Response, error) {
	if k.dead.Load() {
		return nil, errKilled
	}
	if req.Method == http.MethodGet || strings.Contains(req.URL.Path, "/events") {
		return k.next.RoundTrip(req)
	}
	n := k.n.Add(1)
	if k.meet != nil {
		k.meet(n)
	}
	if n != k.at {
		return k.next.RoundTrip(req)
	}
	k.dead.Store(true)
	if k.after {
		if reply, err := k.next.RoundTrip(req); err == nil {
			_, _ = io.Copy(io.Discard, reply.Body)
			_ = reply.Body.Close()
		}
	}
	k.kill()
	return nil, errKilled
}

// loops runs the loops of ReplicationControllers and of rolling updates in this namespace,
// until the test ends or they are killed. They share caches and ledger as in a manager.
func (r *run) loops(k *killer) (ended <-chan struct{}) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	k.kill = cancel
	client := func(agent string, wrap bool) kubernetes.Interface {
		config := r.plane.LoopscopeConfig(r.t)
		config.UserAgent, config.QPS, config.Burst = "loopscope/test "+agent, 200, 400
		if wrap {
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { k.next = next; return k })
		}
		c, err := kubernetes.NewForConfig(rest.CopyConfig(config))
		if err != nil {
			r.t.Fatal(err)
		}
		return c
	}
	keeps := client("replication-controller", false)
	managers := changes.NewManagers()
	factory := informers.NewSharedInformerFactoryWithOptions(keeps, 0, informers.WithNamespace(r.namespace), informers.WithTransform(managers.Strip))
	options := engine.Options{Recorder: &r.said, Managers: managers, Ledger: engine.NewLedger(clock.RealClock{}), Signature: "loopscope", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	var running []interface {
		Run(ctx context.Context, workers int) error
	}
	if !r.plane.upstream {
		rc, err := replicasets.NewReplicationController(ctx, factory.Core().V1().ReplicationControllers(), factory.Core().V1().Pods(), keeps, options)
		if err != nil {
			r.t.Fatal(err)
		}
		running = append(running, rc)
	}
	update, err := rollingupdates.New(ctx, factory, client("rollingupdate-controller", true), options)
	if err != nil {
		r.t.Fatal(err)
	}
	running = append(running, update)
	factory.StartWithContext(ctx)
	done := make(chan struct{})
	errs := make(chan error, len(running))
	for _, loop := range running {
		go func() { errs <- loop.Run(ctx, 2) }()
	}
	go func() {
		defer close(done)
		for range running {
			if err := <-errs; err != nil {
				r.t.Errorf("a loop ended with %v", err)
			}
		}
		factory.Shutdown()
	}()
	r.t.Cleanup(func() {
		cancel()
		<-done
	})
	return done
}
