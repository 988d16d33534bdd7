package controllers

import (
	"maps"
	"net/http"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// The labels of the old one and of the new one of scenes.
var (
	oldLabels = map[string]string{"app": "web", "deployment": "old"}
	newLabels = map[string]string{"app": "web", "deployment": "new"}
)

// updated is one of the two ReplicationControllers, with its pods.
func updated(name string, want int32, labels map[string]string, annotations map[string]string) (*corev1.ReplicationController, []*corev1.Pod) {
	rc := setStatus(keeper(family.KindReplicationController, want), want).(*corev1.ReplicationController)
	rc.ObjectMeta = actingMeta(name, "uid-"+name, map[string]string{"web": "100", "web-2": "102"}[name], map[string]string{"app": "web"})
	rc.Annotations = annotations
	rc.Spec.Selector, rc.Spec.Template.Labels = maps.Clone(labels), maps.Clone(labels)
	rc.Spec.Template.Spec.Containers[0].Image = "shop:v1"
	if name != "web" {
		rc.Spec.Template.Spec.Containers[0].Image = "shop:v2"
	}
	rc.Status.Conditions = []corev1.ReplicationControllerCondition{{Type: rollingupdate.CondProgressing, Status: corev1.ConditionTrue, Reason: "RollingUpdateProgressing", LastTransitionTime: actingMade}}
	var pods []*corev1.Pod
	for i := range want {
		pod := webPod(name+"-"+string(rune('a'+i)), "")
		pod.OwnerReferences = append(pod.OwnerReferences, *lab.OwnedBy(family.KindReplicationController, name, "uid-"+name))
		pod.Labels = maps.Clone(labels)
		pods = append(pods, pod)
	}
	return rc, pods
}

// update arranges the two: the request, their sizes, and changes to them. Sizes below zero
// stand for one that does not exist.
func (s *scene) update(request string, old, n int32, changes ...func(old, n *corev1.ReplicationController)) {
	was, oldPods := updated("web", max(0, old), oldLabels, map[string]string{
		rollingupdate.AnnotationRequest: `{"version":1,"id":"r1",` + request + `}`, rollingupdate.AnnotationNext: "web-2", rollingupdate.AnnotationOriginal: "2", "team": "red",
	})
	is, newPods := updated("web-2", max(0, n), newLabels, map[string]string{rollingupdate.AnnotationSource: "web:uid-web", rollingupdate.AnnotationDesired: "2"})
	for _, change := range changes {
		change(was, is)
	}
	s.have(was)
	for _, pod := range oldPods {
		s.have(pod)
	}
	if n < 0 {
		return
	}
	s.have(is)
	for _, pod := range newPods {
		s.have(pod)
	}
}

// ending says on both that the update is complete.
func ending(old, n *corev1.ReplicationController) {
	for _, rc := range []*corev1.ReplicationController{old, n} {
		rc.Status.Conditions[0].Reason = "RollingUpdateComplete"
	}
}

func onItsOwn(_, n *corev1.ReplicationController) { n.Annotations = map[string]string{"kept": "yes"} }

// unsplit is an old one that has no label of its own.
func unsplit(old, _ *corev1.ReplicationController) {
	old.Spec.Selector = maps.Clone(lab.AppWeb)
	delete(old.Annotations, rollingupdate.AnnotationNext)
	delete(old.Annotations, rollingupdate.AnnotationOriginal)
}

func unlabelled(old, n *corev1.ReplicationController) {
	unsplit(old, n)
	old.Spec.Template.Labels = maps.Clone(lab.AppWeb)
}

func parked(old, n *corev1.ReplicationController) {
	emptied(old)
	old.Annotations[rollingupdate.AnnotationParked] = `{"size":2,"from":"web-2","uid":"uid-web-2","id":"r1"}`
}

// emptied gives it a selector that matches no pod.
func emptied(rc *corev1.ReplicationController) {
	rc.Spec.Selector[rollingupdate.LabelParked], rc.Spec.Template.Labels[rollingupdate.LabelParked] = "true", "true"
}

// sealed is an old one that has taken over its pods.
func sealed(old, _ *corev1.ReplicationController) {
	old.Annotations[rollingupdate.AnnotationParked] = `{"size":2,"from":"web-2","uid":"uid-web-2","account":"robot","id":"r1"}`
	old.Spec.Template.Spec.ServiceAccountName = rollingupdate.SealedAccount
}

const anImage, aName = `"image":"shop:v2"`, `"to":"web-2"`

// updateActs are the writes of the loop of rolling updates. The next sync waits for each that was
// taken ([RU-2]).
func updateActs() []act {
	const web, web2 = "/replicationcontrollers/web", "/replicationcontrollers/web-2"
	return []act{
		{name: "label of the old template", method: http.MethodPut, suffix: web, arrange: func(s *scene) { s.update(anImage+`,"to":"web-2"`, 2, -1, unlabelled) }},
		{name: "label of the old pods", method: http.MethodPatch, suffix: "/pods/web-b", arrange: func(s *scene) {
			s.update(anImage+`,"to":"web-2","deploymentKey":"stage"`, 2, -1, unsplit, func(old, _ *corev1.ReplicationController) { old.Spec.Template.Labels["stage"] = "old" })
		}},
		{name: "label of the old selector", method: http.MethodPut, suffix: web, arrange: func(s *scene) { s.update(anImage+`,"to":"web-2"`, 2, -1, unsplit) }},
		{name: "pods without the label", method: http.MethodDelete, suffix: "/pods/stray", arrange: func(s *scene) {
			s.update(anImage+`,"to":"web-2"`, 2, -1, func(old, n *corev1.ReplicationController) { delete(old.Annotations, rollingupdate.AnnotationOriginal) })
			stray := webPod("stray", "")
			stray.GenerateName, stray.Labels = "web-", maps.Clone(lab.AppWeb)
			s.have(stray)
		}},
		{name: "beginning of an update", method: http.MethodPut, suffix: web, arrange: func(s *scene) {
			s.update(aName, 2, 0, func(old, _ *corev1.ReplicationController) {
				delete(old.Annotations, rollingupdate.AnnotationNext)
				delete(old.Annotations, rollingupdate.AnnotationOriginal)
			})
		}},
		{name: "create the new replicationcontroller", method: http.MethodPost, suffix: "/replicationcontrollers", arrange: func(s *scene) {
			s.update(anImage+`,"to":"web-2","imagePullPolicy":"Always"`, 2, -1)
		}},
		{name: "scale the new replicationcontroller", method: http.MethodPut, suffix: web2, arrange: func(s *scene) { s.update(aName, 2, 0) }},
		{name: "scale the old replicationcontroller", method: http.MethodPut, suffix: web, arrange: func(s *scene) { s.update(aName, 2, 1) }},
		{name: "condition of an update", method: http.MethodPut, suffix: web2 + "/status", spare: 1, arrange: func(s *scene) { s.update(aName+`,"paused":true`, 2, 1) }},
		{name: "notes on the new replicationcontroller", method: http.MethodPut, suffix: web2, arrange: func(s *scene) { s.update(aName, 0, 2, ending) }},
		{name: "delete the old replicationcontroller", method: http.MethodDelete, suffix: web, arrange: func(s *scene) { s.update(aName, 0, 2, ending, onItsOwn) }},
		{name: "notes on the old replicationcontroller", method: http.MethodPut, suffix: web, arrange: func(s *scene) { s.update(aName+`,"cleanup":"preserve"`, 0, 2, ending, onItsOwn) }},
		{name: "template of the new under the old name", method: http.MethodPut, suffix: web, arrange: func(s *scene) { s.update(anImage, 0, 2, ending) }},
		{name: "have the new replicationcontroller let go of its pods", method: http.MethodPut, suffix: web2, arrange: func(s *scene) { s.update(anImage, 0, 2, ending, parked) }},
		{name: "have the new replicationcontroller select its pods again", method: http.MethodPut, suffix: web2, arrange: func(s *scene) {
			s.update(anImage, 0, 0, ending, parked, func(old, n *corev1.ReplicationController) {
				emptied(n)
				old.DeletionTimestamp, old.Finalizers = &actingMade, []string{"example.com/wait"}
			})
		}},
		{name: "delete the new replicationcontroller", method: http.MethodDelete, suffix: web2, arrange: func(s *scene) {
			s.update(anImage, 0, 0, ending, parked, func(_, n *corev1.ReplicationController) { emptied(n) })
		}},
		{name: "take over the pods under the old name", method: http.MethodPut, suffix: web, arrange: func(s *scene) { s.update(anImage, 0, -1, ending, parked) }},
		{name: "end the take-over", method: http.MethodPut, suffix: web, arrange: func(s *scene) { s.update(anImage, 2, -1, ending, sealed) }},
	}
}
