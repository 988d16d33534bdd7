package create

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	cliresource "k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

// echo is an API server that takes every object as it is.
type echo struct{}

func (echo) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Body: r.Body, Request: r}, nil
}

// infoOfWorkload is a workload in the input, of an API server that takes it.
func infoOfWorkload(t *testing.T, w *workload) *cliresource.Info {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.object)
	if err != nil {
		t.Fatal(err)
	}
	gvk := appsv1.SchemeGroupVersion.WithKind(w.kind)
	o := &unstructured.Unstructured{Object: fields}
	o.SetGroupVersionKind(gvk)
	config := rest.ClientContentConfig{GroupVersion: gvk.GroupVersion(), Negotiator: runtime.NewClientNegotiator(cliresource.UnstructuredPlusDefaultContentConfig().NegotiatedSerializer, gvk.GroupVersion()), ContentType: runtime.ContentTypeJSON}
	client, err := rest.NewRESTClient(&url.URL{Scheme: "http", Host: "echo"}, "/apis/apps/v1", config, nil, &http.Client{Transport: echo{}})
	if err != nil {
		t.Fatal(err)
	}
	return &cliresource.Info{Client: client, Object: o, Name: w.meta.GetName(), Namespace: w.meta.GetNamespace(),
		Mapping: &meta.RESTMapping{GroupVersionKind: gvk, Resource: schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: strings.ToLower(w.kind) + "s"}, Scope: meta.RESTScopeNamespace}}
}

// sized is a workload with so many pods of an image.
func sized(w *workload, pods int32, image string) *workload {
	spec := podSpec("")
	spec.Containers[0].Image = image
	switch x := w.object.(type) {
	case *appsv1.Deployment:
		x.Generation, x.Spec.Replicas, x.Spec.Template.Spec = 1, &pods, spec
		x.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0))}}
	case *appsv1.ReplicaSet:
		x.Generation, x.Spec.Replicas, x.Spec.Template.Spec = 1, &pods, spec
	}
	return workloadIn(w.object)
}

// live is a Deployment web of 3 pods as it runs, with all that it has.
func live() (d *workload, all []runtime.Object) {
	d = sized(deploymentOf("web", shop, shop), 3, "nginx:1.28")
	set := sized(setOf("web-1", shop, ""), 3, "nginx:1.28")
	rs := set.object.(*appsv1.ReplicaSet)
	rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d.meta, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	rs.Status = appsv1.ReplicaSetStatus{Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, ObservedGeneration: 1}
	all = []runtime.Object{d.object, rs}
	for _, p := range readyPods(3, metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")), "") {
		all = append(all, &p)
	}
	return d, all
}

// foreseenOf is what is told of the workloads of one input, by name.
func foreseenOf(t *testing.T, there []runtime.Object, of ...*workload) map[string]*Forecast {
	t.Helper()
	f := &foreseer{r: &Request{recorder: genericclioptions.NoopRecorder{}}, client: fake.NewClientset(there...), around: map[string]*surroundings{}}
	var infos []*cliresource.Info
	for _, w := range of {
		infos = append(infos, infoOfWorkload(t, w))
	}
	list, err := f.all(t.Context(), infos)
	if err != nil || len(list) != len(of) {
		t.Fatalf("%+v, %v", list, err)
	}
	told := map[string]*Forecast{}
	for i := range list {
		if x := &list[i]; x.Refused != nil || x.Name != of[i].meta.GetName() {
			t.Fatalf("%s is told in the place of %s: %v", x.Name, of[i].meta.GetName(), x.Refused)
		}
		told[list[i].Name] = &list[i]
	}
	return told
}

// few is a quota for so many pods, and what there is already.
func few(hard, used string, there ...runtime.Object) []runtime.Object {
	q := quota("pods", hard, used)
	q.Namespace = "shop"
	return append(slices.Clone(there), &q, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "default"}})
}

