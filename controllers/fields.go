package controllers

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// maxFields bounds the changed fields one cause names.
const maxFields = 16

// fields collects changed fields. A path without values is one whose values are
// masked: they are given for counts, switches, quantities, images and reasons
// alone, and never for what a person may have put a secret into.
type fields []decision.Change

func (f *fields) named(changed bool, path string) {
	if changed && len(*f) < maxFields {
		*f = append(*f, decision.Change{Field: path})
	}
}

func (f *fields) valued(path, old, new string) {
	if old != new && len(*f) < maxFields {
		*f = append(*f, decision.Change{Field: path, From: foreignLine(old), To: foreignLine(new)})
	}
}

func (f *fields) count(path string, old, new int32) {
	f.valued(path, strconv.Itoa(int(old)), strconv.Itoa(int(new)))
}

func (f *fields) optional(path string, old, new *int32) {
	f.valued(path, pointed(old), pointed(new))
}

func pointed(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// keys names the keys of a map.
func (f *fields) keys(path string, changed []string) {
	for _, k := range changed {
		f.named(true, keyed(path, k))
	}
}

// keyed is the path of what has a name, or a key, that anybody may have chosen.
func keyed(path, name string) string { return path + "[" + foreignLine(name) + "]" }

// texts are texts by their keys.
type texts map[string]string

// changed are the keys that were added, changed or removed since.
func (old texts) changed(new texts) []string {
	var changed []string
	for k, v := range new {
		if before, had := old[k]; !had || before != v {
			changed = append(changed, k)
		}
	}
	for k := range old {
		if _, has := new[k]; !has {
			changed = append(changed, k)
		}
	}
	slices.Sort(changed)
	return changed
}

func (f *fields) meta(old, new metav1.Object) {
	f.named(old.GetDeletionTimestamp() == nil && new.GetDeletionTimestamp() != nil, "metadata.deletionTimestamp")
	f.keys("metadata.labels", texts(old.GetLabels()).changed(new.GetLabels()))
	f.keys("metadata.annotations", texts(old.GetAnnotations()).changed(new.GetAnnotations()))
	f.named(!equality.Semantic.DeepEqual(old.GetOwnerReferences(), new.GetOwnerReferences()), "metadata.ownerReferences")
	f.named(!slices.Equal(old.GetFinalizers(), new.GetFinalizers()), "metadata.finalizers")
}

// sameSpec reports whether the API server says that nothing of the spec changed,
// which saves a comparison of templates for every status.
func sameSpec(old, new metav1.Object) bool {
	return old.GetGeneration() != 0 && old.GetGeneration() == new.GetGeneration() && old.GetUID() == new.GetUID()
}

// pathTemplate begins the paths below a pod template. What is in its spec
// follows without ".spec", as people say it.
const pathTemplate = "spec.template"

// template names what changed below a pod template: images first, as they are
// what a rollout is mostly about.
func (f *fields) template(old, new *corev1.PodTemplateSpec) {
	if equality.Semantic.DeepEqual(old, new) {
		return
	}
	d := templateFields(old, new)
	for _, c := range d.images {
		f.add(c)
	}
	f.named(true, pathTemplate)
	for _, c := range d.others {
		f.add(c)
	}
}

func (f *fields) add(c decision.Change) {
	if len(*f) < maxFields {
		*f = append(*f, c)
	}
}

// templateDiff walks two values of one type side by side. It knows no field but
// by its type, so that one that Kubernetes adds is masked until somebody decides
// otherwise.
type templateDiff struct{ images, others []decision.Change }

func (d *templateDiff) named(path string) { d.others = append(d.others, decision.Change{Field: path}) }

func (d *templateDiff) valued(path string, a, b any) {
	d.others = append(d.others, decision.Change{Field: path, From: fmt.Sprint(a), To: fmt.Sprint(b)})
}

func templateFields(old, new *corev1.PodTemplateSpec) *templateDiff {
	var d templateDiff
	d.object(pathTemplate+".metadata", reflect.ValueOf(old.ObjectMeta), reflect.ValueOf(new.ObjectMeta))
	d.object(pathTemplate, reflect.ValueOf(old.Spec), reflect.ValueOf(new.Spec))
	return &d
}

// object compares structs field by field.
func (d *templateDiff) object(path string, a, b reflect.Value) {
	for i := range a.NumField() {
		field := a.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported():
		case name == "": // What is inlined.
			d.value(path, a.Field(i), b.Field(i))
		case name == "image" && field.Type.Kind() == reflect.String:
			d.image(path+".image", a.Field(i).String(), b.Field(i).String())
		default:
			d.value(path+"."+name, a.Field(i), b.Field(i))
		}
	}
}

