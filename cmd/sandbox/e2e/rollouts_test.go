package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// plan is one random rollout: a Deployment, and what is done to it while it rolls.
type plan struct {
	wanted
	seed  uint64
	steps []step
}

// step is one change in the middle: once so many pods are new, or at once where
// the rollout is paused.
type step struct {
	do string // "image", "undo", "scale", "pause" or "resume"
	at int32
	to int32 // of a scale
}

func (s step) String() string {
	if s.do == "scale" {
		return fmt.Sprintf("scale to %d at %d", s.to, s.at)
	}
	return fmt.Sprintf("%s at %d", s.do, s.at)
}

func (p plan) String() string {
	return fmt.Sprintf("seed %d: %s, %d replicas, surge %s, unavailable %s, ready after %s, then %v",
		p.seed, p.name, p.replicas, p.surge.String(), p.unavailable.String(), p.readyAfter, p.steps)
}

// newPlan draws a rollout from its seed.
func newPlan(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 0))
	p := plan{seed: seed, wanted: wanted{name: fmt.Sprintf("random-%d", seed), image: "shop:v1",
		replicas: 1 + r.Int32N(50), readyAfter: time.Duration(r.IntN(4)) * 250 * time.Millisecond}}
	p.surge, p.unavailable = drawBound(r, p.replicas), drawBound(r, p.replicas)
	if p.surge.String() == "0" && p.unavailable.String() == "0" || p.surge.String() == "0%" && p.unavailable.String() == "0%" {
		p.surge = intstr.FromInt32(1) // the API server accepts no other zero for both
	}
	p.steps = drawSteps(r, p.replicas)
	return p
}

// drawSteps ends with the rollout going on.
func drawSteps(r *rand.Rand, replicas int32) []step {
	var steps []step
	paused := false
	for range r.IntN(5) {
		s := step{at: 1 + r.Int32N(max(1, replicas))}
		switch n := r.IntN(10); {
		case n < 3:
			s.do = "image"
		case n < 5:
			s.do = "undo"
		case n < 8:
			s.do, s.to = "scale", drawSize(r)
			replicas = s.to
		case paused:
			s.do, paused = "resume", false
		default:
			s.do, paused = "pause", true
		}
		steps = append(steps, s)
	}
	if paused {
		steps = append(steps, step{do: "resume"})
	}
	return steps
}

// drawSize is now and then nothing at all.
func drawSize(r *rand.Rand) int32 {
	if r.IntN(8) == 0 {
		return 0
	}
	return 1 + r.Int32N(50)
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

// TestRolloutBounds watches random rollouts, several at once, with scaling,
// pausing, changes of the image and undoing in the middle.
func TestRolloutBounds(t *testing.T) {
	t.Parallel()
	plane := managedPlane(t)
	client := clientOf(t, plane.Plane)
	namespace := newNamespace(t, client, "rollouts")
	count := testplane.Number(t, "LOOPSCOPE_E2E_ROLLOUTS", 6)
	first := testplane.Number(t, "LOOPSCOPE_E2E_SEED", rand.Uint64N(1_000_000))
	watched := record(t, client, namespace)

	began := time.Now()
	runPlans(t, client, namespace, first, count)
	took := time.Since(began)
	changes := watched.until(t, client, namespace)
	seen := replay(changes)
	t.Logf("%d rollouts from seed %d in %s: %d changes checked, %d of them writes of a size, the floor %d times",
		count, first, took.Round(time.Second), seen.checked.changes, seen.checked.writes, seen.checked.floors)
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
	if len(seen.breaches) > 0 {
		t.Errorf("bounds were left:\n%s", tellBreaches(changes, seen.breaches))
	}
}

// runPlans runs them all, a few at a time.
func runPlans(t *testing.T, client kubernetes.Interface, namespace string, first, count uint64) {
	t.Helper()
	var running sync.WaitGroup
	slots := make(chan struct{}, testplane.Number(t, "LOOPSCOPE_E2E_AT_ONCE", 6))
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
	p.plant(t, client, namespace)
	images := []string{p.image, "shop:v2"}
	setImage(t, client, namespace, p.name, "shop:v2")
	for _, s := range p.steps {
		p.await(t, client, namespace, s)
		switch s.do {
		case "image":
			images = append(images, fmt.Sprintf("shop:v%d", len(images)+1))
			setImage(t, client, namespace, p.name, images[len(images)-1])
		case "undo":
			images = append(images, images[len(images)-2])
			setImage(t, client, namespace, p.name, images[len(images)-1])
		case "scale":
			patchDeployment(t, client, namespace, p.name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, s.to))
		default:
			patchDeployment(t, client, namespace, p.name, fmt.Sprintf(`{"spec":{"paused":%t}}`, s.do == "pause"))
		}
	}
	p.plant(t, client, namespace)
	waitSettled(t, client, namespace, p.name)
	if err := client.AppsV1().Deployments(namespace).Delete(t.Context(), p.name, metav1.DeleteOptions{}); err != nil {
		t.Errorf("delete %s: %v", p.name, err)
	}
}

// await waits for the moment of a step.
func (p plan) await(t *testing.T, client kubernetes.Interface, namespace string, s step) {
	t.Helper()
	waitFor(t, client, namespace, p.name, "moment to "+s.String(), func(d *appsv1.Deployment) error {
		if d.Spec.Paused {
			return updated(0)(d)
		}
		return updated(min(s.at, *d.Spec.Replicas))(d)
	})
}

// plant puts a label and an annotation of somebody else's on the Deployment and
// on the ReplicaSets that it has by now.
func (p plan) plant(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	patch := []byte(`{"metadata":{"labels":{"example.com/rack":"b7"},"annotations":{"example.com/ticket":"42"}}}`)
	patchDeployment(t, client, namespace, p.name, string(patch))
	list, err := client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + p.name})
	if err != nil {
		t.Fatalf("list ReplicaSets of %s: %v", p.name, err)
	}
	for _, rs := range list.Items {
		own := []byte(`{"metadata":{"labels":{"example.com/row":"3"},"annotations":{"example.com/seen":"yes"}}}`)
		_, err := client.AppsV1().ReplicaSets(namespace).Patch(t.Context(), rs.Name, types.StrategicMergePatchType, own, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("plant on ReplicaSet %s: %v", rs.Name, err)
		}
	}
}
