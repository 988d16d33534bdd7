package migrate

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Verb is what a write does.
type Verb string

// The verbs. Create and Update send a whole object, Delete leaves what the object owns, Label and
// Unlabel are of a pod's hash, and Disown takes a reference to an owner off.
const (
	Create  Verb = "create"
	Update  Verb = "update"
	Delete  Verb = "delete"
	Label   Verb = "label"
	Unlabel Verb = "unlabel"
	Disown  Verb = "disown"
)

// Object is one that is written.
type Object interface {
	metav1.Object
	runtime.Object
}

// Write is one request. Every update and every deletion carries the version that was decided on,
// and everything else but a creation the UID.
type Write struct {
	Verb    Verb              `json:"verb"`
	Kind    string            `json:"kind"`
	Name    string            `json:"name"`
	Changes []decision.Change `json:"changes,omitempty"`

	object Object
	hash   string    // of Label
	owner  types.UID // of Disown
}

// Kind says what a step is.
type Kind string

// The kinds: something is written, a loop has to answer, somebody is needed, or nothing is left.
const (
	Act     Kind = "act"
	Wait    Kind = "wait"
	Blocked Kind = "blocked"
	Done    Kind = "done"
)

// Step is what comes next.
type Step struct {
	Kind Kind `json:"-"`
	// Text is what is done, waited for, or in the way.
	Text string `json:"do"`
	// Then is what the loops answer.
	Then   string  `json:"then,omitempty"`
	Writes []Write `json:"writes"`
}

func act(text, then string, writes ...Write) Step { return Step{Act, text, then, writes} }

func wait(format string, args ...any) Step {
	return Step{Kind: Wait, Text: fmt.Sprintf(format, args...)}
}

func blocked(format string, args ...any) Step {
	return Step{Kind: Blocked, Text: fmt.Sprintf(format, args...)}
}

func done(format string, args ...any) Step {
	return Step{Kind: Done, Text: fmt.Sprintf(format, args...)}
}

func change(field string, from, to any) decision.Change {
	return decision.Change{Field: field, From: fmt.Sprint(from), To: fmt.Sprint(to)}
}

func write(verb Verb, o Object, changes ...decision.Change) Write {
	return Write{Verb: verb, Kind: kindOf(o), Name: o.GetName(), Changes: changes, object: o}
}

func kindOf(o Object) string {
	switch o.(type) {
	case *corev1.ReplicationController:
		return "ReplicationController"
	case *appsv1.ReplicaSet:
		return "ReplicaSet"
	case *appsv1.Deployment:
		return "Deployment"
	case *autoscalingv2.HorizontalPodAutoscaler:
		return "HorizontalPodAutoscaler"
	}
	return "Pod"
}
