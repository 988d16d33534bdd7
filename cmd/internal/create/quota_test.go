package create

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cliresource "k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/fake"
)

func quota(of, hard, used string) corev1.ResourceQuota {
	name := corev1.ResourceName(of)
	return corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Status: corev1.ResourceQuotaStatus{
		Hard: corev1.ResourceList{name: resource.MustParse(hard)}, Used: corev1.ResourceList{name: resource.MustParse(used)}}}
}

func TestRoom(t *testing.T) {
	templateOf := func(requests, limits corev1.ResourceList) corev1.PodTemplateSpec {
		one := corev1.Container{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{one, one}}}
	}
	cpu := func(q string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(q)}
	}
	scoped := quota("pods", "0", "0")
	scoped.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
	rangeOf := func(name string, item corev1.LimitRangeItem) []corev1.LimitRange {
		return []corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}}}
	}
	ranges := rangeOf("bounds", corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Max: cpu("8"), Min: cpu("10m")})
	whole := rangeOf("whole", corev1.LimitRangeItem{Type: corev1.LimitTypePod, Max: cpu("1500m")})
	defaults := rangeOf("defaults", corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}})
	for _, c := range []struct {
		name     string
		quotas   []corev1.ResourceQuota
		limits   []corev1.LimitRange
		template corev1.PodTemplateSpec
		wanted   int64
		room     int64
		says     string
	}{
		{"no quota", nil, nil, templateOf(nil, nil), 5, 5, ""},
		{"room for all", []corev1.ResourceQuota{quota("pods", "10", "5")}, nil, templateOf(nil, nil), 5, 5, ""},
		{"room for some", []corev1.ResourceQuota{quota("pods", "10", "7")}, nil, templateOf(nil, nil), 5, 3, "leaves room for 3 of 5 pods that may have to be created: 7 of 10 are used for pods"},
		{"more used than there is", []corev1.ResourceQuota{quota("count/pods", "1", "7")}, nil, templateOf(nil, nil), 5, 0, "room for 0 of 5"},
		{"the least counts", []corev1.ResourceQuota{quota("pods", "10", "7"), quota("pods", "3", "1")}, nil, templateOf(nil, nil), 5, 2, "room for 2 of 5"},
		{"processors of all containers", []corev1.ResourceQuota{quota("requests.cpu", "1", "200m")}, nil, templateOf(cpu("100m"), nil), 5, 4, "200m of 1 are used for requests.cpu"},
		{"a limit as a request", []corev1.ResourceQuota{quota("cpu", "1", "0")}, nil, templateOf(nil, cpu("250m")), 5, 2, "room for 2 of 5"},
		{"limits", []corev1.ResourceQuota{quota("limits.cpu", "1", "0")}, nil, templateOf(cpu("1m"), cpu("500m")), 5, 1, "for limits.cpu"},
		{"a request that is missing", []corev1.ResourceQuota{quota("requests.memory", "1Gi", "0")}, nil, templateOf(cpu("1"), nil), 5, 0, "wants every pod to say how much requests.memory it needs"},
		{"a request that no LimitRange sets", []corev1.ResourceQuota{quota("requests.memory", "1Gi", "0")}, ranges, templateOf(nil, nil), 5, 0, "wants every pod to say how much requests.memory it needs"},
		{"of other objects", []corev1.ResourceQuota{quota("count/services", "0", "0"), quota("requests.storage", "0", "0")}, nil, templateOf(nil, nil), 5, 5, ""},
		{"of some pods alone", []corev1.ResourceQuota{scoped}, nil, templateOf(nil, nil), 5, 0, "ResourceQuota few, which counts only pods without requests and limits, leaves room for 0 of 5 pods"},
		{"of other pods alone", []corev1.ResourceQuota{scoped}, nil, templateOf(cpu("1"), nil), 5, 5, ""},
		{"of other pods alone, as a LimitRange has it", []corev1.ResourceQuota{scoped}, defaults, templateOf(nil, nil), 5, 5, ""},
		{"an amount that a LimitRange sets", []corev1.ResourceQuota{quota("requests.memory", "1Gi", "0")}, defaults, templateOf(nil, nil), 5, 4, "0 of 1Gi are used for requests.memory"},
		{"one that was not counted yet", []corev1.ResourceQuota{{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("2")}}}}, nil, templateOf(nil, nil), 5, 2, "0 of 2 are used for pods"},
		{"more than a LimitRange allows", nil, ranges, templateOf(nil, cpu("9")), 5, 0, "LimitRange bounds allows container main no limit of cpu above 8, and it is 9"},
		{"less than a LimitRange allows", nil, ranges, templateOf(cpu("1m"), nil), 5, 0, "allows container main no request of cpu below 10m, and it is 1m"},
		{"none of the containers beyond it, but the pod", nil, whole, templateOf(nil, cpu("1")), 5, 0, "LimitRange whole allows a pod no limit of cpu above 1500m, and it is 2"},
		{"a limit that a LimitRange wants of a pod", nil, whole, templateOf(nil, nil), 5, 0, "wants a pod to have a limit of cpu"},
		{"nothing to create", []corev1.ResourceQuota{quota("pods", "1", "1")}, nil, templateOf(nil, nil), 0, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := surroundings{quotas: c.quotas, limits: c.limits}
			room, clash := int64(0), s.barred(&c.template)
			if clash == "" {
				room, clash = s.room(&c.template, c.wanted)
			}
			if room != c.room || (clash == "") != (c.says == "") || !strings.Contains(clash, c.says) {
				t.Errorf("room %d, %q, want %d, %q", room, clash, c.room, c.says)
			}
		})
	}
}

