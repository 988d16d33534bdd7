package changes

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// MaxFields bounds the changed fields one cause names.
const MaxFields = 16

// Fields collects changed fields, MaxFields at most; the zero value is ready. A path without values is one whose values are
// masked: they are given for counts, switches, quantities, images and reasons
// alone, and never for what a person may have put a secret into.
type Fields []decision.Change

// Named adds a path without its values, if it changed.
func (f *Fields) Named(changed bool, path string) {
	if changed && len(*f) < MaxFields {
		*f = append(*f, decision.Change{Field: path})
	}
}

// Valued adds a path with both values, each in one line and without credentials. Who calls
// it says that they may be shown.
func (f *Fields) Valued(path, old, new string) {
	if old != new && len(*f) < MaxFields {
		*f = append(*f, decision.Change{Field: path, From: redact.Line(old), To: redact.Line(new)})
	}
}

// Count adds a number that always stands.
func (f *Fields) Count(path string, old, new int32) {
	f.Valued(path, strconv.Itoa(int(old)), strconv.Itoa(int(new)))
}

// Optional adds a number that may be missing, which is told as no value.
func (f *Fields) Optional(path string, old, new *int32) {
	f.Valued(path, pointed(old), pointed(new))
}

func pointed(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// keys names the keys of a map.
func (f *Fields) keys(path string, changed []string) {
	for _, k := range changed {
		f.Named(true, keyed(path, k))
	}
}

// keyed is the path of what has a name, or a key, that anybody may have chosen.
func keyed(path, name string) string { return path + "[" + redact.Line(name) + "]" }

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

// Meta adds what changed of an object's metadata: which keys, and no value
// of them but the names of its controllers.
func (f *Fields) Meta(old, new metav1.Object) {
	f.Named(old.GetDeletionTimestamp() == nil && new.GetDeletionTimestamp() != nil, "metadata.deletionTimestamp")
	f.keys("metadata.labels", texts(old.GetLabels()).changed(new.GetLabels()))
	f.keys("metadata.annotations", texts(old.GetAnnotations()).changed(new.GetAnnotations()))
	f.owners(old, new)
	f.Named(!slices.Equal(old.GetFinalizers(), new.GetFinalizers()), "metadata.finalizers")
}

// owners names the controllers between which an object changed, or that anything else of its
// owners did.
func (f *Fields) owners(old, new metav1.Object) {
	const path = "metadata.ownerReferences"
	if was, is := controllerOf(old), controllerOf(new); was != is {
		f.Valued(path, was, is)
		return
	}
	f.Named(!equality.Semantic.DeepEqual(old.GetOwnerReferences(), new.GetOwnerReferences()), path)
}

func controllerOf(o metav1.Object) string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return ref.Name
	}
	return ""
}

// SameSpec reports whether the API server says that nothing of the spec changed,
// which saves a comparison of templates for every status.
func SameSpec(old, new metav1.Object) bool {
	return old.GetGeneration() != 0 && old.GetGeneration() == new.GetGeneration() && old.GetUID() == new.GetUID()
}

// PathTemplate begins the paths below a pod template. What is in its spec
// follows without ".spec", as people say it.
const PathTemplate = "spec.template"

// Template names what changed below a pod template: images first, as they are
// what a rollout is mostly about.
func (f *Fields) Template(old, new *corev1.PodTemplateSpec) {
	if equality.Semantic.DeepEqual(old, new) {
		return
	}
	d := templateFields(old, new)
	for _, c := range d.images {
		f.add(c)
	}
	f.Named(true, PathTemplate)
	for _, c := range d.others {
		f.add(c)
	}
}

func (f *Fields) add(c decision.Change) {
	if len(*f) < MaxFields {
		*f = append(*f, c)
	}
}

// ConditionWords are status and reason of conditions by their type. Their
// messages stay out: they are long, and the sync that follows quotes what matters.
type ConditionWords map[string]string

// Add notes a condition.
func (w ConditionWords) Add(kind string, status corev1.ConditionStatus, reason string) {
	w[kind] = strings.TrimSpace(string(status) + " " + redact.Message(reason))
}

// Conditions adds the conditions of a status that came, changed or went.
func (f *Fields) Conditions(old, new ConditionWords) {
	for _, kind := range texts(old).changed(texts(new)) {
		f.Valued(keyed("status.conditions", kind), old[kind], new[kind])
	}
}

// Number adds a number of 64 bits.
func (f *Fields) Number(path string, old, new int64) {
	f.Valued(path, strconv.FormatInt(old, 10), strconv.FormatInt(new, 10))
}
