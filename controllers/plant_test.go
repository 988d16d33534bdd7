package controllers

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A planting puts a secret of its own into every string of an object, and finds
// each again wherever it turns up.
type planting struct {
	// before and after surround every secret.
	before, after string
	// spare are the ends of the paths below which nothing is planted.
	spare []string
	paths []string
}

var planted = regexp.MustCompile(`qz(\d{5})zq`)

// secret is a new one for a path.
func (p *planting) secret(path string) string {
	p.paths = append(p.paths, path)
	return p.before + fmt.Sprintf("qz%05dzq", len(p.paths)-1) + p.after
}

// found are the paths whose secrets stand in a text.
func (p *planting) found(text string) map[string]bool {
	paths := map[string]bool{}
	for _, m := range planted.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		paths[p.paths[n]] = true
	}
	return paths
}

// fill plants a secret in every string of an object that is empty, and gives
// every pointer, list and map that could hold one something to hold. What has a
// value keeps it: the loops need it to work.
func (p *planting) fill(path string, o any) { p.value(path, reflect.ValueOf(o).Elem()) }

func (p *planting) value(path string, v reflect.Value) {
	if !holdsText(v.Type(), nil) || slices.ContainsFunc(p.spare, func(end string) bool { return strings.HasSuffix(path, end) }) {
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *intstr.IntOrString:
		if x.Type == intstr.Int && x.IntVal == 0 {
			*x = intstr.FromString(p.secret(path))
		}
		return
	case *metav1.FieldsV1:
		x.SetRawBytes([]byte(`{"f:` + p.secret(path) + `":{}}`))
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.Len() == 0 {
			v.SetString(p.text(path))
		}
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		p.value(path, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			p.value(below(path, v.Type().Field(i)), v.Field(i))
		}
	case reflect.Slice:
		p.list(path+"[]", v)
	case reflect.Map:
		p.mapping(path, v)
	}
}

// text is what a string field is filled with. An image has a login in front.
func (p *planting) text(path string) string {
	if strings.HasSuffix(path, ".image") {
		return "user:" + p.secret(path+" login") + "@registry.example/" + p.secret(path)
	}
	return p.secret(path)
}

func (p *planting) list(path string, v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		v.SetBytes([]byte(p.secret(path)))
		return
	}
	if v.Len() == 0 {
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	}
	for i := range v.Len() {
		p.value(path, v.Index(i))
	}
}

// mapping adds an entry, and plants in its key and in its value.
func (p *planting) mapping(path string, v reflect.Value) {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	key := reflect.New(v.Type().Key()).Elem()
	key.SetString(p.secret(path + "{}"))
	value := reflect.New(v.Type().Elem()).Elem()
	p.value(path+"[]", value)
	v.SetMapIndex(key, value)
}

func below(path string, f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return path
	}
	return path + "." + name
}

// holdsText reports whether a value of the type can hold a text of anybody's.
func holdsText(t reflect.Type, above []reflect.Type) bool {
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[resource.Quantity]():
		return false
	case reflect.TypeFor[metav1.FieldsV1]():
		return true
	}
	for _, x := range above {
		if x == t {
			return false
		}
	}
	switch t.Kind() {
	case reflect.String:
		return true
	case reflect.Pointer, reflect.Map:
		return t.Kind() == reflect.Map || holdsText(t.Elem(), append(above, t))
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8 || holdsText(t.Elem(), append(above, t))
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && holdsText(f.Type, append(above, t)) {
				return true
			}
		}
	}
	return false
}
