package deployment

import (
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// SnapshotVersion is written into every snapshot. A reader refuses a newer one.
const SnapshotVersion = 1

// Snapshot is everything a Deployment's sync decides on, and nothing else: no
// annotation, env or argument value but the loop's own ones. It is immutable
// and canonically ordered (ReplicaSets by creation time, then name; pods by
// name), so that the same cluster gives the same bytes.
type Snapshot struct {
	Version int       `json:"v"`
	Now     time.Time `json:"now"`

	// Echo is our own writes that the caches do not show yet. While there are
	// any, nothing is decided ([L-1] of the console).
	Echo []Echo `json:"echo,omitempty"`
	// Found is false where the cache holds no such Deployment ([D-1]).
	Found bool `json:"found"`

	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        string    `json:"uid,omitempty"`
	RV         string    `json:"rv,omitempty"`
	Created    time.Time `json:"created,omitzero"`
	Generation int64     `json:"generation,omitempty"`
	Deleting   bool      `json:"deleting,omitempty"`
	Selector   string    `json:"selector,omitempty"`
	// SelectsAll is a present but empty selector ([D-3]).
	SelectsAll bool `json:"selectsAll,omitempty"`
	// SelectorError is why the selector cannot be read; "" if it can.
	SelectorError string `json:"selectorError,omitempty"`

	Paused         bool          `json:"paused,omitempty"`
	Want           int64         `json:"want"`
	Strategy       string        `json:"strategy,omitempty"`
	MaxSurge       *IntOrPercent `json:"maxSurge,omitempty"`
	MaxUnavailable *IntOrPercent `json:"maxUnavailable,omitempty"`
	MinReady       int64         `json:"minReadySeconds,omitempty"`
	// Deadline is progressDeadlineSeconds; nil for none (absent or MaxInt32).
	Deadline *int64 `json:"progressDeadlineSeconds,omitempty"`
	// HistoryLimit is revisionHistoryLimit; nil for none (absent or MaxInt32).
	HistoryLimit *int64 `json:"revisionHistoryLimit,omitempty"`

	// Revision is the Deployment's own revision annotation.
	Revision string `json:"revision,omitempty"`
	// RollbackTo is the deprecated rollback annotation.
	RollbackTo string `json:"rollbackTo,omitempty"`
	// Images are the images of the pod template.
	Images []string `json:"images,omitempty"`
	// Changed is what the newest revision changed of the template of the one
	// before; nil where there is only one. Nothing is decided on it.
	Changed *TemplateChange `json:"changed,omitempty"`

	// NextHash and NextName are what a ReplicaSet for this template would be
	// called, for the current collision count ([N-2]).
	NextHash string `json:"nextHash,omitempty"`
	NextName string `json:"nextName,omitempty"`
	// CollisionHash and CollisionName are the same for one collision more.
	CollisionHash string `json:"collisionHash,omitempty"`
	CollisionName string `json:"collisionName,omitempty"`

	// Status is the status in the cache: the last that was published.
	Status Status `json:"status"`
	// Held is since when this process holds a change of the status back; zero if it does not.
	Held time.Time `json:"held,omitzero"`
	// Lag is how long keys waited in the queues lately, before they were synced.
	Lag time.Duration `json:"lag,omitempty"`
	// NamespaceTerminating is since when it is known that the namespace is being deleted;
	// zero if it is not known. Nothing is decided on it.
	NamespaceTerminating time.Time `json:"namespaceEnding,omitzero"`
	// Recent is what others did to it lately, as far as this process has seen; nil for
	// nothing. Nothing is decided on it.
	Recent *decision.RecentChange `json:"news,omitempty"`
	// Arrived are objects that its pods lacked, and that were created since ("ConfigMap
	// app"). Nothing is decided on it.
	Arrived []string `json:"arrived,omitempty"`
	// ReplicaSets are those that are ours by controller reference, and those
	// that match the selector and have no controller.
	ReplicaSets []ReplicaSet `json:"replicaSets,omitempty"`

	// CountTerminating is the switch DeploymentReplicaSetTerminatingReplicas, read live.
	CountTerminating bool `json:"countTerminating,omitempty"`
	// Learnt is in recordings of versions before: what a sync learns stands in its rounds.
	Learnt decision.Learnt `json:"learnt,omitzero"`
	// LiveReads are the live reads done because an outcome was unknown.
	LiveReads []string `json:"liveReads,omitempty"`
	// LastProgress is when a size, readiness or availability last changed, as
	// far as this process has seen; zero if it has not.
	LastProgress time.Time `json:"lastProgress,omitzero"`
	// SizeEventsBefore132 has the events of sizes read as those of releases before v1.32 ([C-3], [EV-1]).
	SizeEventsBefore132 bool `json:"sizeEventsBefore132,omitempty"`
	// Deletion is what keeps it while it is being deleted; nil where it is not, and in older
	// recordings. Nothing is decided on it.
	Deletion *decision.Deletion `json:"deletion,omitempty"`
	// Mutated is how its own ReplicaSet of the next name differs from the template, which is the
	// one that it was created with; nil where there is no such ReplicaSet. Nothing is decided on it.
	Mutated *TemplateChange `json:"mutated,omitempty"`
	// Contest is a field that others change again and again, as far as this process has seen; nil for
	// none. Nothing is decided on it.
	Contest *Contest `json:"contest,omitempty"`
}

// Echo is a write of ours that its cache does not show yet.
type Echo struct {
	Object  string    `json:"object"` // "Deployment web", "ReplicaSet web-7d4b9c6f5x"
	Written string    `json:"written"`
	Cached  string    `json:"cached"`
	Since   time.Time `json:"since"`
	// Check is when to look again if no event comes.
	Check time.Time `json:"check"`
}

// IntOrPercent is an absolute number or a percentage as it stands in the spec.
type IntOrPercent struct {
	Int     int64  `json:"int,omitempty"`
	Percent string `json:"share,omitempty"` // "25%"; wins over Int when not empty
}

// Status is a Deployment's status.
type Status struct {
	ObservedGeneration int64                `json:"observedGeneration"`
	Replicas           int64                `json:"replicas"`
	Updated            int64                `json:"updated"`
	Ready              int64                `json:"ready"`
	Available          int64                `json:"available"`
	Unavailable        int64                `json:"unavailable"`
	Terminating        *int64               `json:"terminating,omitempty"`
	Collisions         *int64               `json:"collisions,omitempty"`
	Conditions         []decision.Condition `json:"conditions,omitempty"`
}

// ReplicaSet is one candidate child.
type ReplicaSet struct {
	Name    string    `json:"name"`
	UID     string    `json:"uid"`
	RV      string    `json:"rv"`
	Created time.Time `json:"created"`
	// Mine is set when this Deployment is its controller; otherwise it has no controller.
	Mine bool `json:"mine"`
	// Matches is whether its labels match the Deployment's selector.
	Matches  bool `json:"matches"`
	Deleting bool `json:"deleting,omitempty"`
	// SameTemplate is semantic equality with the Deployment's template, the hash label aside.
	SameTemplate bool `json:"sameTemplate,omitempty"`
	// CopyStale is set when an annotation of the Deployment would have to be copied ([G-1]).
	CopyStale bool `json:"copyStale,omitempty"`
	// NotKept is what the API server did not keep of the last write of annotations and minReadySeconds, while
	// the Deployment asks for the same; nil for nothing. It is not written again.
	NotKept *decision.Unkept `json:"notKept,omitempty"`

	Replicas int64 `json:"replicas"`
	// Least is the least size that it had since the one that its status shows,
	// where that is less than the present one.
	Least              *int64 `json:"least,omitempty"`
	MinReady           int64  `json:"minReadySeconds,omitempty"`
	Generation         int64  `json:"generation,omitempty"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`

	StatusReplicas int64  `json:"statusReplicas"`
	Ready          int64  `json:"ready"`
	Available      int64  `json:"available"`
	Terminating    *int64 `json:"terminating,omitempty"`
	// Failure is its ReplicaFailure condition.
	Failure *decision.Condition `json:"failure,omitempty"`

	// Revision, History, Desired and Max are its annotations as they stand.
	Revision string   `json:"revision,omitempty"`
	History  string   `json:"history,omitempty"`
	Desired  string   `json:"desired,omitempty"`
	Max      string   `json:"max,omitempty"`
	Images   []string `json:"images,omitempty"`
	// EmptyRevision is set where the revision annotation is there and empty, which is no number.
	EmptyRevision bool `json:"emptyRevision,omitempty"`

	// NonTerminal counts its pods in any phase but Succeeded and Failed,
	// terminating ones included ([RC-3]).
	NonTerminal int64 `json:"nonTerminal,omitempty"`
	// Unavailable counts its active pods that are not available, and Blocking
	// describes MaxBlocking of them; some of these count others that wait for the same.
	Unavailable int64 `json:"unavailable,omitempty"`
	Blocking    []Pod `json:"blocking,omitempty"`
	// TerminatingNow counts its terminating pods, and TerminatingPods describes the first
	// decision.MaxTerminatingPods of them.
	TerminatingNow  int64                     `json:"ending,omitempty"`
	TerminatingPods []decision.TerminatingPod `json:"leaving,omitempty"`
	// TerminatingEnded counts its deleted pods that have ended and are not gone, which NonTerminal and TerminatingNow do
	// not count, and TerminatingEndedPods describes them in the same way. Nothing is decided on them.
	TerminatingEnded     int64                     `json:"endingEnded,omitempty"`
	TerminatingEndedPods []decision.TerminatingPod `json:"leavingEnded,omitempty"`
	// Disrupted are the newest MaxDisrupted of its pods that the cluster ended
	// lately (diagnosis.Lately), the last first. Nothing is decided on it.
	Disrupted []decision.DisruptedPod `json:"disrupted,omitempty"`
	// Startup is how long its ready pods took; nil where none is ready. Nothing is
	// decided on it.
	Startup *StartupTimes `json:"came,omitempty"`
	// Deletion is what keeps it while it is being deleted, as that of the Deployment.
	Deletion *decision.Deletion `json:"deletion,omitempty"`
	// Lost are pods that it has made lately and that do not match its selector; nil for none. Nothing is
	// decided on them.
	Lost *decision.LostPods `json:"lost,omitempty"`
}

// TemplateChange is what differs between the templates of two revisions. Images,
// numbers and quantities have their values; of everything else only the path is
// known, as of any template.
type TemplateChange struct {
	From string `json:"from"` // a revision
	To   string `json:"to"`
	// Fields are the first MaxChanged paths, images first, without "spec.template.".
	Fields []decision.Change `json:"fields,omitempty"`
	More   int64             `json:"more,omitempty"`
}

// MaxChanged bounds the paths that a snapshot names of one change of a template.
const MaxChanged = 12

// StartupTimes is how long pods took from their creation until they were ready. Pods
// whose containers were started again do not count: they got ready for a second
// time.
type StartupTimes struct {
	Pods    int64         `json:"pods"`
	Fastest time.Duration `json:"fastest"`
	Slowest time.Duration `json:"slowest"`
}

// Add counts one more pod.
func (c *StartupTimes) Add(took time.Duration) {
	took = max(0, took)
	if c.Pods == 0 || took < c.Fastest {
		c.Fastest = took
	}
	c.Slowest = max(c.Slowest, took)
	c.Pods++
}

// MaxBlocking, decision.MaxTerminatingPods and MaxDisrupted bound the pods of a ReplicaSet that a
// snapshot describes one by one.
const (
	MaxBlocking  = 50
	MaxDisrupted = 20
)

// Pod is an active pod that is not available, and why.
type Pod = decision.Pod

// Blocked notes its pods that are not available, as of now: of any number of them it describes MaxBlocking.
func (rs *ReplicaSet) Blocked(pods []Pod, now time.Time) {
	slices.SortFunc(pods, func(a, b Pod) int { return strings.Compare(a.Name, b.Name) })
	rs.Unavailable, rs.Blocking = int64(len(pods)), diagnosis.Pods{Now: now}.Sample(pods, MaxBlocking)
}

// Report is what settle returns: the generic part for the record, and the
// status and annotation to publish in one status write.
type Report struct {
	decision.Report
	Status Status `json:"status"`
	// Revision is the revision annotation to publish with the status; "" leaves it.
	Revision string `json:"revision,omitempty"`
}
