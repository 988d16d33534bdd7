package controllers

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestTemplateFields holds what a cause says of a template: every path that
// changed, and of strings never the value.
func TestTemplateFields(t *testing.T) {
	base := func() *corev1.PodTemplateSpec {
		p := template(map[string]string{"app": "web"}, "web:1")
		c := &p.Spec.Containers[0]
		c.Name, c.Args = "app", []string{"--token=hunter2"}
		c.Env = []corev1.EnvVar{{Name: "DB_URL", Value: "postgres://u:hunter2@db"}, {Name: "MODE", Value: "a"}}
		c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 80}}
		c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("100m")}
		c.LivenessProbe = &corev1.Probe{PeriodSeconds: 10, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}}}
		p.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Gi"))}}}}
		p.Spec.NodeSelector = map[string]string{"disk": "hunter2", "zone": "a"}
		p.Spec.Tolerations = []corev1.Toleration{{Key: "gpu"}}
		return p
	}
	const at = "spec.template."
	for name, c := range map[string]struct {
		edit func(*corev1.PodTemplateSpec)
		want []decision.Change
	}{
		"an image, and first": {func(p *corev1.PodTemplateSpec) {
			p.Annotations = map[string]string{"checksum": "hunter2"}
			p.Spec.Containers[0].Image = "web:2"
		}, []decision.Change{{Field: at + "containers[app].image", From: "web:1", To: "web:2"}, {Field: "spec.template"}, {Field: at + "metadata.annotations[checksum]"}}},
		"a login that changes is named": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "u:hunter2@web:1" },
			[]decision.Change{{Field: at + "containers[app].image", From: "web:1", To: "…@web:1"}, {Field: "spec.template"}}},
		"a variable": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Env[0].Value = "postgres://u:correct@db" },
			[]decision.Change{{Field: "spec.template"}, {Field: at + "containers[app].env[DB_URL]"}}},
		"a variable comes, one goes": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Env[1].Name = "LEVEL" },
			[]decision.Change{{Field: "spec.template"}, {Field: at + "containers[app].env[LEVEL]"}, {Field: at + "containers[app].env[MODE]"}}},
		"arguments": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Args[0] = "--token=x" },
			[]decision.Change{{Field: "spec.template"}, {Field: at + "containers[app].args"}}},
		"requests": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")}
		}, []decision.Change{{Field: "spec.template"}, {Field: at + "containers[app].resources.requests[cpu]", From: "100m", To: "2"},
			{Field: at + "containers[app].resources.requests[memory]", To: "1Gi"}}},
		"a port": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Ports[0].ContainerPort = 81 },
			[]decision.Change{{Field: "spec.template"}, {Field: at + "containers[app].ports[http].containerPort", From: "80", To: "81"}}},
		"a probe": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/hunter2", Port: intstr.FromInt32(80)}}}
		}, []decision.Change{{Field: "spec.template"}, {Field: at + "containers[app].readinessProbe"}}},
		"a container more": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "log", Image: "log:1"})
		}, []decision.Change{{Field: at + "containers[log].image", To: "log:1"}, {Field: "spec.template"}, {Field: at + "containers[log]"}}},
		"the order alone": {func(p *corev1.PodTemplateSpec) { slices.Reverse(p.Spec.Containers[0].Env) }, []decision.Change{{Field: "spec.template"}}},
		"seconds and switches": {func(p *corev1.PodTemplateSpec) {
			p.Spec.TerminationGracePeriodSeconds, p.Spec.HostNetwork = new(int64(5)), true
		}, []decision.Change{{Field: "spec.template"}, {Field: at + "terminationGracePeriodSeconds", To: "5"}, {Field: at + "hostNetwork", From: "false", To: "true"}}},
		"a size": {func(p *corev1.PodTemplateSpec) { p.Spec.Volumes[0].EmptyDir.SizeLimit = new(resource.MustParse("2Gi")) },
			[]decision.Change{{Field: "spec.template"}, {Field: at + "volumes[tmp].emptyDir.sizeLimit", From: "1Gi", To: "2Gi"}}},
		"a size goes": {func(p *corev1.PodTemplateSpec) { p.Spec.Volumes[0].EmptyDir.SizeLimit = nil },
			[]decision.Change{{Field: "spec.template"}, {Field: at + "volumes[tmp].emptyDir.sizeLimit"}}},
		"a number and a port by name": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].LivenessProbe.PeriodSeconds, p.Spec.Containers[0].LivenessProbe.TCPSocket.Port = 20, intstr.FromString("hunter2")
		}, []decision.Change{{Field: "spec.template"}, {Field: at + "containers[app].livenessProbe.tcpSocket.port"}, {Field: at + "containers[app].livenessProbe.periodSeconds", From: "10", To: "20"}}},
		"keys of a map": {func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector = map[string]string{"disk": "x", "arch": "y"} },
			[]decision.Change{{Field: "spec.template"}, {Field: at + "nodeSelector[arch]"}, {Field: at + "nodeSelector[disk]"}, {Field: at + "nodeSelector[zone]"}}},
		"a list whose elements have no names": {func(p *corev1.PodTemplateSpec) { p.Spec.Tolerations[0].Key = "cpu" },
			[]decision.Change{{Field: "spec.template"}, {Field: at + "tolerations"}}},
		"two of one name": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: "MODE", Value: "b"})
		}, []decision.Change{{Field: "spec.template"}, {Field: at + "containers[app].env"}}},
		"one without a name": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Ports[0].Name = "" },
			[]decision.Change{{Field: "spec.template"}, {Field: at + "containers[app].ports"}}},
		"a word": {func(p *corev1.PodTemplateSpec) { p.Spec.ServiceAccountName = "hunter2" },
			[]decision.Change{{Field: "spec.template"}, {Field: at + "serviceAccountName"}}},
		"a volume of an image": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "hunter2"}}
		}, []decision.Change{{Field: "spec.template"}, {Field: at + "volumes[tmp].emptyDir"}, {Field: at + "volumes[tmp].image"}}},
		"a label": {func(p *corev1.PodTemplateSpec) { p.Labels["tier"] = "hunter2" },
			[]decision.Change{{Field: "spec.template"}, {Field: at + "metadata.labels[tier]"}}},
	} {
		t.Run(name, func(t *testing.T) {
			next := base()
			c.edit(next)
			var f fields
			f.template(base(), next)
			if diff := cmp.Diff(c.want, []decision.Change(f)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What Kubernetes has not yet is named and not shown, and what is not the API's is passed over.
func TestFieldsOfNewKinds(t *testing.T) {
	type element struct {
		Name int `json:"name"`
	}
	type Inner struct {
		Of int64 `json:"of"`
	}
	type Bare struct {
		Bare int64 `json:"bare"`
	}
	type Flat struct {
		Flat int64 `json:"flat"`
	}
	type odd struct {
		Counts  map[string]int `json:"counts"`
		List    []element      `json:"list"`
		Share   float64        `json:"share"`
		Seconds int64          `json:"seconds"`
		Inner   `json:"inner"`
		Bare
		Flat   Flat `json:",inline"`
		hidden int64
	}
	var d templateDiff
	d.object("spec", reflect.ValueOf(odd{map[string]int{"a": 1}, []element{{1}}, 0.5, 1, Inner{1}, Bare{1}, Flat{1}, 1}), reflect.ValueOf(odd{map[string]int{"a": 2}, []element{{2}}, 0.7, 2, Inner{2}, Bare{2}, Flat{2}, 2}))
	want := []decision.Change{{Field: "spec.counts"}, {Field: "spec.list"}, {Field: "spec.share"}, {Field: "spec.seconds", From: "1", To: "2"}, {Field: "spec.inner.of", From: "1", To: "2"},
		{Field: "spec.bare", From: "1", To: "2"}, {Field: "spec.flat", From: "1", To: "2"}}
	if diff := cmp.Diff(want, d.others); diff != "" {
		t.Error(diff)
	}
}

// A cause names so many fields and no more.
func TestNoFieldIsTooMany(t *testing.T) {
	var f fields
	for i := range int32(maxFields - 1) {
		f.count("n", i, i+1)
	}
	full := slices.Clone(f)
	for name, add := range map[string]func(*fields){
		"named":  func(f *fields) { f.named(true, "x"); f.named(true, "y") },
		"valued": func(f *fields) { f.valued("x", "a", "b"); f.valued("y", "a", "b") },
		"added":  func(f *fields) { f.add(decision.Change{Field: "x"}); f.add(decision.Change{Field: "y"}) },
	} {
		f := slices.Clone(full)
		if add(&f); len(f) != maxFields || f[maxFields-1].Field != "x" {
			t.Errorf("%s: %d fields, the last is %+v", name, len(f), f[len(f)-1])
		}
	}
}

// Every field that a loop decides on or writes is named where it changes, from what to what.
func TestFieldsOfEveryChange(t *testing.T) {
	changed := func(path, from, to string) decision.Change { return decision.Change{Field: path, From: from, To: to} }
	is := func(kind string) decision.Change {
		return changed("status.conditions["+kind+"]", "False Slow", "True Fast")
	}
	is1, is2 := metav1.ObjectMeta{}, metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Unix(9, 0)}, Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "1"},
		OwnerReferences: []metav1.OwnerReference{*ownedBy("Deployment", "web", "d")}, Finalizers: []string{"f"}}
	meta := changesOf("metadata.deletionTimestamp", "metadata.labels[l]", "metadata.annotations[a]", "metadata.ownerReferences", "metadata.finalizers")
	d1 := &appsv1.Deployment{ObjectMeta: is1, Spec: appsv1.DeploymentSpec{Replicas: new(int32(1)), MinReadySeconds: 1, ProgressDeadlineSeconds: new(int32(1)), RevisionHistoryLimit: new(int32(1)),
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromString("25%"))}}},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, TerminatingReplicas: new(int32(1)), CollisionCount: new(int32(1)),
			Conditions: []appsv1.DeploymentCondition{{Type: "A", Status: corev1.ConditionFalse, Reason: "Slow"}}}}
	d2 := &appsv1.Deployment{ObjectMeta: is2, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), MinReadySeconds: 2, ProgressDeadlineSeconds: new(int32(2)), RevisionHistoryLimit: new(int32(2)),
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2, TerminatingReplicas: new(int32(2)), CollisionCount: new(int32(2)),
			Conditions: []appsv1.DeploymentCondition{{Type: "A", Status: corev1.ConditionTrue, Reason: "Fast"}}}}
	var f fields
	f.deploymentSpec(&d1.Spec, &d2.Spec)
	if diff := cmp.Diff([]decision.Change{changed("spec.replicas", "1", "2"), changed("spec.strategy.type", "RollingUpdate", "Recreate"), changed("spec.strategy.maxSurge", "1", ""), changed("spec.strategy.maxUnavailable", "25%", ""),
		changed("spec.minReadySeconds", "1", "2"), changed("spec.progressDeadlineSeconds", "1", "2"), changed("spec.revisionHistoryLimit", "1", "2"), {Field: "spec.selector"}}, []decision.Change(f)); diff != "" {
		t.Errorf("spec of a Deployment (-want +got):\n%s", diff)
	}
	d2.Spec = d1.Spec
	want := slices.Concat(meta, []decision.Change{changed("status.observedGeneration", "1", "2"), changed("status.replicas", "1", "2"), changed("status.updatedReplicas", "1", "2"), changed("status.readyReplicas", "1", "2"),
		changed("status.availableReplicas", "1", "2"), changed("status.terminatingReplicas", "1", "2"), changed("status.collisionCount", "1", "2"), is("A")})
	if diff := cmp.Diff(want, deploymentFields(d1, d2)); diff != "" {
		t.Errorf("Deployment (-want +got):\n%s", diff)
	}
	r1 := &appsv1.ReplicaSet{ObjectMeta: is1, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1)), MinReadySeconds: 1},
		Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: 1, FullyLabeledReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, TerminatingReplicas: new(int32(1)),
			Conditions: []appsv1.ReplicaSetCondition{{Type: "B", Status: corev1.ConditionFalse, Reason: "Slow"}}}}
	r2 := &appsv1.ReplicaSet{ObjectMeta: is2, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(2)), MinReadySeconds: 2, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
		Status: appsv1.ReplicaSetStatus{ObservedGeneration: 2, Replicas: 2, FullyLabeledReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2, TerminatingReplicas: new(int32(2)),
			Conditions: []appsv1.ReplicaSetCondition{{Type: "B", Status: corev1.ConditionTrue, Reason: "Fast"}}}}
	want = slices.Concat([]decision.Change{changed("spec.replicas", "1", "2"), changed("spec.minReadySeconds", "1", "2"), {Field: "spec.selector"}}, meta,
		[]decision.Change{changed("status.observedGeneration", "1", "2"), changed("status.replicas", "1", "2"), changed("status.fullyLabeledReplicas", "1", "2"), changed("status.readyReplicas", "1", "2"),
			changed("status.availableReplicas", "1", "2"), changed("status.terminatingReplicas", "1", "2"), is("B")})
	if diff := cmp.Diff(want, replicaSetFields(r1, r2)); diff != "" {
		t.Errorf("ReplicaSet (-want +got):\n%s", diff)
	}
	p1, p2 := &corev1.Pod{ObjectMeta: is1}, &corev1.Pod{ObjectMeta: is2}
	p1.Spec.InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
	p2.Spec.InitContainers = p1.Spec.InitContainers
	p1.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 2}}
	p1.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, Reason: "Spared"}}
	p2.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", RestartCount: 5}}
	p2.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "Preempted"}}
	want = slices.Concat([]decision.Change{changed("status.conditions[DisruptionTarget]", "", "Preempted"), changed("status.restarts", "2", "5")}, meta)
	if diff := cmp.Diff(want, podFields(p1, p2)); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	if changes := podFields(p2, p2); len(changes) != 0 {
		t.Errorf("of what did not change: %+v", changes)
	}
}