// What the input has before it takes of the same quota, as far as there is room for it.
func TestRoomBesideTheInput(t *testing.T) {
	s := &surroundings{quotas: []corev1.ResourceQuota{quota("pods", "5", "1")}}
	for _, c := range []struct {
		name   string
		wanted int64
		room   int64
		says   string
	}{
		{"web", 3, 3, ""},
		{"api", 2, 1, "room for 1 of 2 pods that may have to be created: 4 of 5 would be used for pods, counting what others of the same input take first: web"},
		{"jobs", 1, 0, "5 of 5 would be used for pods, counting what others of the same input take first: web, api"},
	} {
		w := deploymentOf(c.name, map[string]string{"app": c.name}, map[string]string{"app": c.name})
		room, clash := s.room(&w.template, c.wanted)
		if room != c.room || (clash == "") != (c.says == "") || !strings.HasSuffix(clash, c.says) {
			t.Errorf("%s has room for %d, %q, want %d, %q", c.name, room, clash, c.room, c.says)
		}
		s.claims(w, room)
	}
}

// Which pods a quota counts goes by all of its scopes.
func TestScopes(t *testing.T) {
	seconds, affine := int64(5), &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: corev1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}}}}}}
	burst := corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}}
	rule := func(of corev1.ResourceQuotaScope, op corev1.ScopeSelectorOperator, values ...string) scopeRule {
		return scopeRule{ScopeName: of, Operator: op, Values: values}
	}
	class := corev1.ResourceQuotaScopePriorityClass
	for _, c := range []struct {
		name   string
		scopes []corev1.ResourceQuotaScope
		rules  []scopeRule
		spec   corev1.PodSpec
		counts bool
		says   string
	}{
		{"none", nil, nil, burst, true, ""},
		{"terminating", []corev1.ResourceQuotaScope{"Terminating"}, nil, corev1.PodSpec{ActiveDeadlineSeconds: &seconds}, true, " with activeDeadlineSeconds"},
		{"terminating, not", []corev1.ResourceQuotaScope{"Terminating"}, nil, burst, false, " with activeDeadlineSeconds"},
		{"not terminating", []corev1.ResourceQuotaScope{"NotTerminating"}, nil, burst, true, " without activeDeadlineSeconds"},
		{"best effort", []corev1.ResourceQuotaScope{"BestEffort"}, nil, corev1.PodSpec{}, true, " without requests and limits"},
		{"best effort, not", []corev1.ResourceQuotaScope{"BestEffort"}, nil, burst, false, " without requests and limits"},
		{"not best effort", []corev1.ResourceQuotaScope{"NotBestEffort"}, nil, burst, true, " with requests or limits"},
		{"two, one of which is not", []corev1.ResourceQuotaScope{"NotBestEffort", "Terminating"}, nil, burst, false, " with requests or limits and with activeDeadlineSeconds"},
		{"as a selector", nil, []scopeRule{rule("BestEffort", "Exists")}, burst, false, " without requests and limits"},
		{"a class of several", nil, []scopeRule{rule(class, "In", "high", "low")}, corev1.PodSpec{PriorityClassName: "low"}, true, " of PriorityClass high or low"},
		{"another class", nil, []scopeRule{rule(class, "In", "high")}, corev1.PodSpec{PriorityClassName: "low"}, false, " of PriorityClass high"},
		{"no class", nil, []scopeRule{rule(class, "In", "high")}, burst, false, " of PriorityClass high"},
		{"not in", nil, []scopeRule{rule(class, "NotIn", "high")}, burst, true, " of another PriorityClass than high"},
		{"not in, and in", nil, []scopeRule{rule(class, "NotIn", "high")}, corev1.PodSpec{PriorityClassName: "high"}, false, " of another PriorityClass than high"},
		{"any class", nil, []scopeRule{rule(class, "Exists")}, corev1.PodSpec{PriorityClassName: "low"}, true, " with a PriorityClass"},
		{"any class, as a scope", []corev1.ResourceQuotaScope{class}, nil, burst, false, " with a PriorityClass"},
		{"without a class", nil, []scopeRule{rule(class, "DoesNotExist")}, burst, true, " without a PriorityClass"},
		{"affinity", []corev1.ResourceQuotaScope{"CrossNamespacePodAffinity"}, nil, corev1.PodSpec{Affinity: affine}, true, " with an affinity to pods of other namespaces"},
		{"no affinity", []corev1.ResourceQuotaScope{"CrossNamespacePodAffinity"}, nil, corev1.PodSpec{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{}}}}}, false, " with an affinity to pods of other namespaces"},
		{"of volumes", nil, []scopeRule{rule(corev1.ResourceQuotaScopeVolumeAttributesClass, "In", "gold")}, burst, false, ""},
	} {
		q := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Scopes: c.scopes}}
		if c.rules != nil {
			q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: c.rules}
		}
		if got := counts(q, &corev1.Pod{Spec: c.spec}); got != c.counts {
			t.Errorf("%s: counts %t", c.name, got)
		}
		if got := ofScopes(q); c.says != "" && got != c.says {
			t.Errorf("%s: pods%s, want%s", c.name, got, c.says)
		}
	}
}

