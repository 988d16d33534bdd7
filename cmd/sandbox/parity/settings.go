package parity

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// fields are short names of what scripts set often.
var fields = map[string]string{
	"replicas":    "spec.replicas",
	"paused":      "spec.paused",
	"deadline":    "spec.progressDeadlineSeconds",
	"history":     "spec.revisionHistoryLimit",
	"min-ready":   "spec.minReadySeconds",
	"surge":       "spec.strategy.rollingUpdate.maxSurge",
	"unavailable": "spec.strategy.rollingUpdate.maxUnavailable",
	"finalizers":  "metadata.finalizers",
	"owners":      "metadata.ownerReferences",
	"grace":       "spec.template.spec.terminationGracePeriodSeconds",
}

// keyed are prefixes of settings whose rest is a key of a map, dots and all:
// "annotation:example.com/team=red".
var keyed = map[string][]string{
	"annotation":          {"metadata", "annotations"},
	"label":               {"metadata", "labels"},
	"template-annotation": {"spec", "template", "metadata", "annotations"},
	"template-label":      {"spec", "template", "metadata", "labels"},
	"select":              {"spec", "selector", "matchLabels"},
	"select-rc":           {"spec", "selector"},
}

// sandboxAnnotation is the prefix of what tells kwok how a pod behaves; "pod:"
// sets one in the template.
const sandboxAnnotation = "sandbox.loopscope.dev/"

// apply puts settings into an object or a patch of that kind.
func apply(object map[string]any, kind string, settings []string) error {
	for _, word := range settings {
		name, text, found := strings.Cut(word, "=")
		if !found {
			return fmt.Errorf("setting %q has no value", word)
		}
		var value any
		if prefix, _, _ := strings.Cut(name, ":"); keyed[prefix] == nil && prefix != "pod" {
			if err := yaml.Unmarshal([]byte(text), &value); err != nil {
				return fmt.Errorf("setting %q: %w", word, err)
			}
		} else if text != "null" {
			value = text // labels and annotations are strings
		}
		set(object, kind, name, value)
	}
	return nil
}

func set(object map[string]any, kind, name string, value any) {
	prefix, key, _ := strings.Cut(name, ":")
	switch {
	case name == "app":
		application(object, kind, value.(string))
	case name == "image":
		put(object, append(podPath(kind), "spec", "containers"), []any{map[string]any{"name": "main", "image": value}})
	case name == "strategy":
		put(object, []string{"spec", "strategy", "type"}, value)
		if value == "Recreate" {
			put(object, []string{"spec", "strategy", "rollingUpdate"}, nil)
		}
	case prefix == "pod":
		put(object, append(podPath(kind), "metadata", "annotations", sandboxAnnotation+key), value)
	case keyed[prefix] != nil:
		put(object, append(append([]string{}, keyed[prefix]...), key), value)
	case fields[name] != "":
		put(object, strings.Split(fields[name], "."), value)
	default:
		put(object, strings.Split(name, "."), value)
	}
}

// podPath is where the kind keeps the description of its pods.
func podPath(kind string) []string {
	if kind == "pod" {
		return nil
	}
	return []string{"spec", "template"}
}

// application labels and selects by app, as a manifest does in three places.
func application(object map[string]any, kind, app string) {
	put(object, []string{"metadata", "labels", "app"}, app)
	switch kind {
	case "rc":
		put(object, []string{"spec", "selector", "app"}, app)
	case "d", "rs":
		put(object, []string{"spec", "selector", "matchLabels", "app"}, app)
	default:
		return
	}
	put(object, []string{"spec", "template", "metadata", "labels", "app"}, app)
}

func put(object map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		inner, ok := object[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[name] = inner
		}
		object = inner
	}
	object[path[len(path)-1]] = value
}