func (d *templateDiff) image(path, a, b string) {
	if a == b {
		return
	}
	c := decision.Change{Field: path, From: imageName(a), To: imageName(b)}
	if c.From == c.To { // Only what is masked differs.
		c.From, c.To = "", ""
	}
	d.images = append(d.images, c)
}

// value compares what stands at one path. Numbers, switches and quantities are
// shown; strings are named.
func (d *templateDiff) value(path string, a, b reflect.Value) {
	if equality.Semantic.DeepEqual(a.Interface(), b.Interface()) {
		return
	}
	switch old := a.Interface().(type) {
	case resource.Quantity:
		next, _ := b.Interface().(resource.Quantity)
		d.valued(path, old.String(), next.String())
		return
	case intstr.IntOrString, metav1.Time, corev1.EnvVar:
		d.named(path)
		return
	case corev1.ResourceList:
		d.resources(path, a, b)
		return
	}
	switch a.Kind() {
	case reflect.Pointer:
		d.pointer(path, a, b)
	case reflect.Struct:
		d.object(path, a, b)
	case reflect.Slice:
		d.list(path, a, b)
	case reflect.Map:
		d.mapping(path, a, b)
	case reflect.Bool, reflect.Int32, reflect.Int64:
		d.valued(path, a.Interface(), b.Interface())
	default:
		d.named(path)
	}
}

// pointer takes a scalar that is not set for no value, and names anything
// larger as a whole where it comes or goes.
func (d *templateDiff) pointer(path string, a, b reflect.Value) {
	switch kind := a.Type().Elem().Kind(); {
	case !a.IsNil() && !b.IsNil():
		d.value(path, a.Elem(), b.Elem())
	case kind == reflect.Bool, kind == reflect.Int32, kind == reflect.Int64:
		d.others = append(d.others, decision.Change{Field: path, From: scalar(a), To: scalar(b)})
	default:
		d.named(path)
	}
}

func scalar(p reflect.Value) string {
	if p.IsNil() {
		return ""
	}
	return fmt.Sprint(p.Elem().Interface())
}

// list matches elements by name where they have one, as the API server does,
// and names any other list as a whole.
func (d *templateDiff) list(path string, a, b reflect.Value) {
	old, okOld := byElementName(a)
	next, okNext := byElementName(b)
	if !okOld || !okNext {
		d.named(path)
		return
	}
	for i := range b.Len() {
		name := elementName(b.Index(i))
		if before, had := old[name]; had {
			d.value(keyed(path, name), before, b.Index(i))
		} else {
			d.arrived(keyed(path, name), b.Index(i))
		}
	}
	for i := range a.Len() {
		if name := elementName(a.Index(i)); !next[name].IsValid() {
			d.named(keyed(path, name))
		}
	}
}

// arrived names an element that is new, and the image of a container.
func (d *templateDiff) arrived(path string, v reflect.Value) {
	d.named(path)
	if c, is := v.Interface().(corev1.Container); is {
		d.image(path+".image", "", c.Image)
	}
}

// byElementName is false where an element has no name, or two have the same.
func byElementName(list reflect.Value) (map[string]reflect.Value, bool) {
	named := map[string]reflect.Value{}
	for i := range list.Len() {
		name := elementName(list.Index(i))
		if _, twice := named[name]; name == "" || twice {
			return nil, false
		}
		named[name] = list.Index(i)
	}
	return named, true
}

func elementName(v reflect.Value) string {
	if v.Kind() != reflect.Struct {
		return ""
	}
	name := v.FieldByName("Name")
	if name.Kind() != reflect.String {
		return ""
	}
	return name.String()
}

// mapping names the keys that differ.
func (d *templateDiff) mapping(path string, a, b reflect.Value) {
	old, ok := a.Interface().(map[string]string)
	next, _ := b.Interface().(map[string]string) // of the same type
	if !ok {
		d.named(path)
		return
	}
	for _, k := range texts(old).changed(next) {
		d.named(keyed(path, k))
	}
}

// resources shows requests and limits: they are numbers, and often the reason
// why a pod fits no node.
func (d *templateDiff) resources(path string, a, b reflect.Value) {
	old, _ := a.Interface().(corev1.ResourceList)
	next, _ := b.Interface().(corev1.ResourceList)
	words := func(list corev1.ResourceList) texts {
		out := texts{}
		for name, q := range list {
			out[string(name)] = q.String()
		}
		return out
	}
	from, to := words(old), words(next)
	for _, k := range from.changed(to) {
		d.others = append(d.others, decision.Change{Field: keyed(path, k), From: from[k], To: to[k]})
	}
}