// A generation that stands says that the spec does, and spares the comparison.
func TestFieldsOfAStatus(t *testing.T) {
	old := deploymentNamed("web", "d", appsv1.RollingUpdateDeploymentStrategyType)
	old.Generation = 4
	is := old.DeepCopy()
	is.Spec.Paused = true // It cannot be, with the generation of before.
	is.Status.ReadyReplicas = 2
	if diff := cmp.Diff([]decision.Change{{Field: "status.readyReplicas", From: "0", To: "2"}}, deploymentFields(old, is)); diff != "" {
		t.Error(diff)
	}
	other := is.DeepCopy()
	other.UID = "another" // Its generation says nothing.
	if changes := deploymentFields(old, other); len(changes) != 2 || changes[0].Field != "spec.paused" {
		t.Errorf("of another object: %+v", changes)
	}
	is.Generation = 5
	is.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromString("25%"))}
	want := []decision.Change{{Field: "spec.paused", From: "false", To: "true"}, {Field: "spec.strategy.maxSurge", To: "25%"}, {Field: "status.readyReplicas", From: "0", To: "2"}}
	if diff := cmp.Diff(want, deploymentFields(old, is)); diff != "" {
		t.Error(diff)
	}
}

// TestPodLife tells a pod's life from causes alone.
func TestPodLife(t *testing.T) {
	life := []*corev1.Pod{
		{ObjectMeta: object("web-1-a", "p", "1", nil, nil), Status: corev1.PodStatus{Phase: corev1.PodPending}},
		{}, {}, {}, {}, {},
	}
	steps := []func(*corev1.Pod){nil,
		func(p *corev1.Pod) { p.Spec.NodeName = "node-7" },
		func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}
		},
		func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 2}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		},
		func(p *corev1.Pod) {
			p.Status.Conditions[0].Status, p.Status.Conditions[0].Reason = corev1.ConditionFalse, "ContainersNotReady"
		},
		func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(9, 0)} },
	}
	want := [][]decision.Change{nil,
		{{Field: "spec.nodeName", To: "node-7"}},
		{{Field: "status.reason", To: "ErrImagePull"}},
		{{Field: "status.phase", From: "Pending", To: "Running"}, {Field: "status.conditions[Ready]", From: "false", To: "true"},
			{Field: "status.reason", From: "ErrImagePull"}, {Field: "status.restarts", From: "0", To: "2"}},
		{{Field: "status.conditions[Ready]", From: "true", To: "false"}, {Field: "status.reason", To: "ContainersNotReady"}},
		{{Field: "metadata.deletionTimestamp"}},
	}
	for i := 1; i < len(life); i++ {
		life[i] = life[i-1].DeepCopy()
		steps[i](life[i])
		if diff := cmp.Diff(want[i], podFields(life[i-1], life[i])); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
}

