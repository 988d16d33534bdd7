package changes

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// noWriters are names that the API server gives to entries of its own making:
// those of many old writers put together, and of whoever wrote before the first
// server-side apply. Nobody is called that.
var noWriters = []string{"", "ancient-changes", "before-first-apply"}

// pathDeletion is a change that the API server signs for nobody.
const pathDeletion = "metadata.deletionTimestamp"

// pathApplied is what the API server itself rewrites when kubectl applies on the
// server's side, and leaves with its old owner.
const pathApplied = "metadata.annotations[" + corev1.LastAppliedConfigAnnotation + "]"

// ownershipChange is an entry of the new version beside what it was in the old one.
type ownershipChange struct {
	signer
	at         int64
	old, new   fieldTree
	wasAt      int64
	known, had bool // the old version; this entry in it
}

// touched reports whether the entry itself shows that its manager wrote: it is
// new, of another second, or owns what it did not own. That it owns less shows
// nothing: others take fields away.
func (c *ownershipChange) touched() bool {
	return c.known && (!c.had || c.at != c.wasAt || c.new.beyond(c.old))
}

// mayWrite reports whether the endpoint that the entry is of takes such a change.
func (c *ownershipChange) mayWrite(path string) bool {
	status := strings.HasPrefix(path, "status.")
	switch c.subresource {
	case "":
		return !status
	case "status":
		return !strings.HasPrefix(path, "spec.")
	case "scale":
		return path == "" || path == "spec.replicas"
	default:
		return true
	}
}

// authors names who made these changes between two versions, by what was signed in
// them; before is nil where it is not known. Who has changed a field owns it: an
// update takes it from everybody else. So the owner of a changed field is its
// author whatever the times say, which tie within a second and which entries of the
// scale subresource lack. A field that went has no owner, and a removal alone
// leaves no trace: then it is the one entry that shows that its manager wrote.
func (m *Managers) authors(before, after []signed, changes []decision.Change) []string {
	claims, lost := m.ownershipChanges(before, after)
	var names []string
	for _, path := range attributable(changes, claims) {
		name, owned := ownerOf(claims, lost, path)
		if !owned {
			name = soleWriter(having(claims, func(c *ownershipChange) bool { return c.mayWrite(path) && c.touched() }))
		}
		if !owned && name == "" {
			name = statusWriter(claims, lost, path)
		}
		if !slices.Contains(noWriters, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return provenWriters(names, claims)
}

// provenWriters are those of several names that an entry shows to have written, where
// there are any. One request has one author: a second owner is most often of a
// field that the API server changed for him.
func provenWriters(names []string, claims []ownershipChange) []string {
	if len(names) < 2 {
		return names // as mostly
	}
	wrote := managersOf(having(claims, (*ownershipChange).touched))
	shown := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(wrote, name) })
	if len(shown) == 0 {
		return names
	}
	return shown
}

// creators names who made an object that was not there before.
func (m *Managers) creators(entries []signed) []string {
	return m.authors([]signed{}, entries, nil)
}

// ownershipChanges puts the entries of two versions beside each other. lost are trees of
// the old version of which the new one lacks something, with what it is now.
func (m *Managers) ownershipChanges(before, after []signed) (claims []ownershipChange, lost [][2]fieldTree) {
	old := map[signer]signed{}
	for _, s := range before {
		old[s.by.Value()] = s
	}
	for _, s := range after {
		c := ownershipChange{signer: s.by.Value(), at: s.at, new: m.tree(s.fields), known: before != nil}
		var was signed
		if was, c.had = old[c.signer]; c.had {
			c.wasAt, c.old = was.at, c.new
			if was.fields != s.fields {
				c.old = m.tree(was.fields)
				lost = append(lost, [2]fieldTree{c.old, c.new})
			}
		}
		delete(old, c.signer)
		claims = append(claims, c)
	}
	for _, s := range old {
		lost = append(lost, [2]fieldTree{m.tree(s.fields), nil})
	}
	return claims, lost
}

// attributable are the paths that can have an author. One that only sums up what the
// others say is left out. The empty path stands for a change of what causes do not
// name, and of what has an owner who need not have changed it.
func attributable(changes []decision.Change, claims []ownershipChange) []string {
	below := slices.ContainsFunc(changes, func(c decision.Change) bool { return strings.HasPrefix(c.Field, PathTemplate+".") })
	applied := slices.ContainsFunc(claims, func(c ownershipChange) bool { return c.operation == string(metav1.ManagedFieldsOperationApply) })
	var paths []string
	for _, c := range changes {
		switch {
		case c.Field == pathDeletion:
			return nil
		case c.Field == PathTemplate && below, c.Field == pathApplied && applied:
		default:
			paths = append(paths, c.Field)
		}
	}
	if len(paths) == 0 {
		return []string{""}
	}
	return paths
}

// ownerOf is who owns a changed path by himself. owned is false where nobody does;
// the name is empty where that says nothing.
func ownerOf(claims []ownershipChange, lost [][2]fieldTree, path string) (name string, owned bool) {
	steps := stepsOf(path)
	reaches := func(want reach) func(*ownershipChange) bool {
		return func(c *ownershipChange) bool { _, got := c.new.find(steps); return got == want }
	}
	owners := having(claims, reaches(reachWhole))
	if len(managersOf(owners)) == 1 {
		return owners[0].manager, true
	}
	if len(owners) == 0 {
		owners = having(claims, reaches(reachPart))
	}
	if path == "" || len(owners) == 0 {
		return "", false
	}
	if touched := having(owners, (*ownershipChange).touched); len(touched) > 0 {
		return soleWriter(touched), true
	}
	if len(managersOf(owners)) > 1 || !owners[0].known || slices.ContainsFunc(lost, func(pair [2]fieldTree) bool { return losesAt(pair, steps) }) {
		return "", false // Somebody took something away from there, and need not be who owns the rest.
	}
	return owners[0].manager, true
}

// statusWriter is who took a field out of a status, as a counter that became 0 is: the one that writes it, where it
// was his. Within a second of his last write nothing else shows that.
func statusWriter(claims []ownershipChange, lost [][2]fieldTree, path string) string {
	writers := having(claims, func(c *ownershipChange) bool { return c.subresource == "status" })
	if !strings.HasPrefix(path, "status.") || len(writers) != 1 || !writers[0].had {
		return ""
	}
	steps, losers := stepsOf(path), 0
	for _, pair := range lost {
		if losesAt(pair, steps) {
			losers++
		}
	}
	if losers != 1 || !losesAt([2]fieldTree{writers[0].old, writers[0].new}, steps) {
		return ""
	}
	return soleWriter(writers)
}

// losesAt reports whether a tree lost something at a path or below it.
func losesAt(pair [2]fieldTree, path []step) bool {
	old, had := pair[0].find(path)
	now, has := pair[1].find(path)
	return had != reachNone && (has == reachNone || old.beyond(now))
}

func having(claims []ownershipChange, is func(*ownershipChange) bool) []ownershipChange {
	var list []ownershipChange
	for i := range claims {
		if is(&claims[i]) {
			list = append(list, claims[i])
		}
	}
	return list
}

func managersOf(claims []ownershipChange) []string {
	var names []string
	for i := range claims {
		if !slices.Contains(names, claims[i].manager) {
			names = append(names, claims[i].manager)
		}
	}
	return names
}

// soleWriter is the one writer among those claims; "" for none and for several.
func soleWriter(claims []ownershipChange) string {
	names := slices.DeleteFunc(managersOf(claims), func(name string) bool { return slices.Contains(noWriters, name) })
	if len(names) != 1 {
		return ""
	}
	return names[0]
}
