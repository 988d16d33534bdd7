package controllers

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// holdRows say which changes of a status wait for more to come, and which may not.
func holdRows() []actingRow { return append(deploymentHoldRows(), keeperHoldRows()...) }

// deploymentHoldRows begin with a rollout that goes on: two of three pods are available.
func deploymentHoldRows() (rows []actingRow) {
	add := func(name string, change func(s *scene, d *appsv1.Deployment, rs *appsv1.ReplicaSet)) {
		rows = append(rows, deploymentRow("status that may wait", "Deployment: "+name, func(s *scene) {
			d, rs := webDeployment(), webSet(2, 3)
			rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = 2, 2
			d.Status.ReadyReplicas, d.Status.AvailableReplicas, d.Status.UnavailableReplicas = 2, 2, 1
			d.Status.Conditions[1].Reason, d.Status.Conditions[1].Message = "ReplicaSetUpdated", `ReplicaSet "web-2" is progressing.`
			change(s, d, rs)
			s.have(d, rs)
		}))
	}
	fewerReady := func(d *appsv1.Deployment) {
		d.Status.ReadyReplicas, d.Status.AvailableReplicas, d.Status.UnavailableReplicas = 1, 1, 2
	}
	more := func(_ *scene, d *appsv1.Deployment, _ *appsv1.ReplicaSet) {
		fewerReady(d)
		d.Status.Conditions[0].Status, d.Status.Conditions[0].Reason, d.Status.Conditions[0].Message = corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability."
	}
	add("one more pod is available", more)
	add("one more, held for a second already", func(s *scene, d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
		more(s, d, rs)
		s.loop.Hold("shop/web", "uid-web", lab.At.Add(-time.Second))
	})
	add("one more, held for a second already, of an earlier one of that name", func(s *scene, d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
		more(s, d, rs)
		s.loop.Hold("shop/web", "uid-earlier", lab.At.Add(-time.Second))
	})
	add("one more, held for a second, while keys wait", func(s *scene, d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
		more(s, d, rs)
		s.loop.Hold("shop/web", "uid-web", lab.At.Add(-time.Second))
		for range 20 {
			s.opts.Ledger.NoteWait("replicaset", time.Second)
		}
	})
	add("one more, and a generation", func(s *scene, d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
		more(s, d, rs)
		d.Generation = 2
	})
	add("one more, and a revision", func(s *scene, d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
		more(s, d, rs)
		d.Annotations[deployments.AnnotationRevision] = "1"
	})
	add("one more, and minimum availability", func(s *scene, d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
		more(s, d, rs)
		d.Status.Conditions[0].Status, d.Status.Conditions[0].Reason = corev1.ConditionFalse, "MinimumReplicasUnavailable"
	})
	add("one fewer is ready", func(_ *scene, d *appsv1.Deployment, _ *appsv1.ReplicaSet) { d.Status.ReadyReplicas = 3 })
	add("one fewer is available", func(_ *scene, d *appsv1.Deployment, _ *appsv1.ReplicaSet) {
		d.Status.AvailableReplicas, d.Status.UnavailableReplicas = 3, 0
	})
	add("one fewer is there", func(_ *scene, d *appsv1.Deployment, _ *appsv1.ReplicaSet) { d.Status.Replicas = 4 })
	add("the last pod is available", func(_ *scene, _ *appsv1.Deployment, rs *appsv1.ReplicaSet) {
		rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = 3, 3
	})
	add("pods are refused", func(s *scene, d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
		rs.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota: full", LastTransitionTime: actingMade}}
	})
	add("pods are refused no longer", func(s *scene, d *appsv1.Deployment, _ *appsv1.ReplicaSet) {
		d.Status.Conditions = append(d.Status.Conditions, deploymentCondition(appsv1.DeploymentReplicaFailure, "FailedCreate", "exceeded quota: full"))
	})
	add("the deadline has passed", func(_ *scene, d *appsv1.Deployment, _ *appsv1.ReplicaSet) {
		d.Status.Conditions[1].Reason = "ReplicaSetUpdated"
	})
	return rows
}

