package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// Names that a migration leaves on objects.
const (
	// recordKey is the annotation of the ReplicationController with what it was before.
	recordKey = rollingupdate.AnnotationMigration
	// fromKey is the annotation of the ReplicaSet and the Deployment with the
	// ReplicationController's UID.
	fromKey = "loopscope.dev/migrated-from"
	// pausedKey is the label of a Deployment that is paused until it has taken the ReplicaSet over,
	// and not because somebody wants it so. It is no annotation, as its loop copies these.
	pausedKey = "loopscope.dev/paused-by"
	// toKey is the label that no pod has: a selector with it matches none.
	toKey = "loopscope.dev/migrated-to"
	// holdKey is the finalizer of an owner that is deleted on the way back.
	holdKey = "loopscope.dev/undo"
	// sealName is a ServiceAccount that is not there: the API server refuses pods that name it.
	sealName = rollingupdate.SealedAccount
)

// recordVersion is that of the annotation's format.
const recordVersion = 1

// maxRecord is how many bytes a record may have. Selectors and labels are far below it.
const maxRecord = 64 << 10

// record is what is needed to go back.
type record struct {
	Version        int               `json:"v"`
	Deployment     string            `json:"deployment"`
	Hash           string            `json:"hash"`
	Replicas       int32             `json:"replicas"`
	Selector       map[string]string `json:"selector"`
	Labels         map[string]string `json:"templateLabels"`
	ServiceAccount string            `json:"serviceAccount,omitempty"`
	// ScalersMoved tells that autoscalers were pointed to the Deployment.
	ScalersMoved bool `json:"scalersMoved,omitempty"`
}

// recordOf reads the annotation of a ReplicationController; nil where no migration has begun.
func recordOf(rc *corev1.ReplicationController) (*record, error) {
	text, found := rc.Annotations[recordKey]
	if !found {
		return nil, nil
	}
	r, err := parseRecord(text)
	if err != nil {
		return nil, fmt.Errorf("the annotation %s of ReplicationController %s cannot be read, and it holds what the ReplicationController was before: %w", recordKey, rc.Name, err)
	}
	return r, nil
}

func parseRecord(text string) (*record, error) {
	if len(text) > maxRecord {
		return nil, fmt.Errorf("it has %d bytes, and %d are the most", len(text), maxRecord)
	}
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, err
	}
	return &r, r.check()
}

func (r *record) check() error {
	switch {
	case r.Version != recordVersion:
		return fmt.Errorf("it is of version %d, and this program reads version %d: use the release that began the migration", r.Version, recordVersion)
	case len(validation.IsDNS1123Subdomain(r.Deployment)) > 0:
		return fmt.Errorf("%q is no name of a Deployment", r.Deployment)
	case r.Hash == "" || len(validation.IsValidLabelValue(r.Hash)) > 0:
		return fmt.Errorf("%q is no hash of a template", r.Hash)
	case r.Replicas < 0:
		return fmt.Errorf("replicas are %d", r.Replicas)
	case len(r.Selector) == 0:
		return errors.New("it has no selector")
	case !labels.SelectorFromSet(r.Selector).Matches(labels.Set(r.Labels)):
		return errors.New("its selector does not match its labels")
	}
	_, err := labels.ValidatedSelectorFromSet(r.Selector)
	return err
}

// on is a copy of the ReplicationController with the record.
func (r *record) on(rc *corev1.ReplicationController) *corev1.ReplicationController {
	out := rc.DeepCopy()
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // Texts and numbers alone.
	}
	out.Annotations = with(out.Annotations, recordKey, string(text))
	return out
}

// TakenOver says of a ReplicationController whose pods go to a Deployment, or have gone there, what
// is to be done with its image instead; nil for any other.
func TakenOver(rc *corev1.ReplicationController) error {
	r, err := recordOf(rc)
	switch {
	case err != nil || r == nil:
		return err
	case !released(rc):
		return fmt.Errorf("a migration of %s to Deployment %s has begun: complete it with 'loopscope migrate rc/%[3]s -n %[4]s --write', or go back with 'loopscope migrate rc/%[3]s -n %[4]s --undo --write'", rc.Name, r.Deployment, rc.Name, rc.Namespace)
	}
	container := "CONTAINER"
	if t := rc.Spec.Template; t != nil && len(t.Spec.Containers) == 1 {
		container = t.Spec.Containers[0].Name
	}
	return fmt.Errorf("the pods of %s belong to Deployment %s since 'loopscope migrate', and %s is kept for the way back alone: change the image there, with 'kubectl -n %s set image deployment/%s %s=IMAGE'",
		rc.Name, r.Deployment, rc.Name, rc.Namespace, r.Deployment, container)
}

// with is a copy of labels or annotations with one more.
func with(in map[string]string, key, value string) map[string]string {
	out := make(map[string]string, len(in)+1)
	maps.Copy(out, in)
	out[key] = value
	return out
}
