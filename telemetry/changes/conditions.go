package changes

import (
	"reflect"
	"regexp"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// pathConditions is where every API keeps its conditions.
const pathConditions = "status.conditions"

// enumerated is a word of an API's own, as Kubernetes wants statuses and reasons to be.
var enumerated = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,63}$`)

// condition is what is compared of one: its words, and all of it.
type condition struct {
	status, reason string
	all            any
}

// conditions are by their type; nil where one has none, or two have the same.
type conditions map[string]condition

func (list conditions) add(kind string, c condition) bool {
	_, twice := list[kind]
	list[kind] = c
	return kind != "" && !twice
}

// conditionsIn reads a list of structs as conditions.
func conditionsIn(list reflect.Value) conditions {
	out := conditions{}
	for i := range list.Len() {
		c := list.Index(i)
		if c.Kind() != reflect.Struct {
			return nil
		}
		if !out.add(textAt(c, "Type"), condition{textAt(c, "Status"), textAt(c, "Reason"), c.Interface()}) {
			return nil
		}
	}
	return out
}

// textAt is a field of a struct, "" where it has none or it is no text.
func textAt(v reflect.Value, field string) string {
	f, has := v.Type().FieldByName(field)
	if !has || f.Type.Kind() != reflect.String {
		return ""
	}
	text, err := v.FieldByIndexErr(f.Index)
	if err != nil { // It is in a struct that is embedded and nil.
		return ""
	}
	return text.String()
}

// words are status and reason, of each only what an API may have enumerated.
func (c condition) words() string {
	var words string
	for _, w := range []string{c.status, c.reason} {
		if !enumerated.MatchString(w) {
			continue
		}
		if words != "" {
			words += " "
		}
		words += w
	}
	return words
}

// conditions shows the words of each that changed. Messages stay out, and so do times.
func (d *diff) conditions(old, next conditions) {
	known := texts{}
	for kind := range old {
		known[kind] = ""
	}
	for _, kind := range known.changed(texts{}) {
		if _, stays := next[kind]; !stays {
			d.others = append(d.others, decision.Change{Field: keyed(pathConditions, kind), From: old[kind].words()})
		}
	}
	for _, kind := range sorted(next) {
		before := old[kind] // one without words where it is new
		if same(before.all, next[kind].all) {
			continue
		}
		c := decision.Change{Field: keyed(pathConditions, kind), From: before.words(), To: next[kind].words()}
		if c.From == c.To { // Only what is not told differs.
			c.From, c.To = "", ""
		}
		d.others = append(d.others, c)
	}
}
