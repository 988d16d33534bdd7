package e2e_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry"
)

// TestPlansComeTrue holds what-if to what happens: of random rollouts, the plan
// that is folded from the snapshot recorded at their start has the sizes that
// the sandbox then has.
//
// Compared is every write of a size, of both ReplicaSets, in its order. That
// order is determined as soon as it is determined when pods become ready: a
// decision follows from sizes and from the pods that are available, and from
// nothing that takes time. So new pods become ready one by one, each once
// everything that the one before brought about is over, here as in the plan. How
// many syncs that takes, and when they come, is not determined and not compared.
func TestPlansComeTrue(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t)
	client := clientOf(t, plane.Plane)
	namespace := newNamespace(t, client, "plans")
	traces := followTraces(t, plane.Dashboard)
	first := testplane.Number(t, "LOOPSCOPE_E2E_SEED", rand.Uint64N(1_000_000))
	total := testplane.Number(t, "LOOPSCOPE_E2E_PLANS", 2)

	began := time.Now()
	var running sync.WaitGroup
	var mu sync.Mutex
	writes := 0
	slots := make(chan struct{}, 4)
	for seed := first; seed < first+total; seed++ {
		running.Add(1)
		slots <- struct{}{}
		go func() {
			defer func() { <-slots; running.Done() }()
			t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
				n := planComesTrue(t, client, traces, namespace, seed)
				mu.Lock()
				defer mu.Unlock()
				writes += n
			})
		}()
	}
	running.Wait()
	t.Logf("%d rollouts from seed %d in %s: %d writes of a size, each as planned", total, first, time.Since(began).Round(time.Second), writes)
}

// planComesTrue rolls one random Deployment and compares. It returns how many
// writes of a size there were.
func planComesTrue(t *testing.T, client kubernetes.Interface, traces *follower, namespace string, seed uint64) int {
	w := drawPlanned(seed)
	object := telemetry.Object{Loop: "deployment", Namespace: namespace, Name: w.name}
	create(t, client, namespace, w)
	waitQuiet(t, client, namespace, w.name)
	before := newest(traces.of(t, object))
	patchDeployment(t, client, namespace, w.name,
		`{"spec":{"template":{"metadata":{"annotations":{"sandbox.loopscope.dev/never-ready":"true","sandbox.loopscope.dev/ready-after":"20ms"}},"spec":{"containers":[{"name":"main","image":"shop:v2"}]}}}}`)
	r := rolling{t: t, client: client, traces: traces, object: object, after: before}
	r.quiet(0)
	for ready := range w.replicas {
		r.makeReady()
		r.quiet(int64(ready) + 1)
	}
	did := r.sizes()
	plan := fold(t, r.base())
	if !slices.Equal(plan, did) {
		t.Errorf("seed %d: %d replicas, surge %s, unavailable %s\nplanned: %s\nhappened: %s", seed, w.replicas, w.surge.String(), w.unavailable.String(),
			strings.Join(plan, ", "), strings.Join(did, ", "))
	}
	t.Logf("%d replicas, surge %s, unavailable %s: %s", w.replicas, w.surge.String(), w.unavailable.String(), strings.Join(did, ", "))
	return len(did)
}

// drawPlanned is a Deployment of up to 12 pods with random bounds.
func drawPlanned(seed uint64) wanted {
	r := rand.New(rand.NewPCG(seed, 1))
	w := wanted{name: fmt.Sprintf("plan-%d", seed), image: "shop:v1", replicas: 1 + r.Int32N(12), readyAfter: 20 * time.Millisecond}
	w.surge, w.unavailable = drawBound(r, w.replicas), drawBound(r, w.replicas)
	if strings.TrimSuffix(w.surge.String(), "%") == "0" && strings.TrimSuffix(w.unavailable.String(), "%") == "0" {
		w.surge = intstr.FromInt32(1)
	}
	return w
}

// rolling is a rollout whose new pods wait to be made ready.
type rolling struct {
	t      *testing.T
	client kubernetes.Interface
	traces *follower
	object telemetry.Object
	after  uint64 // the last sync before the change
}

