package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const controllerManifest = `apiVersion: v1
kind: ReplicationController
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 3
  selector: {app: web}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "nginx:1.27"}
`

// controllerStory is one user with kubectl and one ReplicationController.
type controllerStory struct {
	plane     *testplane.Plane
	client    kubernetes.Interface
	namespace string
}

// TestReplicationControllerStory goes through the life of a ReplicationController
// with kubectl ([RM-1], and through it [RS-6], [RS-8] and [RS-9]).
func TestReplicationControllerStory(t *testing.T) {
	t.Parallel()
	plane := ownPlane(t).Plane
	client := clientOf(t, plane)
	s := &controllerStory{plane, client, newNamespace(t, client, "rc")}
	s.adoptsAndCreates(t)
	s.releases(t)
	s.runsIntoAQuota(t)
	s.scales(t)
	s.saysSo(t)
	s.isShown(t)
	s.deletes(t)
	explainConflicts(t, plane.AuditPath, s.namespace)
}

func (s *controllerStory) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return s.plane.Kubectl(t, append([]string{"-n", s.namespace}, args...)...)
}

// waits waits until every wanted pod is available and the status says so.
func (s *controllerStory) waits(t *testing.T, want int32) *corev1.ReplicationController {
	t.Helper()
	var rc *corev1.ReplicationController
	testplane.Until(t, settleLimit, fmt.Sprintf("%d available pods", want), func() (err error) {
		if rc, err = s.client.CoreV1().ReplicationControllers(s.namespace).Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
			return err
		}
		got := rc.Status
		if got.ObservedGeneration < rc.Generation || got.Replicas != want || got.ReadyReplicas != want || got.AvailableReplicas != want || got.FullyLabeledReplicas != want {
			return fmt.Errorf("generation %d, status %+v", rc.Generation, got)
		}
		return nil
	})
	return rc
}

// own are the names of the pods that it controls and that are not on their way out.
func (s *controllerStory) own(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, p := range pods(t, s.client, s.namespace) {
		ref := metav1.GetControllerOf(&p)
		if ref == nil || p.DeletionTimestamp != nil {
			continue
		}
		if ref.APIVersion != "v1" || ref.Kind != "ReplicationController" || ref.Name != "web" {
			t.Errorf("pod %s is controlled by %+v", p.Name, ref)
		}
		names = append(names, p.Name)
	}
	return names
}

// adoptsAndCreates leaves a pod that was there before among the three.
func (s *controllerStory) adoptsAndCreates(t *testing.T) {
	t.Helper()
	s.kubectl(t, "run", "orphan", "--image=nginx:1.27", "--labels=app=web")
	s.plane.KubectlInput(t, controllerManifest, "-n", s.namespace, "create", "-f", "-")
	s.waits(t, 3)
	if names := s.own(t); len(names) != 3 || !slices.Contains(names, "orphan") {
		t.Errorf("it controls %v, want the orphan and two more", names)
	}
}

// releases lets a pod go whose labels were changed, and creates another.
func (s *controllerStory) releases(t *testing.T) {
	t.Helper()
	s.kubectl(t, "label", "pod", "orphan", "app=other", "--overwrite")
	testplane.Until(t, time.Minute, "the pod's release and a new one", func() error {
		if names := s.own(t); len(names) != 3 || slices.Contains(names, "orphan") {
			return fmt.Errorf("it controls %v", names)
		}
		return nil
	})
	s.waits(t, 3)
	if _, err := s.client.CoreV1().Pods(s.namespace).Get(t.Context(), "orphan", metav1.GetOptions{}); err != nil {
		t.Errorf("the pod that was let go: %v", err)
	}
}

