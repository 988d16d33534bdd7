package parity

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Record is what a scenario has left: an object, a field of it, a value.
type Record map[string]map[string]string

const (
	// existence is the field that every object of a record has.
	existence = "exists"
	// limited is a field of events that may not be all, as a recorder has reached its rate.
	limited = "limited"
)

func (r Record) put(object, field, value string) {
	if r[object] == nil {
		r[object] = map[string]string{existence: "yes"}
	}
	r[object][field] = value
}

// recorded are the kinds whose objects are taken down field by field.
var recorded = []string{"d", "rs", "rc"}

// record takes down the objects and pods of a namespace as they are now.
func (p *Plane) record(ctx context.Context, namespace string) (Record, error) {
	w := writer{record: Record{}, namespace: namespace, names: map[string]string{}}
	var objects []unstructured.Unstructured
	for _, kind := range recorded {
		list, err := p.dynamic.Resource(resources[kind]).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("record %s: %w", namespace, err)
		}
		objects = append(objects, list.Items...)
	}
	for _, object := range objects {
		w.names[string(object.GetUID())] = object.GetKind() + "/" + object.GetName()
	}
	for _, object := range objects {
		w.object(object.GetKind()+"/"+object.GetName(), object.Object)
	}
	pods, err := p.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", namespace, err)
	}
	w.pods(pods.Items)
	return w.record, nil
}

// writer makes a Record, in the words that two planes have in common.
type writer struct {
	record    Record
	namespace string
	names     map[string]string // of objects by UID
}

// leftOut are fields that name a moment, a version or a place.
var leftOut = regexp.MustCompile(`^metadata\.(uid|resourceVersion|creationTimestamp|managedFields|namespace|selfLink|deletionTimestamp)|` +
	`\.(lastUpdateTime|lastTransitionTime|creationTimestamp|uid)$`)

func (w writer) object(name string, object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	status, _ := object["status"].(map[string]any)
	if _, deleting := metadata["deletionTimestamp"]; deleting {
		w.record.put(name, "metadata.deletionTimestamp", "set")
	}
	if status != nil {
		seen := "behind"
		if status["observedGeneration"] == metadata["generation"] {
			seen = "current"
		}
		status["observedGeneration"] = seen
	}
	if !strings.HasPrefix(name, "Deployment/") {
		delete(metadata, "generation")
	}
	delete(object, "apiVersion")
	delete(object, "kind")
	w.flatten(name, "", object)
}

// flatten puts every leaf under its path.
func (w writer) flatten(name, path string, value any) {
	if leftOut.MatchString(path) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			w.flatten(name, join(path, key), inner)
		}
	case []any:
		for i, inner := range value {
			w.flatten(name, fmt.Sprintf("%s[%s]", path, w.nameIn(inner, i)), inner)
		}
	default:
		w.record.put(name, path, w.text(fmt.Sprint(value)))
	}
}

func join(path, key string) string {
	switch {
	case path == "":
		return key
	case strings.ContainsAny(key, "./"):
		return path + "[" + key + "]"
	}
	return path + "." + key
}

// nameIn is what an item of a list is called: its type, its name, the object
// that a reference means, or its place.
func (w writer) nameIn(item any, place int) string {
	if fields, ok := item.(map[string]any); ok {
		if uid, reference := fields["uid"].(string); reference {
			if w.names[uid] == "" {
				return "something else"
			}
			return w.names[uid]
		}
		for _, key := range []string{"type", "name"} {
			if name, ok := fields[key].(string); ok {
				return name
			}
		}
	}
	return fmt.Sprint(place)
}

func (w writer) pods(pods []corev1.Pod) {
	counts := map[[2]string]int{}
	for i := range pods {
		owner := "nobody"
		if controller := metav1.GetControllerOf(&pods[i]); controller != nil {
			if owner = w.names[string(controller.UID)]; owner == "" {
				owner = "something gone"
			}
		}
		counts[[2]string{"pods of " + owner, w.text(shapeOf(&pods[i]))}]++
	}
	for group, n := range counts {
		w.record.put(group[0], group[1], fmt.Sprint(n))
	}
}

var (
	uids    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times   = regexp.MustCompile(`\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}\S*( [+-]\d{4} [A-Z]+)?( m=\S+)?`)
	endings = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`) // of a pod's generated name
)

// text leaves out of a message or a value what is never the same twice.
func (w writer) text(s string) string {
	s = strings.ReplaceAll(s, w.namespace, "NAMESPACE")
	s = uids.ReplaceAllString(s, "UID")
	if !strings.HasPrefix(s, "2026-01-02T") { // a scenario's own
		s = times.ReplaceAllString(s, "TIME")
	}
	return endings.ReplaceAllString(s, "-*")
}