// syncs are those of the Deployment since the change, in their order.
func (r *rolling) syncs() []*telemetry.Trace {
	r.t.Helper()
	var list []*telemetry.Trace
	for seq, trace := range r.traces.of(r.t, r.object) {
		if seq > r.after {
			list = append(list, trace)
		}
	}
	slices.SortFunc(list, func(a, b *telemetry.Trace) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}

func (r *rolling) snapshot(trace *telemetry.Trace) *deployment.Snapshot {
	r.t.Helper()
	s, err := deployment.Decode(trace.Snapshot.JSON())
	if err != nil {
		r.t.Fatalf("sync %d: %v", trace.Seq, err)
	}
	return s
}

// base is what the first sync saw that knew of the new template.
func (r *rolling) base() *deployment.Snapshot {
	r.t.Helper()
	for _, trace := range r.syncs() {
		s := r.snapshot(trace)
		if !slices.ContainsFunc(s.ReplicaSets, func(rs deployment.ReplicaSet) bool { return rs.SameTemplate }) {
			return s
		}
	}
	r.t.Fatalf("no sync of %s is recorded that saw the new template without a ReplicaSet", r.object.Key())
	return nil
}

// quiet waits until nothing follows any more from so many new pods being ready:
// the newest sync saw that many, saw no ReplicaSet on its way, and wrote nothing.
func (r *rolling) quiet(ready int64) {
	r.t.Helper()
	testplane.Until(r.t, settleLimit, fmt.Sprintf("%s with %d new pods ready", r.object.Key(), ready), func() error {
		list := r.syncs()
		if len(list) == 0 {
			return fmt.Errorf("no sync yet")
		}
		last := list[len(list)-1]
		if last.Result != telemetry.ResultUnchanged || last.Report != nil && last.Report.Hold {
			return fmt.Errorf("sync %d: %s", last.Seq, last.Result)
		}
		fresh := int64(-1)
		for _, rs := range r.snapshot(last).ReplicaSets {
			if rs.ObservedGeneration != rs.Generation || rs.StatusReplicas != rs.Replicas || rs.NonTerminal-rs.TerminatingNow != rs.Replicas {
				return fmt.Errorf("sync %d: ReplicaSet %s is on its way", last.Seq, rs.Name)
			}
			if rs.SameTemplate {
				fresh = rs.Available
			}
		}
		if fresh != ready {
			return fmt.Errorf("sync %d saw %d new pods available", last.Seq, fresh)
		}
		return nil
	})
}

// makeReady lets the oldest new pod become ready that waits.
func (r *rolling) makeReady() {
	r.t.Helper()
	list, err := r.client.CoreV1().Pods(r.object.Namespace).List(r.t.Context(), metav1.ListOptions{LabelSelector: "app=" + r.object.Name})
	if err != nil {
		r.t.Fatalf("list pods of %s: %v", r.object.Key(), err)
	}
	waiting := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.Annotations["sandbox.loopscope.dev/never-ready"] != "true" || p.DeletionTimestamp != nil
	})
	if len(waiting) == 0 {
		r.t.Fatalf("no pod of %s waits", r.object.Key())
	}
	oldest := slices.MinFunc(waiting, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	_, err = r.client.CoreV1().Pods(r.object.Namespace).Patch(r.t.Context(), oldest.Name, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"sandbox.loopscope.dev/never-ready":null}}}`), metav1.PatchOptions{})
	if err != nil {
		r.t.Fatalf("let pod %s become ready: %v", oldest.Name, err)
	}
}

// sizes are the writes of a size that the API server took.
func (r *rolling) sizes() []string {
	r.t.Helper()
	var list []string
	fresh := r.base().NextName
	for _, trace := range r.syncs() {
		for i := range trace.Rounds {
			for j, a := range trace.Rounds[i].Verdict.Actions {
				if a.Size != nil && a.Size.From != a.Size.To && trace.Rounds[i].Outcomes[j].RV != "" {
					list = append(list, sizeText(a.Target.Name == fresh, a.Size.From, a.Size.To))
				}
			}
		}
	}
	return list
}

func sizeText(fresh bool, from, to int64) string {
	if fresh {
		return fmt.Sprintf("new %d to %d", from, to)
	}
	return fmt.Sprintf("old %d to %d", from, to)
}

// fold plans the rollout: pods become ready 10 s apart, which is longer than
// anything that one of them brings about.
func fold(t *testing.T, s *deployment.Snapshot) []string {
	t.Helper()
	base := *s
	base.Lag = 0 // The model's queues are never long.
	c, err := sim.From(&base)
	if err != nil {
		t.Fatal(err)
	}
	next := c.Now()
	c.Rules.Fate = func(string, int) sim.Fate {
		if next.Before(c.Now()) {
			next = c.Now()
		}
		next = next.Add(10 * time.Second)
		return sim.ReadyAfter(next.Sub(c.Now()))
	}
	result := c.Run(sim.Bound{})
	if result.End != sim.Complete {
		raw, _ := json.Marshal(base)
		t.Fatalf("the plan ends %s: %s\nfrom %s", result.End, result.Sentence.At(result.At), raw)
	}
	var list []string
	for i := range result.Steps {
		for _, a := range result.Steps[i].Round.Verdict.Actions {
			if a.Size != nil && a.Size.From != a.Size.To {
				list = append(list, sizeText(a.Target.Name == s.NextName, a.Size.From, a.Size.To))
			}
		}
	}
	return list
}
