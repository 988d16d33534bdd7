package changes

import (
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestTemplateFields holds what a cause says of a template: every path that
// changed, and of strings never the value.
func TestTemplateFields(t *testing.T) {
	base := func() *corev1.PodTemplateSpec {
		p := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "web:1"}}}}
		p.Labels = map[string]string{"app": "web"}
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
		"nothing": {func(*corev1.PodTemplateSpec) {}, nil},
		"a quantity in other words": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes[0].EmptyDir.SizeLimit, p.Spec.HostNetwork = new(resource.MustParse("1024Mi")), true
		}, []decision.Change{{Field: "spec.template"}, {Field: at + "hostNetwork", From: "false", To: "true"}}},
		"a number of its metadata": {func(p *corev1.PodTemplateSpec) { p.DeletionGracePeriodSeconds = new(int64(5)) },
			[]decision.Change{{Field: "spec.template"}, {Field: at + "metadata.deletionGracePeriodSeconds", To: "5"}}},
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
			var f Fields
			f.Template(base(), next)
			if diff := cmp.Diff(c.want, []decision.Change(f)); diff != "" {
				t.Error(diff)
			}
			below := slices.DeleteFunc(slices.Clone(c.want), func(c decision.Change) bool { return c.Field == PathTemplate })
			if got := Template(base(), next); !slices.Equal(got, below) {
				t.Errorf("below it: %v, want %v", got, below)
			}
		})
	}
	for name, edit := range map[string]func(*corev1.PodTemplateSpec){
		"no name": func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Ports[0].Name = "" },
		"one for several": func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Ports = slices.Repeat(p.Spec.Containers[0].Ports, 2)
		},
	} {
		old := base()
		edit(old)
		if diff := cmp.Diff([]decision.Change{{Field: at + "containers[app].ports"}}, Template(old, base())); diff != "" {
			t.Errorf("elements that had %s: %s", name, diff)
		}
	}
}

// How each kind of field is told: from what it was to what it is, and not where nothing
// changed.
func TestKindsOfFields(t *testing.T) {
	for name, c := range map[string]struct {
		add  func(*Fields)
		want []decision.Change
	}{
		"a count":               {func(f *Fields) { f.Count("n", 1, 2) }, []decision.Change{change("n", "1", "2")}},
		"a count that stands":   {func(f *Fields) { f.Count("n", 1, 1) }, nil},
		"a long number":         {func(f *Fields) { f.Number("n", 1, 1<<40) }, []decision.Change{change("n", "1", "1099511627776")}},
		"a number that is set":  {func(f *Fields) { f.Optional("n", nil, new(int32(0))) }, []decision.Change{change("n", "", "0")}},
		"a number that goes":    {func(f *Fields) { f.Optional("n", new(int32(3)), nil) }, []decision.Change{change("n", "3", "")}},
		"a number that changes": {func(f *Fields) { f.Optional("n", new(int32(3)), new(int32(4))) }, []decision.Change{change("n", "3", "4")}},
		"a number that stands":  {func(f *Fields) { f.Optional("n", new(int32(3)), new(int32(3))) }, nil},
		"words":                 {func(f *Fields) { f.Valued("w", "a", "b") }, []decision.Change{change("w", "a", "b")}},
		"a name":                {func(f *Fields) { f.Named(true, "w") }, []decision.Change{change("w")}},
		"a name of what stands": {func(f *Fields) { f.Named(false, "w") }, nil},
		"conditions": {func(f *Fields) {
			f.Conditions(ConditionWords{"A": "True", "B": "True", "C": "True"}, ConditionWords{"A": "False x", "B": "True", "D": "True"})
		}, []decision.Change{change("status.conditions[A]", "True", "False x"), change("status.conditions[C]", "True", ""), change("status.conditions[D]", "", "True")}},
	} {
		var f Fields
		if c.add(&f); !slices.Equal(f, c.want) {
			t.Errorf("%s: %v, want %v", name, f, c.want)
		}
	}
}

