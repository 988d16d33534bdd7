package migrate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestProblemsAndNotes changes a scene in which nothing is in the way.
func TestProblemsAndNotes(t *testing.T) {
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, UID: "other", Labels: map[string]string{"app": "web"}}
	}
	selects := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for _, c := range []struct {
		name   string
		change func(*Cluster, *around, *Options)
		want   []string // each in one problem, all problems in this order
		note   string
	}{
		{name: "nothing", change: func(*Cluster, *around, *Options) {}},
		{name: "a name", change: func(_ *Cluster, _ *around, o *Options) { o.Name = "We b" }, want: []string{`"We b" is no name`}},
		{name: "no template", change: func(c *Cluster, _ *around, _ *Options) { c.Controller.Spec.Template = nil }, want: []string{"has no template"}},
		{name: "an owner", change: func(c *Cluster, _ *around, _ *Options) {
			yes := true
			c.Controller.OwnerReferences = []metav1.OwnerReference{{Kind: "DeploymentConfig", Name: "shop", Controller: &yes}}
		}, want: []string{"DeploymentConfig shop controls ReplicationController web and would put back what is changed: delete that with --cascade=orphan first"}},
		{name: "an owner that does not control it", change: func(c *Cluster, _ *around, _ *Options) {
			c.Controller.OwnerReferences = []metav1.OwnerReference{{Kind: "Application", Name: "shop"}}
		}},
		{name: "no selector", change: func(c *Cluster, _ *around, _ *Options) { c.Controller.Spec.Selector = nil }, want: []string{"it has no selector"}},
		{name: "labels that the selector lacks", change: func(c *Cluster, _ *around, _ *Options) { c.Controller.Spec.Template.Labels["track"] = "stable" }},
		{name: "a failure", change: func(c *Cluster, _ *around, _ *Options) {
			c.Controller.Status.Replicas, c.Pods = 2, c.Pods[:2]
			c.Controller.Status.Conditions = []corev1.ReplicationControllerCondition{{Type: corev1.ReplicationControllerReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: few"}}
		}, want: []string{"wants 3 pods, has 2, and its status says 2; its last attempt failed: exceeded quota: few"}},
		{name: "a failure of the past", change: func(c *Cluster, _ *around, _ *Options) {
			c.Controller.Status.Conditions = []corev1.ReplicationControllerCondition{{Type: corev1.ReplicationControllerReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: few"}}
		}},
		{name: "an update", change: func(c *Cluster, _ *around, _ *Options) {
			c.Controller.Annotations["kubectl.kubernetes.io/next-controller-id"] = "web2"
		}, want: []string{"next-controller-id"}},
		{name: "a request", change: func(c *Cluster, _ *around, _ *Options) {
			c.Controller.Annotations["rollingupdate.loopscope.dev/to"] = "web2"
		}, want: []string{"rollingupdate.loopscope.dev/to"}},
		{name: "a hash", change: func(c *Cluster, _ *around, _ *Options) { c.Controller.Spec.Template.Labels[hashKey] = "1" }, want: []string{"which a Deployment sets itself"}},
		{name: "not at rest", change: func(c *Cluster, _ *around, _ *Options) { c.Controller.Status.Replicas = 2 }, want: []string{"wants 3 pods, has 3, and its status says 2"}},
		{name: "no loop", change: func(c *Cluster, _ *around, _ *Options) { c.Controller.Generation = 2 }, want: []string{"no controller has come to its newest spec"}},
		{name: "a stray pod", change: func(c *Cluster, _ *around, _ *Options) {
			c.Pods = append(c.Pods, corev1.Pod{ObjectMeta: named("stray")})
		}, want: []string{"pod stray is selected by it"}},
		{name: "names that are taken", change: func(c *Cluster, _ *around, _ *Options) {
			c.Deployment, c.Set = &appsv1.Deployment{ObjectMeta: named("web")}, &appsv1.ReplicaSet{ObjectMeta: named("web-1")}
		}, want: []string{"Deployment web is there already", "ReplicaSet web-1 is there already"}},
		{name: "others that adopt", change: func(_ *Cluster, a *around, _ *Options) {
			a.add(&appsv1.DaemonSet{ObjectMeta: named("everywhere"), Spec: appsv1.DaemonSetSpec{Selector: selects}})
			a.add(&appsv1.StatefulSet{ObjectMeta: named("one"), Spec: appsv1.StatefulSetSpec{Selector: selects}})
			a.add(&appsv1.Deployment{ObjectMeta: named("none"), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{}}})
		}, want: []string{"each selector of DaemonSet everywhere, StatefulSet one matches"}},
		{name: "one that adopts a pod that was labelled since", change: func(c *Cluster, a *around, _ *Options) {
			c.Pods[2].Labels["debug"] = "yes"
			a.add(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "debug", UID: "debug"}, Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"debug": "yes"}}}})
		}, want: []string{"the selector of ReplicaSet debug matches these pods"}},
		{name: "a ReplicaSet that would be adopted", change: func(_ *Cluster, a *around, _ *Options) {
			a.add(&appsv1.ReplicaSet{ObjectMeta: named("left"), Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}}}})
		}, want: []string{"ReplicaSet left is without an owner"}},
		{name: "an autoscaler", change: func(c *Cluster, _ *around, _ *Options) {
			c.Scalers = append(c.Scalers, scalerOf("scaler", ofController, "web"))
		},
			note: "kubectl -n shop patch hpa scaler"},
		{name: "an autoscaler that is moved", change: func(c *Cluster, _ *around, o *Options) {
			o.MoveScalers = true
			c.Scalers = append(c.Scalers, scalerOf("scaler", ofController, "web"), scalerOf("other", ofController, "api"))
		}},
		{name: "two autoscalers of one", change: func(c *Cluster, _ *around, o *Options) {
			o.MoveScalers = true
			c.Scalers = append(c.Scalers, scalerOf("scaler", ofController, "web"), scalerOf("early", ofDeployment, "web"))
		}, want: []string{"HorizontalPodAutoscalers scaler and early would scale one Deployment"}},
		{name: "an autoscaler that somebody keeps", change: func(c *Cluster, _ *around, o *Options) {
			yes := true
			o.MoveScalers = true
			h := scalerOf("scaler", ofController, "web")
			h.OwnerReferences = []metav1.OwnerReference{{Kind: "ScaledObject", Name: "web", Controller: &yes}}
			c.Scalers = append(c.Scalers, h)
		}, want: []string{"ScaledObject web controls HorizontalPodAutoscaler scaler"}},
		{name: "a finished pod", change: func(c *Cluster, _ *around, _ *Options) {
			p := c.Pods[0].DeepCopy()
			p.Name, p.Status.Phase = "evicted", corev1.PodFailed
			c.Pods = append(c.Pods, *p)
		}, note: "1 pod is finished"},
		{name: "an earlier image", change: func(c *Cluster, _ *around, _ *Options) {
			c.Pods[1].Spec.Containers = []corev1.Container{{Name: "main", Image: "web:0"}}
		}, note: "pod web-1 runs other images"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, a, o := scene(3), &around{}, &Options{Controller: "web"}
			c.change(cluster, a, o)
			if got := problems(cluster, o, a); !slices.EqualFunc(got, c.want, strings.Contains) {
				t.Errorf("problems %q, want %q", got, c.want)
			}
			if got := fmt.Sprint(notes(cluster, o, o.name(nil))); c.note == "" && got != "[]" || !strings.Contains(got, c.note) {
				t.Errorf("notes %q, want %q", got, c.note)
			}
		})
	}
}

