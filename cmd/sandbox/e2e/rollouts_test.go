package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

// rolloutsAtOnce is how many random rollouts share the loops at any moment.
const rolloutsAtOnce = 6

// fromEnvironment reads a number, or takes the default where there is none.
func fromEnvironment(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: want a whole number", name, text)
	}
	return n
}

// plan is one random rollout: a Deployment, and how often the image is changed
// again while it rolls, each time when so many pods are new.
type plan struct {
	wanted
	seed  uint64
	flips []int32
}

func (p plan) String() string {
	return fmt.Sprintf("seed %d: %s, %d replicas, surge %s, unavailable %s, ready after %s, changed again at %v updated",
		p.seed, p.name, p.replicas, p.surge.String(), p.unavailable.String(), p.readyAfter, p.flips)
}

// newPlan draws a rollout from its seed.
func newPlan(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 0))
	p := plan{seed: seed, wanted: wanted{name: fmt.Sprintf("random-%d", seed), image: "shop:v1",
		replicas: 1 + r.Int32N(50), readyAfter: time.Duration(r.IntN(7)) * 500 * time.Millisecond}}
	p.surge, p.unavailable = drawBound(r, p.replicas), drawBound(r, p.replicas)
	if p.surge.String() == "0" && p.unavailable.String() == "0" || p.surge.String() == "0%" && p.unavailable.String() == "0%" {
		p.surge = intstr.FromInt32(1) // the API server accepts no other zero for both
	}
	for range r.IntN(3) {
		p.flips = append(p.flips, 1+r.Int32N(p.replicas))
	}
	return p
}

func drawBound(r *rand.Rand, replicas int32) intstr.IntOrString {
	switch r.IntN(5) {
	case 0:
		return intstr.FromInt32(0)
	case 1:
		return intstr.FromInt32(1)
	case 2:
		return intstr.FromInt32(replicas)
	case 3:
		return intstr.FromInt32(1 + r.Int32N(replicas))
	default:
		return intstr.FromString([]string{"10%", "25%", "34%", "50%", "100%"}[r.IntN(5)])
	}
}

// TestRolloutBounds watches random rollouts, several at once.
func TestRolloutBounds(t *testing.T) {
	t.Parallel()
	plane := managedPlane(t)
	client := clientOf(t, plane.Plane)
	namespace := newNamespace(t, client, "rollouts")
	count := fromEnvironment(t, "LOOPSCOPE_E2E_ROLLOUTS", 12)
	first := fromEnvironment(t, "LOOPSCOPE_E2E_SEED", rand.Uint64N(1_000_000))
	watched := record(t, client, namespace)

	began := time.Now()
	runPlans(t, client, namespace, first, count)
	took := time.Since(began)
	seen := replay(watched.until(t, client, namespace))
	t.Logf("%d rollouts from seed %d in %s: %d changes checked, %d of them writes of a size",
		count, first, took.Round(time.Second), seen.checked.changes, seen.checked.writes)
	for _, b := range seen.breaches {
		t.Error(b)
	}
	if len(seen.done) != int(count) {
		t.Errorf("the watches brought %d Deployments, want %d", len(seen.done), count)
	}
	for _, d := range seen.done {
		t.Log(d)
		if !d.everArmed {
			t.Errorf("%s was never fully available, so its floor was never checked", d.name)
		}
	}
	explainConflicts(t, plane.AuditPath, namespace)
}

// runPlans runs them all, a few at a time.
func runPlans(t *testing.T, client kubernetes.Interface, namespace string, first, count uint64) {
	t.Helper()
	var running sync.WaitGroup
	slots := make(chan struct{}, rolloutsAtOnce)
	for seed := first; seed < first+count; seed++ {
		running.Add(1)
		slots <- struct{}{}
		p := newPlan(seed)
		t.Log(p)
		go func() {
			defer func() { <-slots; running.Done() }()
			t.Run(p.name, func(t *testing.T) { p.run(t, client, namespace) })
		}()
	}
	running.Wait()
}

// run creates the Deployment, rolls it, changes its mind on the way, and
// deletes it to make room.
func (p plan) run(t *testing.T, client kubernetes.Interface, namespace string) {
	create(t, client, namespace, p.wanted)
	waitSettled(t, client, namespace, p.name)
	version := 2
	setImage(t, client, namespace, p.name, fmt.Sprintf("shop:v%d", version))
	for _, at := range p.flips {
		waitFor(t, client, namespace, p.name, "progress", updated(at))
		version++
		setImage(t, client, namespace, p.name, fmt.Sprintf("shop:v%d", version))
	}
	waitSettled(t, client, namespace, p.name)
	if err := client.AppsV1().Deployments(namespace).Delete(t.Context(), p.name, metav1.DeleteOptions{}); err != nil {
		t.Errorf("delete %s: %v", p.name, err)
	}
}
