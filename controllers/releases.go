package controllers

import (
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// ReleaseRules are what the releases from decision.FirstRelease on do otherwise than
// decision.LastRelease, the latest first ([C-3]).
var ReleaseRules = []decision.ReleaseRule{
	{Since: 36, Tag: "RS-1", Before: "A ReplicaSet is decided on before the cache shows the last write of its status or of its pods."},
	{Since: 36, Tag: "RC-1", Before: "Old pods are those that match the selector of the Deployment; others that its ReplicaSets own are not waited for."},
	{Since: 36, Tag: "N-2", Before: "The hash of a template is another one, as it covers every field that a release knows. So nobody can foretell what kube-controller-manager calls the ReplicaSets that it creates."},
	{Since: engine.ReleaseTerminating, Tag: "ST-5", Before: "A Deployment has no number of terminating pods in its status. v1.33 and v1.34 have it if the feature `" + engine.FeatureTerminating + "` is switched on.", Followed: true, Feature: engine.FeatureTerminating},
	{Since: engine.ReleaseTerminating, Tag: "RS-7", Before: "A ReplicaSet has no number of terminating pods in its status. v1.33 and v1.34 have it if the feature `" + engine.FeatureTerminating + "` is switched on.", Followed: true, Feature: engine.FeatureTerminating},
	{Since: 34, Tag: "N-3", Before: "The name of a Deployment is not shortened: if it is too long for the hash to fit behind it, its ReplicaSets cannot be created."},
	{Since: 34, Tag: "RS-11", Before: "A pod that is ready counts as available up to a second later than `minReadySeconds` says."},
	{Since: engine.ReleaseSidecars, Tag: "P-5", Before: "Restarts of sidecars do not count.", Followed: true},
	{Since: 32, Tag: "S-3", Before: "An annotation `deployment.kubernetes.io/max-replicas` that is 0 or negative is calculated with as it is."},
	{Since: engine.ReleaseSizeEvents, Tag: "EV-1", Before: "The event says `Scaled up replica set X to B from A`, and of a new one `to N`.", Followed: true},
}
