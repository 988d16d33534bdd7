package controllers

import (
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
)

// deploymentSnapshot is a snapshot that is written as encoding/json writes it, in a
// third of the time: every sync records one. The code for it is generated, and
// stands here so that what decides knows nothing of it.
//
//easyjson:json
type deploymentSnapshot deployment.Snapshot

// replicaSetSnapshot is the same of a ReplicaSet or ReplicationController.
//
//easyjson:json
type replicaSetSnapshot replicaset.Snapshot
