package changes

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

var (
	// fieldName is a key that is a field and not chosen by anybody.
	fieldName = regexp.MustCompile(`^[a-z][A-Za-z0-9]{0,62}$`)
	// imageShape is what a reference to an image may look like, masked or not.
	imageShape = regexp.MustCompile(`^(…@)?[a-z0-9][A-Za-z0-9._/:@-]{0,254}([?#;%]?…)?$`)
)

// plain compares two values as JSON has them: what a schema would say of a path is not
// known, so that a text is a text wherever it stands.
func (d *diff) plain(path string, a, b any) {
	if same(a, b) {
		return
	}
	if d.depth++; d.depth > deepest {
		d.named(path)
	} else {
		d.plainKind(path, a, b)
	}
	d.depth--
}

func (d *diff) plainKind(path string, a, b any) {
	switch old := a.(type) {
	case map[string]any:
		if next, ok := b.(map[string]any); ok {
			d.members(path, old, next)
			return
		}
	case []any:
		if next, ok := b.([]any); ok {
			d.elements(path, old, next)
			return
		}
	default:
		from, shown := number(a)
		if to, ok := number(b); ok && shown {
			d.valued(path, from, to)
			return
		}
	}
	d.named(path)
}

// number is a number or a switch as it is shown; ok is false for anything else.
func number(v any) (text string, ok bool) {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case int32:
		return strconv.FormatInt(int64(v), 10), true
	case int:
		return strconv.Itoa(v), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

// members compares two objects key by key. What is in the spec of a pod template follows
// the template without ".spec", as people say it and Template does.
func (d *diff) members(path string, a, b map[string]any) {
	keys := texts{}
	for key := range a {
		keys[key] = ""
	}
	for key := range b {
		keys[key] = ""
	}
	template := path == PathTemplate && (podSpec(a["spec"]) || podSpec(b["spec"]))
	if template {
		d.named(path)
	}
	for _, key := range sorted(keys) {
		if template && key == "spec" {
			d.part(path, a[key], b[key])
			continue
		}
		d.entry(path, key, a, b)
	}
}

func podSpec(v any) bool {
	m, _ := v.(map[string]any)
	_, is := m["containers"].([]any)
	return is
}

// entry compares what two objects have under one key.
func (d *diff) entry(path, key string, a, b map[string]any) {
	before, had := a[key]
	after, has := b[key]
	at := below(path, key)
	if chosen(path) || !fieldName.MatchString(key) {
		at = keyed(path, key)
	}
	switch {
	case key == "image" && text(before, had) && text(after, has):
		was, _ := before.(string)
		is, _ := after.(string)
		d.plainImage(at, was, is)
	case quantities(path) && text(before, had) && text(after, has):
		d.quantity(at, before, after)
	case had && has:
		d.plain(at, before, after)
	case key == "labels" || key == "annotations": // Which one is what counts.
		d.part(at, before, after)
	default:
		d.moved(at, before, after)
	}
}

// chosen reports whether the keys of a map are no fields, but what somebody chose.
func chosen(path string) bool {
	last := path[strings.LastIndexByte(path, '.')+1:]
	return quantities(path) || slices.Contains([]string{"labels", "annotations", "matchLabels", "nodeSelector", "data", "binaryData", "stringData"}, last)
}

// text reports whether there is one, or nothing at all.
func text(v any, there bool) bool {
	_, is := v.(string)
	return is || !there
}

// moved tells what came or went: a number with its value, anything else by its name.
func (d *diff) moved(path string, before, after any) {
	from, left := number(before)
	to, came := number(after)
	if left || came {
		d.others = append(d.others, decision.Change{Field: path, From: from, To: to})
		return
	}
	d.named(path)
}

// plainImage tells an image, and names what only stands in the place of one.
func (d *diff) plainImage(path, a, b string) {
	for _, ref := range []string{a, b} {
		if ref != "" && !imageShape.MatchString(redact.Image(ref)) {
			if a != b {
				d.named(path)
			}
			return
		}
	}
	d.image(path, a, b)
}

// quantities are the maps that have quantities wherever a pod is described.
func quantities(path string) bool {
	return strings.HasSuffix(path, ".requests") || strings.HasSuffix(path, ".limits")
}

// quantity tells a quantity in the form of Kubernetes, and names what is none.
func (d *diff) quantity(path string, a, b any) {
	from, okFrom := canonical(a)
	to, okTo := canonical(b)
	switch {
	case same(a, b):
	case okFrom && okTo && from != to:
		d.others = append(d.others, decision.Change{Field: path, From: from, To: to})
	default:
		d.named(path)
	}
}

// canonical is "" for nothing, and not ok for what is no quantity.
func canonical(v any) (text string, ok bool) {
	s, is := v.(string)
	if !is {
		return "", v == nil
	}
	q, err := resource.ParseQuantity(s)
	return q.String(), err == nil
}

// elements matches elements by name where all have one, conditions by their type, and
// names any other list as a whole.
func (d *diff) elements(path string, a, b []any) {
	if path == pathConditions {
		if old, next := plainConditions(a), plainConditions(b); old != nil && next != nil {
			d.conditions(old, next)
			return
		}
	}
	old, okOld := byName(a)
	next, okNext := byName(b)
	if !okOld || !okNext {
		d.named(path)
		return
	}
	before := len(d.images) + len(d.others)
	for _, name := range namesOf(b) {
		at := keyed(path, name)
		switch was, had := old[name]; {
		case !had:
			d.named(at)
			if ref, ok := next[name]["image"].(string); ok {
				d.plainImage(below(at, "image"), "", ref)
			}
		case strings.HasSuffix(path, ".env"): // A variable is one thing.
			if !same(was, next[name]) {
				d.named(at)
			}
		default:
			d.plain(at, was, next[name])
		}
	}
	for _, name := range namesOf(a) {
		if next[name] == nil {
			d.named(keyed(path, name))
		}
	}
	if before == len(d.images)+len(d.others) { // Their order alone.
		d.named(path)
	}
}

// byName is false where an element has no name, or two have the same.
func byName(list []any) (map[string]map[string]any, bool) {
	named := map[string]map[string]any{}
	for _, v := range list {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		if _, twice := named[name]; name == "" || twice {
			return nil, false
		}
		named[name] = m
	}
	return named, true
}

// namesOf are the names of elements in their order.
func namesOf(list []any) []string {
	var names []string
	for _, v := range list {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		names = append(names, name)
	}
	return names
}

func plainConditions(list []any) conditions {
	out := conditions{}
	for _, v := range list {
		m, _ := v.(map[string]any)
		kind, _ := m["type"].(string)
		status, _ := m["status"].(string)
		reason, _ := m["reason"].(string)
		if !out.add(kind, condition{status, reason, v}) {
			return nil
		}
	}
	return out
}
