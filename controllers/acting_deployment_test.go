package controllers

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// act is one kind of write, in what brings it about. Each is met with every answer.
type act struct {
	name, loop     string
	arrange        func(s *scene)
	method, suffix string
	// spare is how many of the same requests are answered as usual before.
	spare int
}

// rows are the situations of an act, one for each answer.
func (a act) rows() (rows []actingRow) {
	for _, answer := range lab.Answers() {
		rows = append(rows, actingRow{section: a.name, name: answer.Name, loop: a.loop, over: answer.Over, arrange: func(s *scene) {
			a.arrange(s)
			if answer.Over == lab.ToNobody {
				return
			}
			if a.spare > 0 {
				s.server.On(a.method, a.suffix, a.spare, lab.Taken)
			}
			s.server.On(a.method, a.suffix, answer.Times, answer.Reply)
			if answer.Name == "409 by version" {
				s.intrude()
			}
		}})
	}
	return rows
}

// intrude has kubectl write everything that the API server has: its versions are not the
// caches' any more.
func (s *scene) intrude() {
	s.server.Change(func(o runtime.Object) {
		m := lab.Accessor(o)
		annotations := map[string]string{}
		for k, v := range m.GetAnnotations() {
			annotations[k] = v
		}
		annotations["team"] = "blue"
		m.SetAnnotations(annotations)
		m.SetResourceVersion("150")
		m.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl-annotate", Operation: metav1.ManagedFieldsOperationUpdate, Time: &actingMade,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:team":{}}}}`)}})
	})
}

// deploymentActs are the writes of the Deployment loop.
func deploymentActs() []act {
	return []act{
		{name: "create replicaset", method: http.MethodPost, suffix: "/replicasets", arrange: func(s *scene) {
			s.have(webDeployment(), webSet(1, 3))
		}},
		{name: "update replicaset, larger", method: http.MethodPut, suffix: "/replicasets/web-2", arrange: func(s *scene) {
			s.have(webDeployment(), webSet(1, 0), webSet(2, 1))
		}},
		{name: "update replicaset, smaller", method: http.MethodPut, suffix: "/replicasets/web-1", arrange: func(s *scene) {
			s.have(webDeployment(), webSet(1, 1), webSet(2, 3))
		}},
		{name: "update replicaset, annotations", method: http.MethodPut, suffix: "/replicasets/web-2", arrange: func(s *scene) {
			d, again := webDeployment(), webSet(2, 3)
			d.Annotations[deployments.AnnotationRevision], d.Spec.MinReadySeconds = "4", 7
			again.Annotations = map[string]string{deployments.AnnotationRevision: "2", deployments.AnnotationHistory: "1", deployments.AnnotationDesired: "3", deployments.AnnotationMax: "4", "kept": "yes"}
			s.have(d, webSet(4, 0), again)
		}},
		{name: "delete replicaset", method: http.MethodDelete, suffix: "/replicasets/web-0", arrange: func(s *scene) {
			d := webDeployment()
			d.Spec.RevisionHistoryLimit = new(int32)
			s.have(d, webSet(0, 0), webSet(1, 0), webSet(2, 3))
		}},
		{name: "update deployment, rollback", method: http.MethodPut, suffix: "/deployments/web", arrange: func(s *scene) {
			d, old, now := webDeployment(), webSet(1, 0), webSet(2, 3)
			d.Annotations[deployments.AnnotationRollback] = "1"
			d.Annotations["since"], now.Annotations["since"] = "revision 2", "revision 2"
			old.Annotations["team"], old.Annotations["of"] = "green", "revision 1"
			s.have(d, old, now)
		}},
		{name: "update deployment, rollback to nothing", method: http.MethodPut, suffix: "/deployments/web", arrange: func(s *scene) {
			d := webDeployment()
			d.Annotations[deployments.AnnotationRollback] = "7"
			s.have(d, webSet(1, 0), webSet(2, 3))
		}},
		{name: "adopt replicaset", method: http.MethodPatch, suffix: "/replicasets/web-1", arrange: func(s *scene) {
			s.have(webDeployment(), orphaned(webSet(1, 0)), webSet(2, 3))
		}},
		{name: "release replicaset", method: http.MethodPatch, suffix: "/replicasets/web-1", arrange: func(s *scene) {
			s.have(webDeployment(), relabelled(webSet(1, 0)), webSet(2, 3))
		}},
		{name: "status of a deployment", method: http.MethodPut, suffix: "/deployments/web/status", arrange: func(s *scene) {
			d := webDeployment()
			d.Generation, d.Annotations[deployments.AnnotationRevision] = 2, "1"
			d.Status.Conditions = append(d.Status.Conditions, deploymentCondition("Custom", "Others", "is kept"))
			s.have(d, webSet(1, 0), webSet(2, 3))
		}},
	}
}

// orphaned has no controller, and a reference of somebody else that stays.
func orphaned[T metav1.Object](o T) T {
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "uid-other"}})
	return o
}

// relabelled no longer matches its owner's selector.
func relabelled[T metav1.Object](o T) T {
	labels := map[string]string{}
	for k, v := range o.GetLabels() {
		labels[k] = v
	}
	labels["app"] = "elsewhere"
	o.SetLabels(labels)
	return o
}

// keeperActs are the writes of the loops that keep pods, which differ in the kind alone.
func keeperActs(loop, kind string) []act {
	resource := lab.ResourceOf(keeper(kind, 0))
	acts := []act{
		{name: "create pods", method: http.MethodPost, suffix: "/pods", arrange: func(s *scene) { s.have(keeper(kind, 4)) }},
		{name: "create pods after the first", method: http.MethodPost, suffix: "/pods", spare: 1, arrange: func(s *scene) { s.have(keeper(kind, 4)) }},
		{name: "delete pods", method: http.MethodDelete, suffix: "/pods/c", arrange: func(s *scene) {
			s.have(setStatus(keeper(kind, 1), 3), webPod("a", kind), unready(webPod("b", kind)), unready(webPod("c", kind)))
		}},
		{name: "adopt pod", method: http.MethodPatch, suffix: "/pods/a", arrange: func(s *scene) {
			s.have(setStatus(keeper(kind, 2), 1), orphaned(webPod("a", "")), webPod("b", kind))
		}},
		{name: "release pod", method: http.MethodPatch, suffix: "/pods/a", arrange: func(s *scene) {
			s.have(setStatus(keeper(kind, 1), 2), relabelled(webPod("a", kind)), webPod("b", kind))
		}},
		{name: "status of " + kind, method: http.MethodPut, suffix: "/" + resource + "/web/status", arrange: func(s *scene) {
			s.have(setStatus(keeper(kind, 1), 2), webPod("a", kind))
		}},
	}
	for i := range acts {
		acts[i].loop = loop
		if kind == family.KindReplicationController {
			acts[i].name += " of a replicationcontroller"
		}
	}
	return acts
}

func unready(p *corev1.Pod) *corev1.Pod {
	p.Status.Conditions[0].Status = corev1.ConditionFalse
	return p
}

// actingRows is the whole table.
func actingRows() (all []actingRow) {
	for _, a := range deploymentActs() {
		a.loop = "deployment"
		all = append(all, a.rows()...)
	}
	for _, a := range keeperActs("replicaset", family.KindReplicaSet) {
		all = append(all, a.rows()...)
	}
	for _, a := range keeperActs("replicationcontroller", family.KindReplicationController) {
		all = append(all, a.rows()...)
	}
	for _, a := range updateActs() {
		a.loop = "rollingupdate"
		all = append(all, a.rows()...)
	}
	for _, rows := range [][]actingRow{claimRows(), nameRows(), guardRows(), holdRows(), eventRows(), otherRows(), unkeptRows(), watchRows()} {
		all = append(all, rows...)
	}
	return all
}
