package otlp

import "github.com/loopscope/loopscope/telemetry/decision"

var testLoops = decision.Loops{{Name: "deployment", Kind: "Deployment"}, {Name: "replicaset", Kind: "ReplicaSet", Owner: "deployment"}}
