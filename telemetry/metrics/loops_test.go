package metrics

import "github.com/loopscope/loopscope/telemetry/decision"

// testLoops are those that have series from the start.
var testLoops = decision.Loops{{Name: "deployment"}, {Name: "replicaset"}, {Name: "replicationcontroller"}}