// keeperHoldRows begin with four pods wanted and three there, of which two are available.
func keeperHoldRows() (rows []actingRow) {
	for _, p := range parents()[1:] {
		add := func(name string, change func(s *scene, o *holding)) {
			rows = append(rows, p.row("status that may wait", name, func(s *scene) {
				h := &holding{want: 3, pods: 3, ready: 2, said: [3]int32{3, 2, 2}}
				change(s, h)
				s.have(h.owner(p.kind))
				for i := range h.pods {
					pod := webPod(fmt.Sprint("pod-", i), p.kind)
					if int32(i) >= h.ready {
						pod = unready(pod)
					}
					s.have(pod)
				}
			}))
		}
		add("nothing", func(*scene, *holding) {})
		add("one more pod is ready", func(_ *scene, h *holding) { h.said = [3]int32{3, 1, 1} })
		add("one more, held for a second already", func(s *scene, h *holding) {
			h.said = [3]int32{3, 1, 1}
			s.loop.Hold("shop/web", "uid-web", lab.At.Add(-time.Second))
		})
		add("one more, held, while keys wait", func(s *scene, h *holding) {
			h.said = [3]int32{3, 1, 1}
			s.loop.Hold("shop/web", "uid-web", lab.At.Add(-time.Second))
			for range 20 {
				s.opts.Ledger.NoteWait("deployment", time.Second)
			}
		})
		add("the last pod is available", func(_ *scene, h *holding) { h.ready = 3 })
		add("one fewer is there", func(_ *scene, h *holding) { h.said = [3]int32{4, 2, 2} })
		add("one fewer is ready", func(_ *scene, h *holding) { h.said = [3]int32{3, 3, 2} })
		add("one fewer is available", func(_ *scene, h *holding) { h.said = [3]int32{3, 2, 3} })
		add("one more, and a generation", func(_ *scene, h *holding) { h.said, h.generation = [3]int32{3, 1, 1}, 2 })
		add("one more there, and a generation, of a Deployment", func(_ *scene, h *holding) {
			h.said, h.generation, h.deployed = [3]int32{2, 2, 2}, 2, true
		})
		add("no more there, and a generation, of a Deployment", func(_ *scene, h *holding) { h.generation, h.deployed = 2, true })
		add("pods are refused no longer", func(_ *scene, h *holding) { h.failed = true })
	}
	return rows
}

// holding is an owner of pods and what its status says: replicas, ready and available.
type holding struct {
	want, ready, pods int32
	said              [3]int32
	generation        int64
	deployed, failed  bool
}

func (h *holding) owner(kind string) runtime.Object {
	o := keeper(kind, h.want)
	m := lab.Accessor(o)
	if h.generation > 0 {
		m.SetGeneration(h.generation)
	}
	if h.deployed {
		m.SetOwnerReferences([]metav1.OwnerReference{*lab.OwnedBy(family.KindDeployment, "top", "uid-top")})
	}
	switch o := o.(type) {
	case *appsv1.ReplicaSet:
		st := &o.Status
		st.Replicas, st.FullyLabeledReplicas, st.ReadyReplicas, st.AvailableReplicas = h.said[0], h.said[0], h.said[1], h.said[2]
		if h.failed {
			st.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", LastTransitionTime: actingMade}}
		}
	case *corev1.ReplicationController:
		st := &o.Status
		st.Replicas, st.FullyLabeledReplicas, st.ReadyReplicas, st.AvailableReplicas = h.said[0], h.said[0], h.said[1], h.said[2]
		if h.failed {
			st.Conditions = []corev1.ReplicationControllerCondition{{Type: corev1.ReplicationControllerReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", LastTransitionTime: actingMade}}
		}
	}
	return o
}