// A Deployment that adopts a ReplicaSet of the same input is planned beside its pods, whichever of them comes first.
func TestForeseeWhatJoins(t *testing.T) {
	const adopts = "it adopts 1 ReplicaSet, which nobody owns and its selector matches: joins"
	taken := "Deployment web adopts it and decides on its size"
	for _, c := range []struct {
		name, image, hard string
		set, clash        string // "" for none
		ends              string
	}{
		{"room", "nginx:1", "10", "", "", "complete"},
		{"room for the ReplicaSet alone", "nginx:1", "3", "", "ResourceQuota few leaves room for 0 of 1 pod that may have to be created: 3 of 3 would be used for pods, counting what others of the same input take first: joins", "quota few refuses 1 new pod"},
		{"the same template", "nginx:1.28", "3", "", "", "complete"},
		{"room for some of the ReplicaSet", "nginx:1", "2", "ResourceQuota few leaves room for 2 of 3 pods", "ResourceQuota few leaves room for 0 of 2 pods", "quota few refuses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, joins := sized(deploymentOf("web", shop, shop), 3, "nginx:1.28"), sized(setOf("joins", shop, ""), 3, c.image)
			for _, order := range [][]*workload{{joins, w}, {w, joins}} {
				told := foreseenOf(t, few(c.hard, "0"), order...)
				set, d := told["joins"], told["web"]
				if said := strings.Join(set.Clashes[1:], "\n"); set.Plan != nil || set.Unplanned != taken || (said == "") != (c.set == "") || !strings.HasPrefix(said, c.set) {
					t.Errorf("of the ReplicaSet: in the way %q, %q", set.Clashes, set.Unplanned)
				}
				if len(d.Clashes) == 0 || d.Clashes[0] != adopts {
					t.Fatalf("in the way of the Deployment: %q", d.Clashes)
				}
				if said := strings.Join(d.Clashes[1:], "\n"); (said == "") != (c.clash == "") || !strings.HasPrefix(said, c.clash) {
					t.Errorf("in the way of the Deployment: %q", said)
				}
				if ends := d.ends(); !strings.Contains(ends, c.ends) {
					t.Errorf("it ends with %q", ends)
				}
			}
		})
	}
}

// What a Deployment scales down once it has adopted a ReplicaSet of the same input is left to the others of it.
func TestForeseeBesideWhatJoins(t *testing.T) {
	other := map[string]string{"app": "other"}
	e := sized(deploymentOf("e", other, other), 2, "nginx:1")
	fresh := sized(deploymentOf("web", shop, shop), 3, "nginx:1.28")
	running, there := live()
	updated := sized(deploymentOf("web", shop, shop), 3, "nginx:1.29")
	joins := func(pods int32, image string) *workload { return sized(setOf("joins", shop, ""), pods, image) }
	for _, c := range []struct {
		name       string
		there      []runtime.Object
		hard, used string
		web        *workload // nil where it is not in the input
		joins      *workload
		clash      string // of e, "" for none
	}{
		{name: "another template", hard: "6", used: "0", web: fresh, joins: joins(3, "nginx:1")},
		{name: "another template, no room", hard: "5", used: "0", web: fresh, joins: joins(3, "nginx:1"),
			clash: "ResourceQuota few leaves room for 1 of 2 pods that may have to be created: 4 of 5 would be used for pods, counting what others of the same input take first: joins, web"},
		{name: "the same template", hard: "5", used: "0", web: fresh, joins: joins(3, "nginx:1.28")},
		{name: "more than are wanted", hard: "6", used: "0", web: fresh, joins: joins(5, "nginx:1")},
		{name: "more than are wanted, no room", hard: "5", used: "0", web: fresh, joins: joins(5, "nginx:1"),
			clash: "ResourceQuota few leaves room for 1 of 2 pods that may have to be created: 4 of 5 would be used for pods, counting what others of the same input take first: joins"},
		{name: "one that runs", there: there, hard: "6", used: "3", joins: joins(3, "nginx:1")},
		{name: "one that runs, of the same template", there: there, hard: "5", used: "3", joins: joins(3, "nginx:1.28")},
		{name: "one that runs, no room", there: there, hard: "4", used: "3", joins: joins(3, "nginx:1"),
			clash: "ResourceQuota few leaves room for 1 of 2 pods that may have to be created: 3 of 4 are used for pods"},
		{name: "one that runs and is applied", there: there, hard: "5", used: "3", web: running, joins: joins(3, "nginx:1")},
		{name: "one that is updated", there: there, hard: "6", used: "3", web: updated, joins: joins(3, "nginx:1")},
	} {
		t.Run(c.name, func(t *testing.T) {
			orders := [][]*workload{{c.joins, e}}
			if c.web != nil {
				orders = [][]*workload{{c.joins, c.web, e}, {c.web, c.joins, e}, {c.web, e, c.joins}}
			}
			for _, order := range orders {
				told := foreseenOf(t, few(c.hard, c.used, c.there...), order...)["e"]
				if said := strings.Join(told.Clashes, "\n"); said != c.clash || told.complete() != (c.clash == "") {
					t.Errorf("%s first: in the way %q, in the end %q", order[0].meta.GetName(), said, told.ends())
				}
			}
		})
	}
}
