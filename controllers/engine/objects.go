package engine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// KeyOf is the key of an object: namespace/name.
func KeyOf(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// WallTime is an instant as a snapshot keeps it. A monotonic reading does not
// survive the record: a span decided on would be another one when it is decided
// on again.
func WallTime(t time.Time) time.Time { return t.UTC().Round(0) }

// asOfNow is an instant that a clock told before, as it would tell it now: the machine's time
// of day may have been set in between, and who decides compares times of day. Zero stays zero.
// As long as it was not set, it is the very same instant each time, for timers go by it. It has no
// monotonic reading, which was not set.
func asOfNow(c clock.PassiveClock, t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	set := c.Now().Round(0).Sub(t.Round(0)) - c.Since(t)
	return t.Round(0).Add(set.Round(time.Second)) // Two readings of a clock are some time apart.
}

// OwnerUID is that of an object's controller, "" where it has none.
func OwnerUID(o metav1.Object) types.UID {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return ref.UID
	}
	return ""
}

// SameRef reports whether two controller references name the same object; nil is none.
func SameRef(a, b *metav1.OwnerReference) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UID == b.UID && a.Kind == b.Kind && a.Name == b.Name
}

// ControllerUID is the name of an index of objects by the UID of their controller.
const ControllerUID = "controllerUID"

// IndexController files an object under the UID of its controller.
func IndexController(obj any) ([]string, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, nil
	}
	if uid := OwnerUID(o); uid != "" {
		return []string{string(uid)}, nil
	}
	return nil, nil
}

// Selecting asks the API server for everything that a selector matches. What selects
// everything, or cannot be read, asks for all there is: the controller decides whose it is.
func Selecting(s *metav1.LabelSelector) metav1.ListOptions {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return metav1.ListOptions{}
	}
	return metav1.ListOptions{LabelSelector: selector.String()}
}