// runsIntoAQuota sees ReplicaFailure come with a refusal and go with its cause.
func (s *controllerStory) runsIntoAQuota(t *testing.T) {
	t.Helper()
	s.kubectl(t, "create", "quota", "full", "--hard=pods=4")
	testplane.Until(t, time.Minute, "the quota's count", func() error {
		q, err := s.client.CoreV1().ResourceQuotas(s.namespace).Get(t.Context(), "full", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if used := q.Status.Used[corev1.ResourcePods]; used.Value() != 4 {
			return fmt.Errorf("%s pods are counted", used.String())
		}
		return nil
	})
	s.kubectl(t, "scale", "rc", "web", "--replicas=5")
	s.failure(t, func(c *corev1.ReplicationControllerCondition) bool {
		return c != nil && c.Status == corev1.ConditionTrue && c.Reason == "FailedCreate" && strings.Contains(c.Message, "exceeded quota")
	})
	s.kubectl(t, "delete", "quota", "full")
	s.waits(t, 5)
	s.failure(t, func(c *corev1.ReplicationControllerCondition) bool { return c == nil })
}

// failure waits for a state of the condition ReplicaFailure, nil for none.
func (s *controllerStory) failure(t *testing.T, is func(*corev1.ReplicationControllerCondition) bool) {
	t.Helper()
	testplane.Until(t, time.Minute, "ReplicaFailure", func() error {
		rc, err := s.client.CoreV1().ReplicationControllers(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		var found *corev1.ReplicationControllerCondition
		for i := range rc.Status.Conditions {
			found = &rc.Status.Conditions[i]
		}
		if !is(found) {
			return fmt.Errorf("conditions %+v", rc.Status.Conditions)
		}
		return nil
	})
}

func (s *controllerStory) scales(t *testing.T) {
	t.Helper()
	s.kubectl(t, "scale", "rc", "web", "--replicas=2")
	s.waits(t, 2)
	if names := s.own(t); len(names) != 2 {
		t.Errorf("it controls %v, want two", names)
	}
}

// saysSo finds the events of everything that happened ([EV-2]).
func (s *controllerStory) saysSo(t *testing.T) {
	t.Helper()
	testplane.Until(t, time.Minute, "the events", func() error {
		events, err := s.client.CoreV1().Events(s.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=ReplicationController"})
		if err != nil {
			return err
		}
		counts := map[string]int32{}
		for _, e := range events.Items {
			if e.Source.Component != "replication-controller" || e.InvolvedObject.APIVersion != "v1" || e.InvolvedObject.Name != "web" {
				t.Errorf("event of %+v from %+v", e.InvolvedObject, e.Source)
			}
			counts[e.Reason] += max(1, e.Count)
		}
		// Two at first, one for the released pod, two after the quota went; three were too many then.
		if counts["SuccessfulCreate"] != 5 || counts["SuccessfulDelete"] != 3 || counts["FailedCreate"] == 0 || len(counts) != 3 {
			return fmt.Errorf("events %v", counts)
		}
		return nil
	})
}

// isShown reads the page, its JSON twin and the debug endpoint.
func (s *controllerStory) isShown(t *testing.T) {
	t.Helper()
	path := "/" + s.namespace + "/web"
	if page := s.fetch(t, "/replicationcontrollers"+path); !strings.Contains(page, "ReplicationController") || !strings.Contains(page, "2 of 2 pods are available") {
		t.Errorf("the page does not say what it is of, or that it is settled:\n%.2000s", page)
	}
	var twin struct {
		Page struct {
			Kind string            `json:"kind"`
			Pods []json.RawMessage `json:"pods"`
		} `json:"page"`
	}
	if err := json.Unmarshal([]byte(s.fetch(t, "/replicationcontrollers"+path+".json")), &twin); err != nil {
		t.Fatal(err)
	}
	if twin.Page.Kind != "ReplicationController" || len(twin.Page.Pods) < 2 {
		t.Errorf("the twin is of a %q with %d pods", twin.Page.Kind, len(twin.Page.Pods))
	}
	if debug := s.fetch(t, "/debug/controllers/replicationcontroller"+path); !strings.Contains(debug, `"loop": "replicationcontroller"`) && !strings.Contains(debug, `"loop":"replicationcontroller"`) {
		t.Errorf("the debug endpoint shows %.500s", debug)
	}
	if queues := s.fetch(t, "/queues.json"); !strings.Contains(queues, "replicationcontroller") {
		t.Error("the queues do not show the loop")
	}
}

func (s *controllerStory) fetch(t *testing.T, path string) string {
	t.Helper()
	client := &http.Client{Timeout: time.Minute}
	response, err := client.Get(s.plane.Dashboard + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, response.Status, err)
	}
	return string(body)
}

// deletes takes the pods along, but not the one that was let go.
func (s *controllerStory) deletes(t *testing.T) {
	t.Helper()
	s.kubectl(t, "delete", "rc", "web", "--timeout=60s")
	testplane.Until(t, settleLimit, "garbage collection", func() error {
		if left := pods(t, s.client, s.namespace); len(left) != 1 || left[0].Name != "orphan" {
			return fmt.Errorf("%d pods are left, want the orphan", len(left))
		}
		_, err := s.client.CoreV1().ReplicationControllers(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the ReplicationController itself: %v, want not found", err)
		}
		return nil
	})
}
