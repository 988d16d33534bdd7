package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Recent remembers of each key what its object does not show, such as what others did to
// it lately. The zero value is ready. Safe for concurrent use.
type Recent[T comparable] struct {
	mu   sync.Mutex
	keys map[string]remembered[T]
}

// remembered is of one object: another one of the same name has its own.
type remembered[T comparable] struct {
	uid string
	is  T
}

// Of is what is known of the object under a key, the zero value for nothing.
func (r *Recent[T]) Of(key, uid string) T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.keys[key]; k.uid == uid {
		return k.is
	}
	var none T
	return none
}

// Note replaces what is known. Of the zero value nothing is kept.
func (r *Recent[T]) Note(key, uid string, is T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var none T
	if is == none {
		delete(r.keys, key)
		return
	}
	if r.keys == nil {
		r.keys = map[string]remembered[T]{}
	}
	r.keys[key] = remembered[T]{uid, is}
}

// Forget drops a key that is gone.
func (r *Recent[T]) Forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.keys, key)
}

// Current is what a snapshot takes of a recent change; nil for nothing.
func Current(n *decision.RecentChange, now time.Time) *decision.RecentChange {
	if n == nil || n.Over(now) {
		return nil
	}
	return n
}

// Expire notes that what was news before the sync has been told, and forgets it in the end.
func Expire(n, before *decision.RecentChange, now time.Time, t *telemetry.Trace) *decision.RecentChange {
	if n == nil || n != before {
		return n
	}
	if n.Over(now) {
		return nil
	}
	if n.Told.IsZero() && t.Sentence.Code == codeSettled {
		told := *n // The snapshot has the other one.
		told.Told = now
		return &told
	}
	return n
}

// codeSettled is the code of the sentence of an object at rest.
const codeSettled = "settled"

// ClaimsAfter is what is known after a sync of what adopts and releases, and wants so many pods. Another size than
// before is the newer news.
func ClaimsAfter(n *decision.RecentChange, now time.Time, size int64, t *telemetry.Trace) *decision.RecentChange {
	before := n
	if n != nil && n.Size != size {
		n = nil
	}
	for _, a := range Written(t) {
		switch a.Kind {
		case decision.Adopt:
			n = sized(Claimed(n, decision.Adopted, a, now), size)
		case decision.Release:
			n = sized(Claimed(n, decision.Released, a, now), size)
		case decision.DeletePods:
			n = tooMany(n, a)
		}
	}
	return Expire(n, before, now, t)
}

// sized is the news of a claim that is new, with the size at that time.
func sized(n *decision.RecentChange, size int64) *decision.RecentChange {
	n.Size = size
	return n
}

// tooMany notes which pods were deleted because of an adoption: the first that are, before it is told.
func tooMany(n *decision.RecentChange, a *decision.Action) *decision.RecentChange {
	if n == nil || n.Kind != decision.Adopted || !n.Told.IsZero() || n.DeletedCount > 0 || len(a.Victims) == 0 {
		return n
	}
	with := *n
	with.Deleted, with.DeletedCount = a.Victims[0].Name, a.Count
	if slices.ContainsFunc(a.Victims, func(v decision.Victim) bool { return v.Name == n.Object }) {
		with.Deleted = n.Object
	}
	return &with
}

// Claimed is the news of a claim; several of one sync are one.
func Claimed(n *decision.RecentChange, kind decision.RecentChangeKind, a *decision.Action, now time.Time) *decision.RecentChange {
	if n == nil || n.Kind != kind || !n.At.Equal(now) {
		return &decision.RecentChange{Kind: kind, At: now, Object: a.Target.Name, Count: 1}
	}
	more := *n
	more.Count++
	return &more
}

// Written are the actions of a sync that the API server took.
func Written(t *telemetry.Trace) (list []*decision.Action) {
	for _, r := range t.Rounds {
		for i := range r.Outcomes { // None where nothing was carried out, and one of each action otherwise.
			if r.Outcomes[i].State == decision.Written {
				list = append(list, &r.Verdict.Actions[i])
			}
		}
	}
	return list
}
