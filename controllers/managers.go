package controllers

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Managers remembers who wrote an object last. Informers strip managedFields,
// which are most of an object's bytes, through Strip; of each entry this table
// keeps who and when, so that a cause can name the other writer. Safe for
// concurrent use.
type Managers struct {
	mu    sync.Mutex
	table map[types.UID]wrote
}

type wrote struct {
	manager, subresource string
	at                   time.Time
}

// NewManagers returns an empty table.
func NewManagers() *Managers { return &Managers{table: map[types.UID]wrote{}} }

// Strip is a cache.TransformFunc: it removes managedFields and nothing else.
// Every label and annotation stays, because a status write stores the
// annotations of its body.
func (m *Managers) Strip(obj any) (any, error) {
	o, err := meta.Accessor(obj)
	if err != nil {
		return obj, nil // A tombstone; the handlers unwrap it.
	}
	fields := o.GetManagedFields()
	if len(fields) == 0 {
		return obj, nil
	}
	if _, pod := obj.(*corev1.Pod); !pod { // A pod's writers answer no question and would be most of the table.
		m.remember(o.GetUID(), newest(fields))
	}
	o.SetManagedFields(nil)
	return obj, nil
}

func (m *Managers) remember(uid types.UID, w wrote) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.table[uid] = w
}

// forget drops an object that is gone.
func (m *Managers) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.table, uid)
}

// last names the manager that wrote an object last, "" if that is not known.
func (m *Managers) last(uid types.UID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.table[uid].manager
}

func newest(fields []metav1.ManagedFieldsEntry) wrote {
	var w wrote
	for _, f := range fields {
		if f.Time == nil || f.Time.Time.Before(w.at) {
			continue
		}
		w = wrote{manager: f.Manager, subresource: f.Subresource, at: f.Time.Time}
	}
	return w
}
