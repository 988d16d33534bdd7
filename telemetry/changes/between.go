package changes

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Between describes what changed between two versions of an object of any kind, at most
// MaxFields of it: images first, then the spec and what stands beside it, the metadata and
// the status. It shows numbers, switches, quantities, images, and status and reason of
// conditions; whatever else may hold a text is named, and its value never told. It knows
// no API: typed objects are walked by reflection, unstructured ones as JSON has them. Of
// objects of two types, or where one is nil, it tells the metadata alone, or nothing. The
// objects are only read.
//
// A loop that decides on an API knows better what of it matters, and says so with Fields.
func Between(old, new metav1.Object) []decision.Change {
	if missing(old) || missing(new) {
		return nil
	}
	var body, status diff
	was, unstructuredWas := old.(*unstructured.Unstructured)
	is, unstructuredIs := new.(*unstructured.Unstructured)
	if unstructuredWas && unstructuredIs {
		body.document(was, is)
		status.part("status", was.Object["status"], is.Object["status"])
	} else if a, b := structOf(old), structOf(new); a.IsValid() && b.IsValid() && a.Type() == b.Type() {
		body.whole(a, b, SameSpec(old, new), func(field string) bool { return field != "status" })
		status.whole(a, b, false, func(field string) bool { return field == "status" })
	}
	var f Fields
	f.addAll(body.images, status.images, body.others)
	f.Meta(old, new)
	f.addAll(status.others)
	return f
}

func (f *Fields) addAll(lists ...[]decision.Change) {
	for _, list := range lists {
		for _, c := range list {
			f.add(c)
		}
	}
}

// missing is nil, however it came.
func missing(o metav1.Object) bool {
	if o == nil {
		return true
	}
	v := reflect.ValueOf(o)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return true
	}
	u, is := o.(*unstructured.Unstructured)
	return is && u.Object == nil
}

// structOf is the struct behind an object, invalid for another kind.
func structOf(o any) reflect.Value {
	v := reflect.ValueOf(o)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.Elem()
}

// whole compares those fields of two objects that are not their metadata.
func (d *diff) whole(a, b reflect.Value, sameSpec bool, wanted func(field string) bool) {
	for i := range a.NumField() {
		field := a.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported(), name == "-", name == "metadata", field.Type == reflect.TypeFor[metav1.TypeMeta](), !wanted(name):
		case name == "spec" && sameSpec:
		case name == "image" && field.Type.Kind() == reflect.String:
			d.image(name, a.Field(i).String(), b.Field(i).String())
		default: // What is inlined has no name, and its fields theirs.
			d.value(name, a.Field(i), b.Field(i))
		}
	}
}

// document compares all of two objects but their metadata and status, the spec first.
func (d *diff) document(was, is *unstructured.Unstructured) {
	if !SameSpec(was, is) {
		d.part("spec", was.Object["spec"], is.Object["spec"])
	}
	all := maps.Clone(was.Object)
	maps.Copy(all, is.Object)
	for _, key := range sorted(all) {
		switch key {
		case "apiVersion", "kind", "metadata", "spec", "status":
		default:
			d.entry("", key, was.Object, is.Object)
		}
	}
}

// part compares what is nothing but an empty object while it is not there.
func (d *diff) part(path string, a, b any) {
	if a == nil {
		a = map[string]any{}
	}
	if b == nil {
		b = map[string]any{}
	}
	d.plain(path, a, b)
}

// sorted are the keys of a map in their order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
