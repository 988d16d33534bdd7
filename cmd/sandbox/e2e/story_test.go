package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// storyManifest is what the user applies first; storyPruned the same without
// the label, the annotation and the variable that are called "dropped".
const storyManifest = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web, dropped: label}
  annotations:
    example.com/odd: "  two spaces, a tab\t, a quote \", ünïcödé 漢字 and a line end\n"
    example.com/empty: ""
    dropped: annotation
spec:
  replicas: 3
  progressDeadlineSeconds: 600
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: main
        image: nginx:1.27
        env:
        - {name: KEPT, value: "1"}
        - {name: DROPPED, value: "1"}
`

var storyPruned = strings.NewReplacer(", dropped: label", "", "    dropped: annotation\n", "", "        - {name: DROPPED, value: \"1\"}\n", "").Replace(storyManifest)

// story is one user with kubectl and one Deployment.
type story struct {
	plane     *testplane.Plane
	client    kubernetes.Interface
	namespace string
	foreign   map[string]foreign // what nobody but its owner may change, by object
}

// foreign are the labels and annotations that are not Loopscope's.
type foreign struct{ Labels, Annotations map[string]string }

// TestKubectlStory goes through the life of a Deployment with kubectl, against
// the sandbox's own loops and against a manager beside the cluster.
func TestKubectlStory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		plane func(testing.TB) *testplane.Plane
	}{
		{"sandbox", func(t testing.TB) *testplane.Plane { return ownPlane(t).Plane }},
		{"manager", func(t testing.TB) *testplane.Plane { return managedPlane(t).Plane }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plane := c.plane(t)
			client := clientOf(t, plane)
			s := &story{plane, client, newNamespace(t, client, "story"), map[string]foreign{}}
			s.creates(t)
			s.setsImageAndScales(t)
			s.pausesAndResumes(t)
			s.restartsAndUndoes(t)
			s.getsStuck(t)
			s.prunes(t)
			s.checkForeign(t)
			s.deletes(t)
			explainConflicts(t, plane.AuditPath, s.namespace)
		})
	}
}

func (s *story) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return s.plane.Kubectl(t, append([]string{"-n", s.namespace}, args...)...)
}

// rolls expects that `kubectl rollout status` ends and says so.
func (s *story) rolls(t *testing.T) *appsv1.Deployment {
	t.Helper()
	if out := s.kubectl(t, "rollout", "status", "deployment/web", "--timeout=120s"); !strings.Contains(out, `deployment "web" successfully rolled out`) {
		t.Fatalf("kubectl rollout status printed %q", out)
	}
	return get(t, s.client, s.namespace, "web")
}

func (s *story) creates(t *testing.T) {
	t.Helper()
	s.plane.KubectlInput(t, storyManifest, "-n", s.namespace, "apply", "-f", "-")
	s.rolls(t)
	s.sets(t, 1, 3, "nginx:1.27")
	s.kubectl(t, "annotate", "deployment", "web", "example.com/later=by hand", "kubernetes.io/change-cause=first")
	s.kubectl(t, "label", "deployment", "web", "team=kitchen")
}

func (s *story) setsImageAndScales(t *testing.T) {
	t.Helper()
	s.kubectl(t, "set", "image", "deployment/web", "main=nginx:1.28")
	s.rolls(t)
	s.sets(t, 2, 3, "nginx:1.28")
	s.kubectl(t, "scale", "deployment", "web", "--replicas=5")
	s.rolls(t)
	s.sets(t, 2, 5, "nginx:1.28")
}

// pausesAndResumes changes the image and the size while the rollout is paused:
// the size follows, which shows that the loop has looked, the image does not.
func (s *story) pausesAndResumes(t *testing.T) {
	t.Helper()
	s.kubectl(t, "rollout", "pause", "deployment/web")
	s.kubectl(t, "set", "image", "deployment/web", "main=nginx:1.29")
	s.kubectl(t, "scale", "deployment", "web", "--replicas=4")
	waitFor(t, s.client, s.namespace, "web", "scaling while paused", func(d *appsv1.Deployment) error {
		if d.Status.ObservedGeneration < d.Generation || d.Status.AvailableReplicas != 4 || d.Status.Replicas != 4 {
			return fmt.Errorf("%+v", d.Status)
		}
		if reason := progressing(d).Reason; reason != "DeploymentPaused" {
			return fmt.Errorf("the condition Progressing has reason %q, want DeploymentPaused", reason)
		}
		return nil
	})
	s.sets(t, 2, 4, "nginx:1.28")
	s.kubectl(t, "rollout", "resume", "deployment/web")
	s.rolls(t)
	s.sets(t, 3, 4, "nginx:1.29")
}

func (s *story) restartsAndUndoes(t *testing.T) {
	t.Helper()
	s.kubectl(t, "rollout", "restart", "deployment/web")
	d := s.rolls(t)
	if d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] == "" {
		t.Error("kubectl rollout restart left no annotation in the template")
	}
	s.sets(t, 4, 4, "nginx:1.29")
	s.kubectl(t, "rollout", "undo", "deployment/web", "--to-revision=2")
	d = s.rolls(t)
	s.sets(t, 4, 4, "nginx:1.28") // an old ReplicaSet serves again, no new one is made
	if got := d.Annotations["deployment.kubernetes.io/revision"]; got != "5" {
		t.Errorf("revision of the Deployment after the undo: %s, want 5", got)
	}
	var revisions []string
	for line := range strings.Lines(s.kubectl(t, "rollout", "history", "deployment/web")) {
		if word, _, _ := strings.Cut(line, " "); word != "" && word[0] >= '0' && word[0] <= '9' {
			revisions = append(revisions, word)
		}
	}
	if want := []string{"1", "3", "4", "5"}; !slices.Equal(revisions, want) {
		t.Errorf("kubectl rollout history lists revisions %v, want %v", revisions, want)
	}
}

// getsStuck rolls to an image that does not exist, with little patience.
func (s *story) getsStuck(t *testing.T) {
	t.Helper()
	patchDeployment(t, s.client, s.namespace, "web", `{"spec":{"progressDeadlineSeconds":4}}`)
	s.kubectl(t, "set", "image", "deployment/web", "main=nginx:404")
	_, err := s.plane.TryKubectl(t.Context(), "", "-n", s.namespace, "rollout", "status", "deployment/web", "--timeout=90s")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(err.Error(), `deployment "web" exceeded its progress deadline`) {
		t.Errorf("kubectl rollout status of a stuck rollout: %v, want exit code 1 and the progress deadline", err)
	}
	d := get(t, s.client, s.namespace, "web")
	if c := progressing(d); c.Status != "False" || c.Reason != "ProgressDeadlineExceeded" {
		t.Errorf("condition Progressing of the stuck rollout: %s, %s", c.Status, c.Reason)
	}
	if d.Status.AvailableReplicas != 4 {
		t.Errorf("%d replicas are available while the rollout is stuck, want all 4", d.Status.AvailableReplicas)
	}
	s.kubectl(t, "rollout", "undo", "deployment/web")
	s.rolls(t)
	s.sets(t, 5, 4, "nginx:1.28")
}

// prunes puts foreign marks on everything, then applies the manifest without
// the fields it no longer has.
func (s *story) prunes(t *testing.T) {
	t.Helper()
	s.mark(t)
	s.plane.KubectlInput(t, storyPruned, "-n", s.namespace, "apply", "-f", "-")
	d := s.rolls(t)
	_, label := d.Labels["dropped"]
	_, annotation := d.Annotations["dropped"]
	if label || annotation {
		t.Errorf("kubectl apply left label (%t) or annotation (%t) that its manifest has no longer", label, annotation)
	}
	env := d.Spec.Template.Spec.Containers[0].Env
	if len(env) != 1 || env[0].Name != "KEPT" {
		t.Errorf("variables after kubectl apply: %v, want KEPT alone", env)
	}
	if !strings.Contains(d.Annotations[lastApplied], `"KEPT"`) || strings.Contains(d.Annotations[lastApplied], `"DROPPED"`) {
		t.Errorf("%s of the Deployment: %s", lastApplied, d.Annotations[lastApplied])
	}
	delete(s.foreign["web"].Labels, "dropped")
	delete(s.foreign["web"].Annotations, "dropped")
	s.foreign["web"].Annotations[lastApplied] = d.Annotations[lastApplied]
	s.kubectl(t, "scale", "deployment", "web", "--replicas=2")
	s.rolls(t)
}

// mark gives every ReplicaSet labels and annotations of its own, one that looks
// like kubectl's included, and notes all that is foreign by now.
func (s *story) mark(t *testing.T) {
	t.Helper()
	for _, rs := range replicaSets(t, s.client, s.namespace) {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"labels":      map[string]string{"example.com/mark": "set-" + rs.Name},
			"annotations": map[string]string{"example.com/note": "of " + rs.Name + ", \t漢字\n", lastApplied: `{"of": "` + rs.Name + "\"}\n"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		marked, err := s.client.AppsV1().ReplicaSets(s.namespace).Patch(t.Context(), rs.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("mark %s: %v", rs.Name, err)
		}
		s.foreign[rs.Name] = foreignOf(marked)
	}
	s.foreign["web"] = foreignOf(get(t, s.client, s.namespace, "web"))
}

