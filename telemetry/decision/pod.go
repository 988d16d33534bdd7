package decision

import "time"

// Pod is an active pod that is not available, and why, as kubelet and scheduler
// write it into its status.
type Pod struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Phase   string    `json:"phase,omitempty"`
	// Node is empty while it is not scheduled.
	Node  string `json:"node,omitempty"`
	Ready bool   `json:"ready,omitempty"`
	// ReadySince is set with Ready; available from ReadySince + minReadySeconds.
	ReadySince time.Time `json:"readySince,omitzero"`
	// Reason and Message say what it waits for: the container's waiting reason
	// (ImagePullBackOff), Unschedulable, or ContainersNotReady.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Image is the image of the container that waits.
	Image    string    `json:"image,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Restarts int64     `json:"restarts,omitempty"`
	ContainerState
	// Nominated is the node on which the scheduler makes room for it by preemption.
	Nominated string `json:"nominated,omitempty"`
	// Scheduler is set where a scheduler of its own is to choose its node, and has said nothing of it.
	Scheduler string `json:"scheduler,omitempty"`
	// ResourceClaim is set where no scheduler has said anything of it, and it needs devices: "ResourceClaim NAME", or
	// "ResourceClaimTemplate NAME" where no claim has been made from the template for it.
	ResourceClaim string `json:"resourceClaim,omitempty"`
	// NodeNamed is set where no scheduler chose its node, as it was created with one.
	NodeNamed bool `json:"nodeNamed,omitempty"`
	// Like counts further pods that wait for the same, where so many do that not all are described.
	Like int64 `json:"like,omitempty"`
}

// ContainerState is the container for which a pod waits. The zero value says that
// it waits for none, or that none is known.
type ContainerState struct {
	Container string `json:"container,omitempty"`
	// Role is one of the roles; "" for an ordinary container.
	Role Role `json:"role,omitempty"`
	// Probe is the probe that the running container has not passed: "startup",
	// "readiness", or "" where none is known.
	Probe string `json:"probe,omitempty"`
	// Running is since when it runs; zero while it does not.
	Running time.Time `json:"running,omitzero"`
	// Exit is how its last run ended; nil where it has not ended.
	Exit *Exit `json:"exit,omitempty"`
	// NotSetUp is set where the kubelet has not set up the pod's volumes and network yet, so
	// that none of its containers can be created.
	NotSetUp bool `json:"notSetUp,omitempty"`
	// Also is another container of the pod that fails, the first of them; "" for none. AlsoRunning is
	// since when it runs again, zero while it does not.
	Also        string    `json:"also,omitempty"`
	AlsoRunning time.Time `json:"alsoRunning,omitzero"`
}

// Role is what a container is for.
type Role string

// The roles of containers that are not ordinary ones.
const (
	RoleInit    Role = "init"
	RoleSidecar Role = "sidecar"
)

// Exit is how a container's run ended.
type Exit struct {
	Code   int64 `json:"code"`
	Signal int64 `json:"signal,omitempty"`
	// Reason is the runtime's word: Error, OOMKilled, Completed, StartError.
	Reason string `json:"reason,omitempty"`
	// Message is the runtime's, of a container that could not be started. What a
	// program itself leaves as its last words is never recorded.
	Message string `json:"message,omitempty"`
	// Restarts is how often the container was started again.
	Restarts int64     `json:"restarts,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

// MaxTerminatingPods bounds those that a snapshot describes of one owner.
const MaxTerminatingPods = 10

// TerminatingPod is a pod that was deleted and is not gone.
type TerminatingPod struct {
	Name string `json:"name"`
	// Until is when its grace period ends.
	Until time.Time `json:"until"`
	Node  string    `json:"node,omitempty"`
	// Finalizers hold it even when its containers have ended.
	Finalizers []string `json:"finalizers,omitempty"`
	// NodeGone is set where its node does not answer, so that nobody can say that
	// its containers have ended.
	NodeGone bool `json:"nodeGone,omitempty"`
}

// Deletion is what keeps an object that is being deleted.
type Deletion struct {
	Since time.Time `json:"since"`
	// Finalizers are its own; those of the garbage collector have no slash.
	Finalizers []string `json:"finalizers,omitempty"`
	// Blocking counts what it owns, of the kind that its loop looks at, for which the garbage
	// collector waits in a foreground deletion: their reference to it has blockOwnerDeletion.
	Blocking int64 `json:"blocking,omitempty"`
}

// FactBlocking is the name of the fact that a sentence counts what is waited for with.
const FactBlocking = "blocking"

// Disruption is how a pod was ended by the cluster and by no loop: evicted,
// preempted, or rejected by a kubelet.
type Disruption struct {
	// Target is the reason of its condition DisruptionTarget, "" where it has none.
	Target string `json:"target,omitempty"`
	// Reason is that of its status, where it has failed: "Evicted", "OutOfcpu".
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// LostPods are pods that do not match the selector of the object that they were just made for.
type LostPods struct {
	Count int64 `json:"count"`
	// Label is the first label of the selector that the first of them lacks, "" where it is not known.
	Label string `json:"label,omitempty"`
}

// DisruptedPod is a pod that the cluster ended.
type DisruptedPod struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Node    string    `json:"node,omitempty"`
	Disruption
}