func infoOf(t *testing.T, kind, text string) *cliresource.Info {
	t.Helper()
	var o unstructured.Unstructured
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	gvk := o.GroupVersionKind()
	return &cliresource.Info{Object: &o, Name: o.GetName(), Namespace: "shop", Mapping: &meta.RESTMapping{GroupVersionKind: gvk, Resource: gvk.GroupVersion().WithResource(kind), Scope: meta.RESTScopeNamespace}}
}

// What the input has of quotas and limits counts as if it were there, with what is used already,
// and a namespace that it creates has nothing else.
func TestQuotasOfTheInput(t *testing.T) {
	var in input
	for i, info := range []*cliresource.Info{
		infoOf(t, "resourcequotas", `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"few"},"spec":{"hard":{"pods":"4"},"scopes":["BestEffort"]}}`),
		infoOf(t, "resourcequotas", `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"bad"},"spec":{"hard":{"pods":["x"]}}}`),
		infoOf(t, "limitranges", `{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"bounds"},"spec":{"limits":[{"type":"Container","max":{"memory":"1Gi"}}]}}`),
	} {
		in.add(info, i)
	}
	if len(in.quotas) != 1 || len(in.limits) != 1 {
		t.Fatalf("%+v", in)
	}
	done := pod("done", nil)
	done.Status.Phase = corev1.PodSucceeded
	labels := map[string]string{"app": "web"}
	earlier := quota("pods", "1", "1")
	earlier.Namespace = "shop"
	one, two := pod("a", labels), pod("b", labels)
	f := &foreseer{client: fake.NewClientset(&done, &one, &two, &earlier), input: in, around: map[string]*surroundings{}}
	s := f.surroundings(t.Context(), "shop", false)
	limited := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	s.limits, in.limits = nil, s.limits
	if room, says := s.room(&limited, 3); room != 2 || !strings.Contains(says, "2 of 4 are used for pods") {
		t.Errorf("room %d, %q", room, says)
	}
	s.limits = in.limits // They give it a limit, so that it is not of the quota.
	if room, says := s.room(&limited, 3); room != 3 || says != "" {
		t.Errorf("with the LimitRange: room %d, %q", room, says)
	}
	client := fake.NewClientset(&one)
	f = &foreseer{client: client, input: in, around: map[string]*surroundings{}}
	s = f.surroundings(t.Context(), "shop", true)
	if len(s.pods)+len(s.workloads) > 0 || !s.accounts["default"] || len(s.quotas) != 1 || len(client.Actions()) > 0 {
		t.Errorf("a fresh namespace has %+v after %v", s, client.Actions())
	}
}

