package changes

import (
	"bytes"
	"slices"
	"sync"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// maxVersions is how many of an object's newest versions are remembered. A
// handler asks for its event some time after the transform has seen it, and the
// object may have been written again by then.
const maxVersions = 8

// maxPods is how many of the newest pods are remembered, where they are at all.
const maxPods = 4096

// maxTrees bounds the sets of fields that are kept as they were read.
const maxTrees = 128

// Managers remembers who signed which fields of the newest versions of an object.
// Informers strip managedFields, which are most of an object's bytes, through
// Strip; this table keeps them, each text once however many objects share it, so
// that a cause can name the author of a change. Safe for concurrent use.
type Managers struct {
	mu    sync.Mutex
	table map[types.UID][]signedVersion
	trees map[unique.Handle[string]]fieldTree
	// pods are those of the table, the oldest first, where ofPods is set.
	pods   []types.UID
	ofPods bool
	atMost int // objects in the table; 0 is any number
}

// signedVersion is one version of an object and the entries of its managedFields.
type signedVersion struct {
	rv      string
	entries []signed
}

// signer is whom an entry of managedFields is of.
type signer struct{ manager, operation, subresource string }

// signed is one entry of managedFields. Both texts are interned: the Deployments
// of a team own the same fields, and a status is the same few everywhere.
type signed struct {
	by     unique.Handle[signer]
	fields unique.Handle[string] // as fieldsV1 has them
	at     int64                 // in seconds, as the API server keeps it; 0 where it is missing
}

// NewManagers returns an empty table.
func NewManagers() *Managers {
	return &Managers{table: map[types.UID][]signedVersion{}, trees: map[unique.Handle[string]]fieldTree{}}
}

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
	if _, pod := obj.(*corev1.Pod); !pod {
		m.remember(o.GetUID(), o.GetResourceVersion(), fields)
	} else if m.ofPods {
		m.rememberPod(o.GetUID(), o.GetResourceVersion(), fields)
	}
	o.SetManagedFields(nil)
	return obj, nil
}

func (m *Managers) remember(uid types.UID, rv string, fields []metav1.ManagedFieldsEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.table[uid]
	var newest signedVersion
	if n := len(known); n > 0 {
		newest = known[n-1]
	}
	if newest.rv == rv && rv != "" {
		return // A list has shown once more what a watch had.
	}
	if known == nil && m.atMost > 0 && len(m.table) >= m.atMost {
		m.dropAny()
	}
	if len(known) >= maxVersions {
		known = slices.Delete(known, 0, 1+len(known)-maxVersions)
	}
	m.table[uid] = append(known, signedVersion{rv, entriesOf(fields, newest.entries)})
}

// dropAny drops one object or another: which of them are gone is not known, and one that is not is
// remembered again with its next version. The table is locked.
func (m *Managers) dropAny() {
	for uid := range m.table {
		delete(m.table, uid)
		return
	}
}

// KeepAtMost bounds the number of objects, for a caller who does not hear of every one that is gone.
// It is called before Strip.
func (m *Managers) KeepAtMost(objects int) { m.atMost = objects }

// KeepPods has the table remember who made the newest pods, by the first version that is seen of each. All
// of their writers would be most of the table, and answer no other question. It is called before Strip.
func (m *Managers) KeepPods() { m.ofPods = true }

func (m *Managers) rememberPod(uid types.UID, rv string, fields []metav1.ManagedFieldsEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.table[uid] != nil {
		return
	}
	if len(m.pods) >= maxPods {
		delete(m.table, m.pods[0])
		m.pods = m.pods[1:]
	}
	m.pods = append(m.pods, uid)
	m.table[uid] = []signedVersion{{rv, entriesOf(fields, nil)}}
}

// Len is how many objects are remembered.
func (m *Managers) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.table)
}

// Forget drops an object that is gone.
func (m *Managers) Forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.table, uid)
}

// at is what was signed in a version of an object; nil where it is not known.
func (m *Managers) at(uid types.UID, rv string) []signed {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range slices.Backward(m.table[uid]) {
		if v.rv == rv {
			return v.entries
		}
	}
	return nil
}

