package replicaset

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// SnapshotVersion is written into every snapshot. A reader refuses a newer one.
const SnapshotVersion = 1

// Snapshot is everything a ReplicaSet's (or ReplicationController's) sync
// decides on. It is immutable and canonically ordered (pods by name), so that
// the same cluster gives the same bytes.
type Snapshot struct {
	Version int       `json:"v"`
	Now     time.Time `json:"now"`
	// Kind is "ReplicaSet" or "ReplicationController".
	Kind string `json:"kind"`

	// Echo is our own writes that the caches do not show yet ([RS-1]).
	Echo  []Echo `json:"echo,omitempty"`
	Found bool   `json:"found"`

	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
	RV         string `json:"rv,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	Deleting   bool   `json:"deleting,omitempty"`
	// Owner is the Deployment that controls it, "" for none.
	Owner         string   `json:"owner,omitempty"`
	Selector      string   `json:"selector,omitempty"`
	SelectorError string   `json:"selectorError,omitempty"`
	Want          int64    `json:"want"`
	MinReady      int64    `json:"minReadySeconds,omitempty"`
	Images        []string `json:"images,omitempty"`
	// Burst bounds creations and deletions of one sync (upstream: 500).
	Burst int64 `json:"burst"`

	Status Status `json:"status"`
	// Held is since when this process holds a change of the status back; zero if it does not.
	Held time.Time `json:"held,omitzero"`
	// Lag is how long keys waited in the queues lately, before they were synced.
	Lag time.Duration `json:"lag,omitempty"`

	// Expect is the creations and deletions not seen yet, read before the pods were listed ([RS-3]).
	Expect Expectations `json:"expect"`
	// Pods are its own pods and the orphans that match, in any phase.
	Pods []Pod `json:"pods,omitempty"`
	// Siblings is the number of active pods of all ReplicaSets of the same
	// owner on a node, by node name ([P-7]). Nil where there is no owner.
	Siblings map[string]int64 `json:"siblings,omitempty"`

	// CountTerminating and DeletionCost are the switches, read live.
	CountTerminating bool            `json:"countTerminating,omitempty"`
	DeletionCost     bool            `json:"deletionCost,omitempty"`
	Learnt           decision.Learnt `json:"learnt,omitzero"`
	LiveReads        []string        `json:"liveReads,omitempty"`
	// Recent is the pods that it lately adopted or released, as far as this process has
	// seen; nil for nothing. Nothing is decided on it.
	Recent *decision.RecentChange `json:"news,omitempty"`
	// Deletion is what keeps it while it is being deleted, nil where it is not, and in older recordings.
	// TerminatingPods describes the first of its terminating pods then, and where it has no others: at most
	// decision.MaxTerminatingPods, of those that have ended and of those that have not. Nothing is decided on them.
	Deletion        *decision.Deletion        `json:"deletion,omitempty"`
	TerminatingPods []decision.TerminatingPod `json:"leaving,omitempty"`
	// Controlled is set where something other than a Deployment controls it. Nothing is decided on it.
	Controlled bool `json:"controlled,omitempty"`
	// Lost are pods that it has made lately and that do not match its selector; nil for none. Nothing is
	// decided on them.
	Lost *decision.LostPods `json:"lost,omitempty"`
}

// Echo is a write of ours that its cache does not show yet.
type Echo struct {
	Object  string    `json:"object"`
	Written string    `json:"written"`
	Cached  string    `json:"cached"`
	Since   time.Time `json:"since"`
	Check   time.Time `json:"check"`
}

// Expectations is what we asked for and have not seen.
type Expectations struct {
	Creates int64     `json:"creates,omitempty"`
	Deletes int64     `json:"deletes,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// Expires is when they stop blocking (5 minutes after Since).
	Expires time.Time `json:"expires,omitzero"`
}

// Status is a ReplicaSet's status.
type Status struct {
	ObservedGeneration int64                `json:"observedGeneration"`
	Replicas           int64                `json:"replicas"`
	FullyLabeled       int64                `json:"fullyLabeled"`
	Ready              int64                `json:"ready"`
	Available          int64                `json:"available"`
	Terminating        *int64               `json:"terminating,omitempty"`
	Conditions         []decision.Condition `json:"conditions,omitempty"`
}

// Pod is one candidate child.
type Pod struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	RV   string `json:"rv"`
	// Mine is set when the ReplicaSet is its controller; otherwise it has none.
	Mine        bool      `json:"mine"`
	Matches     bool      `json:"matches"`
	FullLabels  bool      `json:"fullLabels,omitempty"`
	Created     time.Time `json:"created"`
	Phase       string    `json:"phase"`
	Terminating bool      `json:"terminating,omitempty"`
	// Expected is set when this process deleted it and has not seen that yet.
	Expected   bool      `json:"expectedGone,omitempty"`
	Node       string    `json:"node,omitempty"`
	Ready      bool      `json:"ready,omitempty"`
	ReadySince time.Time `json:"readySince,omitzero"`
	// Cost is the pod-deletion-cost annotation, 0 if absent or invalid.
	Cost int64 `json:"cost,omitempty"`
	// Restarts is the highest restart count of a regular container,
	// SidecarRestarts that of a sidecar.
	Restarts        int64     `json:"restarts,omitempty"`
	SidecarRestarts int64     `json:"sidecarRestarts,omitempty"`
	Reason          string    `json:"reason,omitempty"`
	Message         string    `json:"message,omitempty"`
	Image           string    `json:"image,omitempty"`
	Since           time.Time `json:"since,omitzero"`
	// Disruption is how the cluster ended it, lately (diagnosis.Lately); nil where it
	// did not. Nothing is decided on it.
	Disruption *decision.Disruption `json:"disruption,omitempty"`
	decision.ContainerState
	// Nominated is the node on which the scheduler makes room for it by preemption.
	Nominated string `json:"nominated,omitempty"`
	// Scheduler is set where a scheduler of its own is to choose its node, and has said nothing of it.
	Scheduler string `json:"scheduler,omitempty"`
	// ResourceClaim is set where no scheduler has said anything of it, and it needs devices, as in decision.Pod.
	ResourceClaim string `json:"resourceClaim,omitempty"`
	// NodeNamed is set where no scheduler chose its node, as in decision.Pod.
	NodeNamed bool `json:"nodeNamed,omitempty"`
}

// Report is what settle returns.
type Report struct {
	decision.Report
	Status Status `json:"status"`
}
