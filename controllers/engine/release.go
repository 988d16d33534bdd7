package engine

import "github.com/loopscope/loopscope/telemetry"

// Features of Kubernetes that change a rule ([C-2]).
const (
	FeatureTerminating  = "DeploymentReplicaSetTerminatingReplicas"
	FeatureDeletionCost = "PodDeletionCost"
)

// Minor releases of Kubernetes since which a rule is as it is here ([C-3]).
const (
	// ReleaseTerminating: statuses have the number of terminating pods, unless somebody switches
	// FeatureTerminating off.
	ReleaseTerminating = 35
	// ReleaseSidecars: the restarts of sidecars are compared where those of containers are the same.
	ReleaseSidecars = 32
	// ReleaseSizeEvents: the event of a size says "from A to B", of a new ReplicaSet as well.
	ReleaseSizeEvents = 32
)

// RuleGates are those features. They are on unless somebody switches them off, or the API server is
// of a release before Since.
func RuleGates() []Gate {
	return []Gate{{Name: FeatureTerminating, On: true, Since: ReleaseTerminating}, {Name: FeatureDeletionCost, On: true}}
}

// Follow has the rules follow the release of the API server, which is asked for at every use, except
// for the features that somebody switched.
func (o Options) Follow(release func() telemetry.Release, switched map[string]bool) Options {
	o.Release = release
	since := map[string]int{}
	for _, g := range RuleGates() {
		since[g.Name] = g.Since
	}
	is := func(feature string) func() bool {
		if on, told := switched[feature]; told {
			return func() bool { return on }
		}
		return func() bool { return !release().Before(since[feature]) }
	}
	o.TerminatingReplicas, o.PodDeletionCost = is(FeatureTerminating), is(FeatureDeletionCost)
	return o
}
