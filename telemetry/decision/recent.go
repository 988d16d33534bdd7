package decision

import "time"

// RecentChangeKind says what happened.
type RecentChangeKind string

// The kinds of recent changes.
const (
	// ScaledBack: a ReplicaSet was scaled past its Deployment, which took that back.
	ScaledBack RecentChangeKind = "scaled-back"
	// WentBack: a Deployment was given the template of an earlier revision.
	WentBack RecentChangeKind = "went-back"
	// Adopted and Released: children came to match the selector, or no longer did.
	Adopted  RecentChangeKind = "adopted"
	Released RecentChangeKind = "released"
)

const (
	// recentFor is for how long a sentence tells a recent change.
	recentFor = time.Minute
	// recentPendingFor is for how long a change waits for its object to be settled.
	recentPendingFor = time.Hour
)

// RecentChange is what others did to an object and its loop has dealt with. The sentence
// has a clause about it once the object is settled again. Nothing is decided on it.
type RecentChange struct {
	Kind RecentChangeKind `json:"kind"`
	// At is when a sync dealt with it.
	At time.Time `json:"at"`
	// Told is when a sync first found the object settled after that; zero before.
	Told time.Time `json:"told,omitzero"`
	// By is who did it, "" where nobody knows.
	By string `json:"by,omitempty"`
	// Object is the name of the child that it is about, the first of Count.
	Object string `json:"object,omitempty"`
	Count  int64  `json:"count,omitempty"`
	// From and To are the size that the ReplicaSet was given and the one that it got
	// back, or the revision before and the one whose template came back; Became is the
	// revision that this template has now.
	From   int64 `json:"from,omitempty"`
	To     int64 `json:"to,omitempty"`
	Became int64 `json:"became,omitempty"`
	// Size is how many pods its object wanted where it adopted or released some, and Deleted one of the DeletedCount
	// that were too many after an adoption: Object itself, if that was one of them.
	Size         int64  `json:"size,omitempty"`
	Deleted      string `json:"deleted,omitempty"`
	DeletedCount int64  `json:"deletedCount,omitempty"`
	// Pods is how many a ReplicaSet had when its Deployment released it.
	Pods int64 `json:"pods,omitempty"`
}

// Until is when its clause ends: a minute after it was first told, or else after the
// object was settled.
func (n *RecentChange) Until(settled time.Time) time.Time {
	from := n.Told
	if from.IsZero() {
		from = n.At
		if settled.After(from) {
			from = settled
		}
	}
	return from.Add(recentFor)
}

// Over reports whether it is no longer told, whatever the object does.
func (n *RecentChange) Over(now time.Time) bool {
	if n.Told.IsZero() {
		return now.Sub(n.At) > recentPendingFor
	}
	return now.Sub(n.Told) > recentFor
}

// The names of the facts that the clauses count with.
const (
	FactRecentFrom   = "news.from"
	FactRecentTo     = "news.to"
	FactRecentBecame = "news.became"
	FactRecentOthers = "news.others"
	// FactRecentDeletedOthers counts those that were too many, besides the one that is named.
	FactRecentDeletedOthers = "news.deletedOthers"
	FactRecentPods          = "news.pods"
)

// Facts are the numbers of the change; none where there is none.
func (n *RecentChange) Facts() []Fact {
	if n == nil {
		return nil
	}
	facts := []Fact{Count(FactRecentFrom, n.From), Count(FactRecentTo, n.To), Count(FactRecentBecame, n.Became), Count(FactRecentOthers, n.Others())}
	if more := n.DeletedCount - 1; more > 0 {
		facts = append(facts, Count(FactRecentDeletedOthers, more))
	}
	if n.Pods > 0 {
		facts = append(facts, Count(FactRecentPods, n.Pods))
	}
	return facts
}

// Others is how many children it is about besides the one that is named.
func (n *RecentChange) Others() int64 { return max(0, n.Count-1) }
