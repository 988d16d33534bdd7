package changes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// fieldTree is a set of fields as fieldsV1 writes it: a field without fields below
// it is owned as it stands, "." is the field itself. Nothing of it is recorded.
type fieldTree map[string]fieldTree

// fieldTreeOf reads fieldsV1. What cannot be read owns nothing.
func fieldTreeOf(text string) fieldTree {
	var t fieldTree
	if json.Unmarshal([]byte(text), &t) != nil {
		return nil
	}
	return t
}

// reach says how a tree has a path.
type reach int

const (
	reachNone reach = iota
	// reachPart: fields below the path are owned, or all of what it is in, or it is
	// in a list that fieldsV1 knows by another key.
	reachPart
	// reachWhole: the path itself is owned.
	reachWhole
)

// find walks a path and returns what is owned from there on.
func (t fieldTree) find(path []step) (fieldTree, reach) {
	at := t
	for i, s := range path {
		if i > 0 && at.whole() {
			return at, reachPart
		}
		next, ok := at.child(s)
		switch {
		case ok:
			at = next
		case s.key && at.keyedOtherwise():
			return at, reachPart
		default:
			return nil, reachNone
		}
	}
	if at.whole() {
		return at, reachWhole
	}
	return at, reachPart
}

// whole reports whether nothing below is owned by itself.
func (t fieldTree) whole() bool {
	_, self := t["."]
	return len(t) == 0 || self && len(t) == 1
}

func (t fieldTree) child(s step) (fieldTree, bool) {
	if next, ok := t["f:"+s.name]; ok || !s.key {
		return next, ok
	}
	for name, next := range t {
		if slices.Contains(keysOf(name), s.name) {
			return next, true
		}
	}
	return nil, false
}

// keyedOtherwise reports whether it is a list whose elements have no name there,
// as ports, which fieldsV1 knows by their number.
func (t fieldTree) keyedOtherwise() bool {
	for name := range t {
		if strings.HasPrefix(name, "v:") || strings.HasPrefix(name, "i:") {
			return true
		}
		if strings.HasPrefix(name, "k:") && !strings.Contains(name, `"name"`) && !strings.Contains(name, `"type"`) {
			return true
		}
	}
	return false
}

// keysOf are the values by which fieldsV1 knows an element: k:{"name":"app"}.
func keysOf(name string) []string {
	text, ok := strings.CutPrefix(name, "k:")
	if !ok {
		return nil
	}
	var keys map[string]any
	_ = json.Unmarshal([]byte(text), &keys) // What cannot be read has none.
	list := make([]string, 0, len(keys))
	for _, v := range keys {
		list = append(list, fmt.Sprint(v))
	}
	return list
}

// beyond reports whether a tree has a field that another lacks.
func (t fieldTree) beyond(other fieldTree) bool {
	for name, below := range t {
		if there, ok := other[name]; !ok || below.beyond(there) {
			return true
		}
	}
	return false
}

// step is one step of a path as causes name it; key is what stood in brackets.
type step struct {
	name string
	key  bool
}

// stepsOf takes a path of a cause apart and puts back what such paths leave out.
func stepsOf(path string) []step {
	var steps []step
	for path != "" {
		s := step{key: path[0] == '['}
		if s.key {
			s.name, path = cutKey(path[1:])
		} else {
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			s.name, path = path[:end], path[end:]
		}
		steps = append(steps, s)
		path = strings.TrimPrefix(path, ".")
	}
	return inFull(steps)
}

// cutKey takes a key off that ends at the first bracket that more of a path
// follows. Without one the key is all there is.
func cutKey(path string) (key, rest string) {
	for i := range len(path) {
		if path[i] == ']' && (i+1 == len(path) || path[i+1] == '.' || path[i+1] == '[') {
			return path[:i], path[i+1:]
		}
	}
	return path, ""
}

// inFull puts in the steps that paths of causes leave out: the spec of a template,
// and where the limits of a rolling update are.
func inFull(steps []step) []step {
	if len(steps) < 3 || steps[0].name != "spec" {
		return steps
	}
	switch {
	case steps[1].name == "template" && steps[2].name != "metadata" && steps[2].name != "spec":
		return slices.Insert(steps, 2, step{name: "spec"})
	case steps[1].name == "strategy" && steps[2].name != "type" && steps[2].name != "rollingUpdate":
		return slices.Insert(steps, 2, step{name: "rollingUpdate"})
	}
	return steps
}
