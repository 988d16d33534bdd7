package effects

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/changes"
)

// contestant changes one Deployment time and again.
type contestant struct {
	contests
	is  *appsv1.Deployment
	now time.Time
}

func newContestant() *contestant {
	replicas := int32(3)
	return &contestant{now: lab.Noon, is: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "d-1", Generation: 1}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "shop:a"}}}},
	}}}
}

// change is one that some managers make after a while.
func (c *contestant) change(after time.Duration, by string, edit func(*appsv1.Deployment)) {
	c.now = c.now.Add(after)
	was := c.is
	c.is = was.DeepCopy()
	edit(c.is)
	if !equality.Semantic.DeepEqual(was.Spec, c.is.Spec) {
		c.is.Generation++
	}
	fields := deploymentFields(was, c.is)
	cause := changes.Modified("Deployment", was, c.is, fields, by, c.now)
	c.note(was, c.is, &cause)
}

func image(tag string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "shop:" + tag }
}

func size(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

// resize is a change of the size of a ReplicaSet of it.
func (c *contestant) resize(after time.Duration, by, set string, was, is int32) {
	c.now = c.now.Add(after)
	old := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: set}, Spec: appsv1.ReplicaSetSpec{Replicas: &was}}
	rs := old.DeepCopy()
	rs.Spec.Replicas = &is
	cause := changes.Modified("ReplicaSet", old, rs, nil, by, c.now)
	c.noteSet(c.is.UID, old, rs, &cause)
}

// lose are pods that somebody deletes one after another: those that were there, or what replaced them.
func (c *contestant) lose(after time.Duration, n int, replaced bool) {
	for range n {
		c.now = c.now.Add(after)
		created := lab.Noon
		if replaced {
			created = c.now.Truncate(time.Second)
		}
		c.noteDeleted(c.is.UID, created, c.now)
	}
}

func paused(d *appsv1.Deployment) { d.Spec.Paused = true }

// complete is the status of a rollout that has come to its end.
func complete(d *appsv1.Deployment) {
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, AvailableReplicas: n}
}

