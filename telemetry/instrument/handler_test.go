package instrument

import (
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry"
)

// TestGoneIsForgotten: who signed an object is forgotten with it, whether its deletion was
// seen or another one stands in its place.
func TestGoneIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(h cache.ResourceEventHandler, old, other *metav1.PartialObjectMetadata)
		want int
	}{
		"deleted":  {func(h cache.ResourceEventHandler, old, _ *metav1.PartialObjectMetadata) { h.OnDelete(old) }, 1},
		"replaced": {func(h cache.ResourceEventHandler, old, other *metav1.PartialObjectMetadata) { h.OnUpdate(old, other) }, 1},
		"changed":  {func(h cache.ResourceEventHandler, old, _ *metav1.PartialObjectMetadata) { h.OnUpdate(old, old) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			control, err := New(telemetry.NewJournal(telemetry.JournalOptions{}), Loop("disk", "Disk"))
			if err != nil {
				t.Fatal(err)
			}
			queue := NewQueue[string](control, nil)
			defer queue.ShutDown()
			c.lose(queue.Handler("Disk", ObjectKey), stripped(t, control, "old"), stripped(t, control, "new"))
			if got := control.managers.Len(); got != c.want {
				t.Errorf("%d objects are remembered, want %d", got, c.want)
			}
		})
	}
}

// TestSignersAreBounded: of kinds that nobody handles not all objects that ever were are remembered.
func TestSignersAreBounded(t *testing.T) {
	control, err := New(telemetry.NewJournal(telemetry.JournalOptions{}), Loop("disk", "Disk"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxObjects + 1 {
		stripped(t, control, types.UID(strconv.Itoa(i)))
	}
	if got := control.managers.Len(); got != maxObjects {
		t.Errorf("%d objects are remembered, want %d", got, maxObjects)
	}
}

// stripped is an object that somebody signed, as an informer with the controller's Strip has it.
func stripped(t *testing.T, control *Controller, uid types.UID) *metav1.PartialObjectMetadata {
	t.Helper()
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data", UID: uid, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "helm"}}}}
	if _, err := control.Strip(o); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestGoneIsBounded: that objects are gone is kept of so many, and begun anew after that.
func TestGoneIsBounded(t *testing.T) {
	k := known[int]{objects: map[int]identity{}, gone: map[int]bool{}}
	for i := range mostGone {
		k.saw(i, nil)
	}
	if n := len(k.gone); n != mostGone {
		t.Errorf("of %d that are gone %d are kept", mostGone, n)
	}
	if k.saw(mostGone, nil); len(k.gone) != 1 || !k.gone[mostGone] {
		t.Errorf("after one more %d are kept", len(k.gone))
	}
}
