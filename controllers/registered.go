package controllers

import (
	"slices"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/engine"
	replicasets "github.com/loopscope/loopscope/controllers/replicaset/effects"
	rollingupdates "github.com/loopscope/loopscope/controllers/rollingupdate/effects"
	"github.com/loopscope/loopscope/telemetry"
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

// Rights are what all of them together ask of the API server.
func Rights() engine.Rights {
	all := []engine.Rights{engine.CommonRights()}
	for _, r := range Registered {
		all = append(all, r.Rights)
	}
	return engine.MergeRights(all...)
}

// Explained are the loops whose objects can be read from a cluster and explained.
var Explained = slices.DeleteFunc(slices.Clone(Registered), func(r engine.Registration) bool { return r.Explain == nil })

// Gates are the features that any of the loops needs.
func Gates() []engine.Gate {
	var all []engine.Gate
	for _, r := range Registered {
		for _, g := range r.Gates {
			if !slices.Contains(all, g) {
				all = append(all, g)
			}
		}
	}
	return all
}

// Off is why a loop does not run where a list as that of --controllers and the switched features
// are these; nil where it runs. The first item of the list that names its controller decides, and
// where none does, whether "*" is in the list and takes it. Then every gate of it has to be on ([M-1]).
func Off(r *engine.Registration, list []string, features map[string]bool) *telemetry.Off {
	named := slices.IndexFunc(list, func(item string) bool { return item == r.Controller || item == "-"+r.Controller })
	switch all := slices.Contains(list, "*"); {
	case named >= 0 && list[named] != r.Controller, named < 0 && !all:
		return &telemetry.Off{}
	case named < 0 && r.OffByDefault:
		return &telemetry.Off{ByDefault: true}
	}
	for _, g := range r.Gates {
		if on, switched := features[g.Name]; switched && !on || !switched && !g.On {
			return &telemetry.Off{Gate: g.Name}
		}
	}
	return nil
}