// Of metadata the keys are told, also of what is empty, and a deletion once.
func TestMeta(t *testing.T) {
	at := new(metav1.Unix(9, 0))
	for name, c := range map[string]struct {
		old, is metav1.ObjectMeta
		want    []decision.Change
	}{
		"nothing":         {metav1.ObjectMeta{Labels: map[string]string{"a": "x"}}, metav1.ObjectMeta{Labels: map[string]string{"a": "x"}}, nil},
		"an empty label":  {metav1.ObjectMeta{}, metav1.ObjectMeta{Labels: map[string]string{"a": ""}}, []decision.Change{change("metadata.labels[a]")}},
		"a deletion":      {metav1.ObjectMeta{}, metav1.ObjectMeta{DeletionTimestamp: at}, []decision.Change{change("metadata.deletionTimestamp")}},
		"a later one":     {metav1.ObjectMeta{DeletionTimestamp: at}, metav1.ObjectMeta{DeletionTimestamp: new(metav1.Unix(5, 0))}, nil},
		"an owner":        {metav1.ObjectMeta{}, metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Name: "web"}}}, []decision.Change{change("metadata.ownerReferences")}},
		"a finalizer":     {metav1.ObjectMeta{Finalizers: []string{"a"}}, metav1.ObjectMeta{Finalizers: []string{"b"}}, []decision.Change{change("metadata.finalizers")}},
		"all that counts": {metav1.ObjectMeta{Annotations: map[string]string{"a": "x"}}, metav1.ObjectMeta{Labels: map[string]string{"b": "y"}}, []decision.Change{change("metadata.labels[b]"), change("metadata.annotations[a]")}},
	} {
		var f Fields
		if f.Meta(&c.old, &c.is); !slices.Equal(f, c.want) {
			t.Errorf("%s: %v, want %v", name, f, c.want)
		}
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
		Flat    Flat                `json:",inline"`
		Lists   map[string][]string `json:"lists"`
		Bytes   map[int][]byte      `json:"bytes"`
		Skipped int64               `json:"-"`
		hidden  int64
	}
	of := func(n int) odd {
		return odd{map[string]int{"a": n}, []element{{n}}, float64(n) / 2, int64(n), Inner{int64(n)}, Bare{int64(n)}, Flat{int64(n)}, map[string][]string{"a": {strconv.Itoa(n)}}, map[int][]byte{1: {byte(n)}}, int64(n), int64(n)}
	}
	var d diff
	d.object("spec", reflect.ValueOf(of(1)), reflect.ValueOf(of(2)))
	want := []decision.Change{{Field: "spec.counts"}, {Field: "spec.list"}, {Field: "spec.share"}, {Field: "spec.seconds", From: "1", To: "2"}, {Field: "spec.inner.of", From: "1", To: "2"},
		{Field: "spec.bare", From: "1", To: "2"}, {Field: "spec.flat", From: "1", To: "2"}, {Field: "spec.lists"}, {Field: "spec.bytes"}}
	if diff := cmp.Diff(want, d.others); diff != "" {
		t.Error(diff)
	}
}

// A cause names so many fields and no more.
func TestNoFieldIsTooMany(t *testing.T) {
	var f Fields
	for i := range int32(MaxFields - 1) {
		f.Count("n", i, i+1)
	}
	full := slices.Clone(f)
	for name, add := range map[string]func(*Fields){
		"named":  func(f *Fields) { f.Named(true, "x"); f.Named(true, "y") },
		"valued": func(f *Fields) { f.Valued("x", "a", "b"); f.Valued("y", "a", "b") },
		"added":  func(f *Fields) { f.add(decision.Change{Field: "x"}); f.add(decision.Change{Field: "y"}) },
	} {
		f := slices.Clone(full)
		if add(&f); len(f) != MaxFields || f[MaxFields-1].Field != "x" {
			t.Errorf("%s: %d fields, the last is %+v", name, len(f), f[len(f)-1])
		}
	}
}

// A name that is a login is masked where it stands in a path, and what is known is kept.
func TestKeysWithLogins(t *testing.T) {
	for told, want := range map[string]string{
		keyed("imagePullSecrets", "user:hunter2@registry.example"): "imagePullSecrets[…@registry.example]",
		keyed("imagePullSecrets", "regcred"):                       "imagePullSecrets[regcred]",
	} {
		if told != want {
			t.Errorf("%q, want %q", told, want)
		}
	}
}
