package family

// Kinds, as they stand in owner references, causes and refs.
const (
	KindDeployment            = "Deployment"
	KindReplicaSet            = "ReplicaSet"
	KindReplicationController = "ReplicationController"
	KindPod                   = "Pod"
)

// Resources, as the ledger and the debug pages call them.
const (
	ResourceDeployments            = "deployments"
	ResourceReplicaSets            = "replicasets"
	ResourceReplicationControllers = "replicationcontrollers"
	ResourcePods                   = "pods"
)

// ToInt32 is nil for nil.
func ToInt32(n *int64) *int32 {
	if n == nil {
		return nil
	}
	v := int32(*n)
	return &v
}

// DefaultToOne is a size, and 1 where none is given.
func DefaultToOne(n *int32) int32 {
	if n == nil {
		return 1 // The API server's default; only an object that passed it by lacks it.
	}
	return *n
}

// ToInt is nil for nil.
func ToInt(n *int32) *int64 {
	if n == nil {
		return nil
	}
	w := int64(*n)
	return &w
}
