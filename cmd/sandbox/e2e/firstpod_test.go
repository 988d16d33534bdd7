package e2e_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// firstReady waits for the first Ready pod of the demo, and says how long that
// took since began.
func firstReady(t testplaneT, plane *testplane.Plane, began time.Time) time.Duration {
	client := clientOf(t, plane)
	testplane.Until(t, time.Minute, "first ready pod of the demo", func() error {
		list, err := client.CoreV1().Pods("demo").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if podReady(&list.Items[i]) {
				return nil
			}
		}
		return fmt.Errorf("none of %d pods is ready", len(list.Items))
	})
	return time.Since(began)
}

var greeting = regexp.MustCompile(`demo: first pod ready after ([0-9.]+) s`)

// TestFirstPodReadyWithin20s holds the sandbox to what its README promises.
func TestFirstPodReadyWithin20s(t *testing.T) {
	plane := ownPlane(t)
	t.Logf("from process start: control plane ready after %.1f s, first demo pod ready after %.1f s",
		plane.StartTime.Seconds(), plane.firstReady.Seconds())
	if limit := 20 * time.Second; plane.firstReady > limit {
		t.Errorf("the first demo pod was ready after %s, want %s at most", plane.firstReady.Round(time.Millisecond), limit)
	}
	var said float64
	testplane.Until(t, time.Minute, "the sandbox's own word about its first pod", func() error {
		found := greeting.FindStringSubmatch(plane.Output())
		if found == nil {
			return fmt.Errorf("no line %q in its output", greeting)
		}
		var err error
		said, err = strconv.ParseFloat(found[1], 64)
		return err
	})
	if seen := plane.firstReady.Seconds(); said > seen+1 {
		t.Errorf("the sandbox says %.1f s, but the pod was seen ready after %.1f s", said, seen)
	}
}