func foreignOf(object metav1.Object) foreign {
	f := foreign{maps.Clone(object.GetLabels()), maps.Clone(object.GetAnnotations())}
	maps.DeleteFunc(f.Annotations, func(key, _ string) bool { return strings.HasPrefix(key, "deployment.kubernetes.io/") })
	return f
}

// checkForeign compares byte by byte.
func (s *story) checkForeign(t *testing.T) {
	t.Helper()
	d := get(t, s.client, s.namespace, "web")
	if diff := cmp.Diff(s.foreign["web"], foreignOf(d)); diff != "" {
		t.Errorf("labels and annotations of the Deployment (-before +after):\n%s", diff)
	}
	seen := 0
	for _, rs := range replicaSets(t, s.client, s.namespace) {
		before, known := s.foreign[rs.Name]
		if !known {
			continue // made since
		}
		seen++
		after := foreignOf(&rs)
		for _, kind := range []struct {
			name          string
			before, after map[string]string
		}{{"label", before.Labels, after.Labels}, {"annotation", before.Annotations, after.Annotations}} {
			for key, value := range kind.before {
				if got, there := kind.after[key]; !there || got != value {
					t.Errorf("%s %s of %s was %q and is %q (there: %t)", kind.name, key, rs.Name, value, got, there)
				}
			}
		}
	}
	if seen != 5 {
		t.Errorf("%d of 5 marked ReplicaSets are left", seen)
	}
}

// deletes takes the Deployment away; garbage collection takes the rest.
func (s *story) deletes(t *testing.T) {
	t.Helper()
	s.kubectl(t, "delete", "deployment", "web", "--timeout=60s")
	waitGone(t, s.client, s.namespace, "web")
}

// sets expects so many ReplicaSets, one of which has all replicas and the image.
func (s *story) sets(t *testing.T, count int, replicas int32, image string) {
	t.Helper()
	list := replicaSets(t, s.client, s.namespace)
	if len(list) != count {
		t.Errorf("%d ReplicaSets, want %d", len(list), count)
	}
	for _, rs := range list {
		switch n := *rs.Spec.Replicas; {
		case n == 0:
		case n != replicas || rs.Spec.Template.Spec.Containers[0].Image != image:
			t.Errorf("ReplicaSet %s has size %d and image %s, want %d and %s", rs.Name, n, rs.Spec.Template.Spec.Containers[0].Image, replicas, image)
		default:
			replicas = -1 // there may be no second one
		}
	}
	if replicas > 0 {
		t.Errorf("no ReplicaSet has size %d and image %s", replicas, image)
	}
}

func progressing(d *appsv1.Deployment) appsv1.DeploymentCondition {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}