// Pods that name no PriorityClass get the default one, which is read where a quota asks for it.
func TestDefaultPriorityClass(t *testing.T) {
	q := quota("pods", "2", "2")
	q.Namespace = "shop"
	q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []scopeRule{{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"usual"}}}}
	f := &foreseer{client: fake.NewClientset(&q, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "usual"}, GlobalDefault: true}), around: map[string]*surroundings{}}
	if room, says := f.surroundings(t.Context(), "shop", false).room(&corev1.PodTemplateSpec{}, 1); room != 0 || !strings.Contains(says, "counts only pods of PriorityClass usual") {
		t.Errorf("room %d, %q", room, says)
	}
}

// A kind that the input defines is known by it, and any other is not.
func TestDefinitions(t *testing.T) {
	var d definitions
	d.add(infoOf(t, "customresourcedefinitions", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
		"spec":{"group":"example.com","names":{"kind":"Widget","plural":"widgets"},"scope":"Cluster","versions":[{"name":"v1","served":true},{"name":"v0","served":false},"x",{}]}}`))
	d.add(infoOf(t, "customresourcedefinitions", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"bad"},"spec":[]}`))
	m := &definedMapper{meta.NewDefaultRESTMapper(nil), &d}
	mapping, err := m.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Widget"}, "v1")
	if err != nil || mapping.Resource.Resource != "widgets" || mapping.Scope.Name() != meta.RESTScopeNameRoot {
		t.Fatalf("%+v, %v", mapping, err)
	}
	if by := d.of(&cliresource.Info{Mapping: mapping}); by != "widgets.example.com" {
		t.Errorf("it is of %q", by)
	}
	copied := *mapping // As the API server has it.
	if by := d.of(&cliresource.Info{Mapping: &copied}); by != "" {
		t.Errorf("one that is known anyway is of %q", by)
	}
	for _, c := range [][2]string{{"Widget", "v0"}, {"Gadget", "v1"}} {
		if _, err := m.RESTMapping(schema.GroupKind{Group: "example.com", Kind: c[0]}, c[1]); !meta.IsNoMatchError(err) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// FuzzDefinitions proves that whatever a CustomResourceDefinition says, it is read or passed over.
func FuzzDefinitions(f *testing.F) {
	for _, s := range []string{`{}`, `{"spec":{"group":"a","names":{"kind":"B","plural":"bs"},"versions":[{"name":"v1","served":true}]}}`, `{"spec":{"names":[],"versions":{}}}`, `{"spec":{"versions":[[]]}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var o unstructured.Unstructured
		if o.UnmarshalJSON([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","is":`+text+`}`)) != nil {
			return
		}
		spec, _ := o.Object["is"].(map[string]any)
		o.Object = runtime.DeepCopyJSON(map[string]any{"spec": spec["spec"]})
		var d definitions
		d.add(&cliresource.Info{Object: &o, Mapping: &meta.RESTMapping{GroupVersionKind: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}}})
		for gvk, x := range d.kinds {
			if gvk.Kind == "" || gvk.Version == "" || x.mapping.Resource.Resource == "" {
				t.Fatalf("%s defines %v", text, gvk)
			}
		}
	})
}
