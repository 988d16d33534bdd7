package controllers

import (
	"slices"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/engine"
	replicasets "github.com/loopscope/loopscope/controllers/replicaset/effects"
	rollingupdates "github.com/loopscope/loopscope/controllers/rollingupdate/effects"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Registered are the loops of this program: a new one is its own rooms and a line here. They
// are built in this order.
var Registered = []engine.Registration{deployments.Registered, replicasets.Registered, replicasets.RegisteredControllers, rollingupdates.Registered}

// Loops are how those loops are kept and shown.
var Loops = func() decision.Loops {
	var list decision.Loops
	for _, r := range Registered {
		list = append(list, r.Loop)
	}
	return list
}()

// Explained are the loops whose objects can be read from a cluster and explained.
var Explained = slices.DeleteFunc(slices.Clone(Registered), func(r engine.Registration) bool { return r.Explain == nil })

// Enabled reports whether a list as that of --controllers switches a controller on: the
// first item that names it decides, and where none does, whether "*" is in the list ([M-1]).
func Enabled(controller string, list []string) bool {
	for _, item := range list {
		switch item {
		case controller:
			return true
		case "-" + controller:
			return false
		}
	}
	return slices.Contains(list, "*")
}