func scalerOf(name, kind, target string) autoscalingv2.HorizontalPodAutoscaler {
	return autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: kind, Name: target}}}
}

func TestMissingRights(t *testing.T) {
	if got := missing(rights(&Options{Undo: true}, false, false)[:4]); got != "you lack the right to list and patch pods and get and update replicationcontrollers in this namespace: have somebody grant it before the first write" {
		t.Error(got)
	}
	if got := missing(rights(&Options{MoveScalers: true}, true, true)[2:4]); !strings.Contains(got, "list and update horizontalpodautoscalers.autoscaling") {
		t.Error(got)
	}
	for _, x := range rights(&Options{Keep: true}, false, true) {
		if x.verb == "delete" || x.group == "autoscaling" {
			t.Errorf("%+v is needed with --keep-rc", x)
		}
	}
}

// TestWhatStopsIt changes a migration that was left somewhere.
func TestWhatStopsIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		steps  int
		undo   bool
		change func(*Cluster)
		kind   Kind
		want   string
	}{
		{"a record of a later release", 1, false, func(c *Cluster) { c.Controller.Annotations[recordKey] = `{"v":2}` }, Blocked, "use the release"},
		{"another template", 2, false, func(c *Cluster) { c.Controller.Spec.Template.Spec.Containers[0].Image = "web:2" }, Blocked, "was changed since"},
		{"a pod that others have made", 2, false, func(c *Cluster) {
			c.Pods = append(c.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stray", Labels: c.Pods[0].Labels}})
		}, Blocked, "pod stray is labelled like"},
		{"it scales", 2, false, func(c *Cluster) { *c.Controller.Spec.Replicas = 4 }, Wait, "wants 4 pods, has 3"},
		{"a pod too many", 3, false, func(c *Cluster) {
			c.Pods = append(c.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stray", Labels: c.Pods[0].Labels}})
		}, Blocked, "would keep 3 and delete the rest"},
		{"a foreign Deployment", 5, false, func(c *Cluster) { c.Deployment = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}} }, Blocked, "this migration has not made it"},
		{"a foreign ReplicaSet", 3, false, func(c *Cluster) { c.Set = &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}} }, Blocked, "this migration has not made it"},
		{"a size that somebody gave it before its end", 7, false, func(c *Cluster) { *c.Controller.Spec.Replicas = 2 }, Blocked, "has pods again, as somebody has scaled it to 2"},
		{"a paused Deployment without its ReplicaSet", 7, false, func(c *Cluster) {
			c.Set, c.Deployment.Spec.Paused, c.Deployment.Status.Replicas = nil, true, 0
		}, Blocked, "rollout resume deployment/web"},
		{"a Deployment whose pods are about to come", 7, false, func(c *Cluster) { c.Deployment.Status.Replicas = 0 }, Wait, "until Deployment web has a pod: it wants 3 pods"},
		{"a ReplicaSet that is gone", 6, false, func(c *Cluster) { c.Set = nil }, Blocked, "is gone"},
		{"a Deployment that was changed", 7, true, func(c *Cluster) { c.Deployment.Spec.Template.Spec.Containers[0].Image = "web:2" }, Blocked, "`kubectl -n shop rollout undo deployment/web --to-revision=1`"},
		{"a Deployment that was changed and is paused", 7, true, func(c *Cluster) {
			c.Deployment.Spec.Template.Spec.Containers[0].Image, c.Deployment.Spec.Paused = "web:2", true
		}, Blocked, "with `kubectl -n shop rollout resume deployment/web` and then `kubectl -n shop rollout undo deployment/web --to-revision=1`"},
		{"a Deployment that was changed and is paused, without its ReplicaSet", 7, true, func(c *Cluster) {
			c.Deployment.Spec.Template.Spec.Containers[0].Image, c.Deployment.Spec.Paused, c.Set = "web:2", true, nil
			c.Pods = podsOf(otherSet(c, 3), c.Pods)
		}, Blocked, "is gone, which had that of the ReplicationController: give the Deployment that template first"},
		{"a paused Deployment of that template, whose pods are of another", 7, true, func(c *Cluster) {
			c.Deployment.Spec.Paused, c.Set, c.Others = true, nil, []*appsv1.ReplicaSet{otherSet(c, 3)}
			c.Pods = podsOf(c.Others[0], c.Pods)
		}, Blocked, "ReplicaSet web-2 has pods of another template, and Deployment web replaces none while it is paused: resume it first, with `kubectl -n shop rollout resume deployment/web`"},
		{"pods of another template, and no Deployment any more", 7, true, func(c *Cluster) {
			c.Others = []*appsv1.ReplicaSet{otherSet(c, 0)}
			c.Pods = podsOf(c.Others[0], c.Pods)
			c.Deployment, c.Set = nil, nil
		}, Blocked, "first, with `kubectl -n shop delete replicaset web-2`"},
		{"a Deployment that has pods of another template left", 7, true, func(c *Cluster) { c.Others = []*appsv1.ReplicaSet{otherSet(c, 1)} }, Wait, "until Deployment web is at rest"},
		{"a Deployment that scales", 7, true, func(c *Cluster) { *c.Deployment.Spec.Replicas = 5 }, Wait, "a change of its size"},
		{"a ReplicationController that is deleted", 7, true, func(c *Cluster) { c.Controller.DeletionTimestamp = &metav1.Time{} }, Blocked, "no way back"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &model{Cluster: scene(3), clock: metav1.Now()}
			for range c.steps {
				for _, w := range next(m.Cluster, thereTo).Writes {
					m.apply(&w)
				}
				m.rest()
			}
			c.change(m.Cluster)
			if s := next(m.Cluster, &Options{Controller: "web", Undo: c.undo}); s.Kind != c.kind || !strings.Contains(s.Text, c.want) {
				t.Errorf("%s %q, want %s %q", s.Kind, s.Text, c.kind, c.want)
			}
		})
	}
}

// TestWhereItStands names the owner at every step there and back.
func TestWhereItStands(t *testing.T) {
	m := &model{Cluster: scene(3), clock: metav1.Now()}
	var got []string
	for _, o := range []*Options{thereTo, back} {
		for s := next(m.Cluster, o); s.Kind == Act; s = next(m.Cluster, o) {
			for _, w := range s.Writes {
				m.apply(&w)
			}
			m.rest()
			if now := m.phase(); len(got) == 0 || got[len(got)-1] != now {
				got = append(got, now)
			}
		}
	}
	want := []string{
		"the ReplicationController owns the pods", "3 pods have no owner, and nobody replaces one that ends", "the ReplicaSet owns the pods, and cannot replace one yet", "the ReplicaSet owns the pods",
		"3 pods have no owner, and nobody replaces one that ends", "the ReplicationController owns the pods, and cannot replace one yet", "the ReplicationController owns the pods", "nothing is written on the ReplicationController",
	}
	if !slices.Equal(got, want) {
		t.Errorf("it says\n%s", strings.Join(got, "\n"))
	}
}