// tree is what a text of fieldsV1 says. Most are those of the events before; nobody
// changes one.
func (m *Managers) tree(text unique.Handle[string]) fieldTree {
	m.mu.Lock()
	t, known := m.trees[text]
	m.mu.Unlock()
	if known {
		return t
	}
	t = fieldTreeOf(text.Value())
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.trees) >= maxTrees {
		clear(m.trees)
	}
	m.trees[text] = t
	return t
}

// Made names who made an object, as far as that version tells; nobody where several
// may have.
func (m *Managers) Made(o metav1.Object) []string {
	return m.creators(m.at(o.GetUID(), o.GetResourceVersion()))
}

// OwnerOf names whose a field of an object is as of this version: who has set it. It is empty
// where that is nobody, several or not known.
func (m *Managers) OwnerOf(o metav1.Object, path string) string {
	entries := m.at(o.GetUID(), o.GetResourceVersion())
	if fields := o.GetManagedFields(); len(fields) > 0 {
		entries = entriesOf(fields, nil)
	}
	claims, _ := m.ownershipChanges(nil, entries)
	name, _ := ownerOf(claims, nil, path)
	return name
}

// WroteSince names who made these changes between a version that informers have seen
// and one that was read live, managedFields and all.
func (m *Managers) WroteSince(was, live metav1.Object, changes []decision.Change) []string {
	before := m.at(was.GetUID(), was.GetResourceVersion())
	return m.authors(before, entriesOf(live.GetManagedFields(), before), changes)
}

// Wrote names who made these changes between two versions of an object that informers
// have seen: nobody where that is not known, several where they wrote unseen by each
// other.
func (m *Managers) Wrote(old, new metav1.Object, changes []decision.Change) []string {
	after := m.at(new.GetUID(), new.GetResourceVersion())
	if old.GetUID() != new.GetUID() { // Deleted and created again between two looks.
		return m.creators(after)
	}
	return m.authors(m.at(old.GetUID(), old.GetResourceVersion()), after, changes)
}

// entriesOf puts managedFields into the form of the table. Most entries are those
// of the version before, in their place: only what differs is looked up.
func entriesOf(fields []metav1.ManagedFieldsEntry, before []signed) []signed {
	list := make([]signed, len(fields))
	same := len(fields) == len(before)
	for i := range fields {
		var was signed
		if i < len(before) {
			was = before[i]
		}
		list[i] = signedOf(&fields[i], was)
		same = same && list[i] == was
	}
	if same {
		return before
	}
	return list
}

// ownerKey begins the element of ownerReferences in a text of fieldsV1.
var ownerKey = []byte(`"k:{\"uid\":\"`)

// withoutOwner leaves out the UID of an owner: it alone would make the texts of the
// ReplicaSets of two Deployments differ.
func withoutOwner(text []byte) []byte {
	at := bytes.Index(text, ownerKey)
	if at < 0 {
		return text
	}
	at += len(ownerKey)
	end := bytes.IndexByte(text[at:], '\\')
	if end < 0 {
		return text
	}
	return slices.Concat(text[:at], text[at+end:])
}

func signedOf(f *metav1.ManagedFieldsEntry, was signed) signed {
	var s signed
	if !f.Time.IsZero() {
		s.at = f.Time.Unix()
	}
	by := signer{redact.Line(f.Manager), string(f.Operation), f.Subresource}
	if s.by = was.by; s.by == (unique.Handle[signer]{}) || s.by.Value() != by {
		s.by = unique.Make(by)
	}
	s.fields = textOf(f.FieldsV1.GetRawBytes(), was.fields)
	return s
}

// textOf is a text of fieldsV1 as it is kept. was is the one in its place before.
func textOf(raw []byte, was unique.Handle[string]) unique.Handle[string] {
	known := was != unique.Handle[string]{}
	if known && was.Value() == string(raw) {
		return was
	}
	if raw = withoutOwner(raw); known && was.Value() == string(raw) {
		return was
	}
	return unique.Make(string(raw))
}
