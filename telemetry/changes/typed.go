package changes

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// deepest bounds how far a walk goes down; what is below is named as a whole.
const deepest = 64

// diff walks two values of one kind side by side. It knows no field but by its type, so
// that one that an API adds is masked until somebody decides otherwise.
type diff struct {
	images, others []decision.Change
	depth          int
}

// below is what a field of an object is called.
func below(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// same is semantic equality, for types that it does not know, too: those it panics at.
func same(a, b any) (equal bool) {
	defer func() {
		if recover() != nil {
			equal = reflect.DeepEqual(a, b)
		}
	}()
	return equality.Semantic.DeepEqual(a, b)
}

func (d *diff) named(path string) { d.others = append(d.others, decision.Change{Field: path}) }

func (d *diff) valued(path string, a, b any) {
	d.others = append(d.others, decision.Change{Field: path, From: fmt.Sprint(a), To: fmt.Sprint(b)})
}

// Template are all changes below a pod template, images first, and however many
// there are.
func Template(old, new *corev1.PodTemplateSpec) []decision.Change {
	d := templateFields(old, new)
	return slices.Concat(d.images, d.others)
}

func templateFields(old, new *corev1.PodTemplateSpec) *diff {
	var d diff
	d.template(PathTemplate, old, new)
	return &d
}

func (d *diff) template(path string, old, new *corev1.PodTemplateSpec) {
	d.object(below(path, "metadata"), reflect.ValueOf(old.ObjectMeta), reflect.ValueOf(new.ObjectMeta))
	d.object(path, reflect.ValueOf(old.Spec), reflect.ValueOf(new.Spec))
}

// object compares structs field by field.
func (d *diff) object(path string, a, b reflect.Value) {
	for i := range a.NumField() {
		field := a.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported(), name == "-":
		case name == "": // What is inlined.
			d.value(path, a.Field(i), b.Field(i))
		case name == "image" && field.Type.Kind() == reflect.String:
			d.image(below(path, "image"), a.Field(i).String(), b.Field(i).String())
		default:
			d.value(below(path, name), a.Field(i), b.Field(i))
		}
	}
}

func (d *diff) image(path, a, b string) {
	if a == b {
		return
	}
	c := decision.Change{Field: path, From: redact.Image(a), To: redact.Image(b)}
	if c.From == c.To { // Only what is masked differs.
		c.From, c.To = "", ""
	}
	d.images = append(d.images, c)
}

// value compares what stands at one path. Numbers, switches and quantities are
// shown; strings are named.
func (d *diff) value(path string, a, b reflect.Value) {
	if same(a.Interface(), b.Interface()) {
		return
	}
	if d.depth++; d.depth > deepest {
		d.named(path)
	} else if !d.known(path, a, b) {
		d.kind(path, a, b)
	}
	d.depth--
}

// known takes the types that are not told by what they are made of.
func (d *diff) known(path string, a, b reflect.Value) bool {
	switch old := a.Interface().(type) {
	case resource.Quantity:
		next, _ := b.Interface().(resource.Quantity)
		d.valued(path, old.String(), next.String())
	case intstr.IntOrString, metav1.Time, metav1.MicroTime, corev1.EnvVar:
		d.named(path)
	case corev1.ResourceList:
		d.resources(path, a, b)
	case corev1.PodTemplateSpec:
		next, _ := b.Interface().(corev1.PodTemplateSpec)
		d.named(path)
		d.template(path, &old, &next)
	default:
		return false
	}
	return true
}

func (d *diff) kind(path string, a, b reflect.Value) {
	switch a.Kind() {
	case reflect.Pointer:
		d.pointer(path, a, b)
	case reflect.Struct:
		if opaque(a.Type()) {
			d.named(path)
			return
		}
		d.object(path, a, b)
	case reflect.Slice:
		d.list(path, a, b)
	case reflect.Map:
		d.mapping(path, a, b)
	case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		d.valued(path, a.Interface(), b.Interface())
	default:
		d.named(path)
	}
}

// opaque reports whether nothing of a struct can be seen from outside.
func opaque(t reflect.Type) bool {
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			return false
		}
	}
	return true
}

// pointer takes a scalar that is not set for no value, and names anything
// larger as a whole where it comes or goes.
func (d *diff) pointer(path string, a, b reflect.Value) {
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
func (d *diff) list(path string, a, b reflect.Value) {
	if path == pathConditions {
		if old, next := conditionsIn(a), conditionsIn(b); old != nil && next != nil {
			d.conditions(old, next)
			return
		}
	}
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
func (d *diff) arrived(path string, v reflect.Value) {
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
	return textAt(v, "Name")
}

// mapping names the keys that differ.
func (d *diff) mapping(path string, a, b reflect.Value) {
	if a.Type().Elem().Kind() == reflect.Slice && a.Type().Elem().Elem().Kind() == reflect.Uint8 && a.Type().Key().Kind() == reflect.String {
		a, b = reflect.ValueOf(textsOf(a)), reflect.ValueOf(textsOf(b))
	}
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

// textsOf takes bytes for texts: nothing but their keys is told.
func textsOf(bytes reflect.Value) map[string]string {
	out := map[string]string{}
	for it := bytes.MapRange(); it.Next(); {
		out[it.Key().String()] = string(it.Value().Bytes())
	}
	return out
}

// resources shows requests and limits: they are numbers, and often the reason
// why a pod fits no node.
func (d *diff) resources(path string, a, b reflect.Value) {
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