func TestContests(t *testing.T) {
	second, minute := time.Second, time.Minute
	template := func(changes int64, back bool, since, last time.Duration, by ...string) *deployment.Contest {
		return &deployment.Contest{Field: deployment.ContestedTemplate, Changes: changes, BackAndForth: back, Since: lab.Noon.Add(since), Last: lab.Noon.Add(last), By: by}
	}
	set := func(changes int64, since, last time.Duration, by ...string) *deployment.Contest {
		return &deployment.Contest{Field: deployment.ContestedSet, Object: "web-1", Changes: changes, BackAndForth: true, Since: lab.Noon.Add(since), Last: lab.Noon.Add(last), By: by}
	}
	pods := func(changes int64, since, last time.Duration) *deployment.Contest {
		return &deployment.Contest{Field: deployment.ContestedPods, Changes: changes, Since: lab.Noon.Add(since), Last: lab.Noon.Add(last)}
	}
	for _, tc := range []struct {
		name string
		do   func(*contestant)
		want *deployment.Contest
	}{
		{"no change", func(*contestant) {}, nil},
		{"two set its template back and forth, and each rollout completes", func(c *contestant) {
			for range 2 {
				c.change(minute, "kubectl-edit", image("b"))
				c.change(second, "", complete)
				c.change(minute, "argocd-controller", image("a"))
				c.change(second, "", complete)
			}
		}, template(4, true, minute, 4*minute+3*second, "argocd-controller", "kubectl-edit")},
		{"an image and two undos", func(c *contestant) {
			c.change(minute, "kubectl-set", image("b"))
			c.change(minute, "kubectl-rollout", image("a"))
			c.change(minute, "kubectl-set", image("b"))
		}, nil},
		{"one changes it, and no rollout completes", func(c *contestant) {
			for i := range 5 {
				c.change(second, "operator", image(fmt.Sprint(i)))
			}
		}, template(5, false, second, 5*second, "operator")},
		{"two change it in turn, and no rollout completes", func(c *contestant) {
			for i := range 6 {
				c.change(second, []string{"helm", "kubectl-edit"}[i%2], image(fmt.Sprint(i)))
			}
		}, template(6, false, second, 6*second, "helm", "kubectl-edit")},
		{"rollouts that are not complete", func(c *contestant) {
			for i, with := range []appsv1.DeploymentStatus{
				{Replicas: 4, UpdatedReplicas: 3, AvailableReplicas: 3}, {Replicas: 3, UpdatedReplicas: 2, AvailableReplicas: 3}, {Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 2},
				{ObservedGeneration: -1, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3},
			} {
				c.change(second, "helm", image(fmt.Sprint(i)))
				c.change(0, "", func(d *appsv1.Deployment) {
					d.Status = with
					d.Status.ObservedGeneration += d.Generation
				})
			}
		}, template(4, false, second, 4*second, "helm")},
		{"nobody knows who changes it", func(c *contestant) {
			for i := range 4 {
				c.change(second, "", image(fmt.Sprint(i)))
			}
		}, template(4, false, second, 4*second)},
		{"new templates whose rollouts complete", func(c *contestant) {
			for i := range 9 {
				c.change(second, "helm", image(fmt.Sprint(i)))
				c.change(second, "", complete)
			}
		}, nil},
		{"a rollout completed among them", func(c *contestant) {
			for i := range 9 {
				c.change(second, "helm", image(fmt.Sprint(i)))
				if i == 3 {
					c.change(0, "", complete)
				}
			}
		}, template(5, false, 5*second, 9*second, "helm")},
		{"it is paused meanwhile", func(c *contestant) {
			c.change(second, "kubectl-patch", paused)
			for i := range 9 {
				c.change(second, "helm", image(fmt.Sprint(i)))
			}
		}, nil},
		{"one change in a quarter of an hour", func(c *contestant) {
			for i := range 9 {
				c.change(15*minute, "helm", image(fmt.Sprint(i)))
			}
		}, nil},
		{"one change in ten minutes", func(c *contestant) {
			for i := range 9 {
				c.change(10*minute, "helm", image(fmt.Sprint(i)))
			}
		}, template(9, false, 10*minute, 90*minute, "helm")},
		{"two that scale it up in turn", func(c *contestant) {
			for i := range int32(6) {
				c.change(second, []string{"helm", "kubectl-edit"}[i%2], size(4+i))
			}
		}, nil},
		{"an autoscaler, and a tool that knows one size", func(c *contestant) {
			for i := range int32(3) {
				c.change(10*second, "kube-controller-manager", size(7-i))
				c.change(10*second, "argocd-controller", size(3))
			}
		}, &deployment.Contest{Field: deployment.ContestedSize, Changes: 6, BackAndForth: true, Since: lab.Noon.Add(10 * second), Last: lab.Noon.Add(minute), Low: 3, High: 7, By: []string{"argocd-controller", "kube-controller-manager"}}},
		{"two tools, and a size from before both", func(c *contestant) {
			for range 2 {
				c.change(10*second, "kube-controller-manager", size(7))
				c.change(10*second, "argocd-controller", size(4))
			}
			c.change(10*second, "kube-controller-manager", size(7))
		}, &deployment.Contest{Field: deployment.ContestedSize, Changes: 5, BackAndForth: true, Since: lab.Noon.Add(10 * second), Last: lab.Noon.Add(50 * second), Low: 3, High: 7, By: []string{"argocd-controller", "kube-controller-manager"}}},
		{"an autoscaler alone", func(c *contestant) {
			for range 9 {
				c.change(10*second, "kube-controller-manager", size(5))
				c.change(10*second, "kube-controller-manager", size(3))
			}
		}, nil},
		{"a ReplicaSet that kubectl scales, and we scale back", func(c *contestant) {
			for i := range int32(4) {
				c.resize(second, "kubectl", "web-1", 3, 7+i)
				c.resize(second, "", "web-1", 7+i, 3)
			}
		}, set(4, second, 7*second, "kubectl")},
		{"kubectl scales, and kube-controller-manager scales back", func(c *contestant) {
			for range 3 {
				c.resize(second, "kubectl", "web-1", 3, 7)
				c.resize(second, "kube-controller-manager", "web-1", 7, 3)
			}
		}, set(3, second, 5*second, "kubectl")},
		{"it is scaled back twice", func(c *contestant) {
			for range 2 {
				c.resize(second, "kubectl", "web-1", 3, 7)
				c.resize(second, "", "web-1", 7, 3)
			}
			c.resize(second, "kubectl", "web-1", 3, 7)
			c.resize(second, "", "web-1", 7, 7)
			c.resize(second, "", "web-1", 7, 5)
		}, nil},
		{"another ReplicaSet each time", func(c *contestant) {
			for i := range 6 {
				c.resize(second, "kubectl", fmt.Sprint("web-", i%2), 3, 7)
				c.resize(second, "", fmt.Sprint("web-", i%2), 7, 3)
			}
		}, nil},
		{"a ReplicaSet that is scaled every quarter of an hour", func(c *contestant) {
			for range 6 {
				c.resize(15*minute, "kubectl", "web-1", 3, 7)
				c.resize(second, "", "web-1", 7, 3)
			}
		}, nil},
		{"the loop scales a ReplicaSet up and down", func(c *contestant) {
			for range 6 {
				c.resize(second, "", "web-1", 3, 7)
				c.resize(second, "kube-controller-manager", "web-1", 7, 3)
			}
		}, nil},
		{"two that change it among five, and each rollout completes", func(c *contestant) {
			for i, tag := range []string{"b", "c", "d", "e", "a", "b", "c"} {
				c.change(second, []string{"helm", "kubectl-edit"}[i%2], image(tag))
				c.change(0, "", complete)
			}
		}, template(7, true, second, 7*second, "helm", "kubectl-edit")},
		{"pods, and then those that replace them", func(c *contestant) {
			c.lose(second, 2, false)
			c.lose(second, 3, true)
		}, pods(5, second, 5*second)},
		{"two that replace others", func(c *contestant) {
			c.lose(second, 2, false)
			c.lose(second, 2, true)
		}, nil},
		{"each pod once, as in a restart by hand", func(c *contestant) { c.lose(second, 9, false) }, nil},
		{"a pod every ten minutes", func(c *contestant) { c.lose(10*minute, 4, true) }, pods(4, 10*minute, 40*minute)},
		{"a pod every quarter of an hour", func(c *contestant) { c.lose(15*minute, 9, true) }, nil},
		{"pods of a ReplicaSet that is resized meanwhile", func(c *contestant) {
			c.lose(second, 3, true)
			c.resize(second, "", "web-1", 3, 4)
			c.lose(second, 2, true)
		}, nil},
		{"pods of a ReplicaSet that was resized", func(c *contestant) {
			c.lose(second, 1, true)
			c.resize(second, "", "web-1", 3, 4)
			c.lose(second, 3, true)
		}, pods(3, 3*second, 5*second)},
		{"pods and sizes", func(c *contestant) {
			c.lose(second, 4, true)
			for range 3 {
				c.change(second, "helm", size(7))
				c.change(second, "kubectl-scale", size(3))
			}
		}, &deployment.Contest{Field: deployment.ContestedSize, Changes: 6, BackAndForth: true, Since: lab.Noon.Add(5 * second), Last: lab.Noon.Add(10 * second), Low: 3, High: 7, By: []string{"helm", "kubectl-scale"}}},
		{"many", func(c *contestant) {
			for i := range 12 {
				c.change(second, fmt.Sprint("tool-", 9-i%5), image(fmt.Sprint(i%2)))
			}
		}, template(12, true, second, 12*second, "tool-7", "tool-8", "tool-9")},
		{"it was deleted", func(c *contestant) {
			for i := range 5 {
				c.change(second, "operator", image(fmt.Sprint(i)))
			}
			c.forget("d-1")
		}, nil},
		{"over for a while", func(c *contestant) {
			for i := range 5 {
				c.change(second, "operator", image(fmt.Sprint(i)))
			}
			c.now = c.now.Add(15 * second)
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newContestant()
			tc.do(c)
			if diff := cmp.Diff(tc.want, c.current("d-1", c.now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Nothing is kept of a Deployment of which only its loop changes anything.
func TestNoContestOfAStatus(t *testing.T) {
	c := newContestant()
	c.change(time.Second, "", complete)
	c.resize(time.Second, "", "web-1", 3, 7)
	c.resize(time.Second, "kubectl", "web-1", 7, 7)
	if len(c.of) > 0 {
		t.Errorf("%d are kept", len(c.of))
	}
}

// What is told of an update ends by itself, three of its changes after the last.
func TestContestIsOver(t *testing.T) {
	c := newContestant()
	for i := range 5 {
		c.change(20*time.Second, "operator", image(fmt.Sprint(i)))
	}
	for after, told := range map[time.Duration]bool{59 * time.Second: true, time.Minute: false} {
		if got := c.current("d-1", c.now.Add(after)); (got != nil) != told {
			t.Errorf("after %s: %+v", after, got)
		}
	}
}
