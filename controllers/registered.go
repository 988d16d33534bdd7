package controllers

import (
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Loops are the loops of this program: a new one is its own package and a line here.
var Loops = decision.Loops{deployment.Loop, replicaset.Loop, replicaset.ControllerLoop}