// echoing is a recorder that knows one write of ours.
type echoing struct {
	recording
	rv string
}

func (r *echoing) SyncOf(kind, namespace, name, rv string) (uint64, bool) {
	return 41, kind == kindDeployment && namespace == "shop" && name == "web" && rv == r.rv
}

// failsOnce is a body whose first look at a key fails.
type failsOnce struct {
	*script
	looked bool
}

func (f *failsOnce) observe(ctx context.Context, key string) (objectSync, error) {
	if !f.looked {
		f.looked = true
		return nil, errors.New("the first try fails")
	}
	return f.script.observe(ctx, key)
}

// TestEveryKindOfCause lets informers, timers, back-off and the queue give a
// real loop one cause of each kind, and reads all of them in the traces.
func TestEveryKindOfCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &echoing{rv: "8"}
		logger := slog.New(slog.NewTextHandler(io.Discard, nil))
		l, handle := handled(t, Options{Recorder: r, Logger: logger})
		s := &script{decideFunc: func(int) decision.Verdict {
			return decision.Verdict{Timers: []decision.Timer{{At: time.Now().Add(time.Hour), Code: "deadline"}}}
		}}
		l.controller = &failsOnce{script: s}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx, 1) }()
		synctest.Wait()
		one := deploymentNamed("web", "d", appsv1.RollingUpdateDeploymentStrategyType)
		two := one.DeepCopy()
		two.ResourceVersion, two.Spec.Replicas = "8", new(int32(3))
		handle.deploymentHandler().OnAdd(one, true)
		time.Sleep(time.Second) // The back-off, in the bubble's time.
		for _, event := range []func(cache.ResourceEventHandler){
			func(h cache.ResourceEventHandler) { h.OnAdd(one, false) },
			func(h cache.ResourceEventHandler) { h.OnUpdate(one, two) },
			func(h cache.ResourceEventHandler) { h.OnUpdate(two, two) }, // a resync ([E-2])
			func(h cache.ResourceEventHandler) { h.OnDelete(two) },
			func(h cache.ResourceEventHandler) {
				h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/web", Obj: two})
			},
		} {
			event(handle.deploymentHandler())
			synctest.Wait()
		}
		l.Enqueue("shop/web", telemetry.Cause{Kind: telemetry.CausePodReason})
		time.Sleep(2 * time.Hour) // Until the timer.
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		found := map[telemetry.CauseKind]telemetry.Cause{}
		for _, trace := range r.all() {
			for _, c := range trace.Causes {
				found[c.Kind] = c
			}
		}
		for _, kind := range telemetry.CauseKinds {
			if _, ok := found[kind]; !ok {
				t.Errorf("no cause of the kind %s", kind)
			}
		}
		is := found[telemetry.CauseModified]
		if is.Sync != 41 || is.OldRV != "1" || is.NewRV != "8" || len(is.Fields) != 1 || is.Fields[0].To != "3" || is.Object != "Deployment web" {
			t.Errorf("modified: %+v, want the versions, the field and sync 41", is)
		}
		if c := found[telemetry.CauseTimer]; c.Code != "deadline" || c.Due.IsZero() {
			t.Errorf("timer: %+v, want its reason and when it was due", c)
		}
		if c := found[telemetry.CauseBackoff]; c.Code != string(telemetry.ResultFailed) || c.Due.IsZero() {
			t.Errorf("back-off: %+v, want what it is for and when it was due", c)
		}
		if c := found[telemetry.CauseResync]; c.OldRV != "8" || c.NewRV != "8" {
			t.Errorf("resync: %+v, want the version that stands", c)
		}
	})
}

// handled is a Deployment loop without informers, and the body whose handlers feed it.
func handled(t *testing.T, opts Options) (*Loop, *deploymentController) {
	t.Helper()
	client := fake.NewClientset()
	f := informers.NewSharedInformerFactory(client, 0)
	l, err := NewDeployment(t.Context(), f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, opts)
	if err != nil {
		t.Fatal(err)
	}
	l.caches = nil // Nothing to wait for.
	return l, l.controller.(*deploymentController)
}
