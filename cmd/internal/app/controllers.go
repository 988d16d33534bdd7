package app

import (
	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Loops are what is known of the loops of this program.
func Loops() decision.Loops { return controllers.Loops }

// Recorded are the loops of which this program keeps syncs: beside its own ones the election and a
// watcher's comparison, whose syncs are shown and cannot be decided again.
func Recorded() decision.Loops {
	return controllers.Loops.With(decision.Loops{leadership.Loop, telemetry.Comparison(controllers.Loops)})
}

// Controller is a loop as it is switched on and off.
type Controller struct {
	// Name is its name for Options.Controllers, Alias the one that it also answers to there.
	Name, Alias string
	// Kind is what its objects are.
	Kind string
	// SyncsFlag is the flag, and Syncs the default, of how many syncs it runs at once.
	SyncsFlag string
	Syncs     int
	// Gates are the features without which it does not run.
	Gates []string
	// OffByDefault is whether it only runs where Options.Controllers names it.
	OffByDefault bool
}

// Feature is something that Options.Features switches.
type Feature struct {
	Name string
	// On is whether it is on by default.
	On bool
	// Since is the minor release of the API server from which it is; 0 for all.
	Since int
	// Follows is whether it does not switch a controller but a rule, as Kubernetes has it.
	Follows bool
}

// Features are those of this program.
func Features() []Feature {
	var list []Feature
	for _, g := range controllers.Gates() {
		list = append(list, Feature{Name: g.Name, On: g.On})
	}
	for _, g := range engine.RuleGates() {
		list = append(list, Feature{Name: g.Name, On: g.On, Since: g.Since, Follows: true})
	}
	return list
}

// Controllers are the loops of this program by name, in the order in which they are built.
func Controllers() []Controller {
	list := make([]Controller, len(controllers.Registered))
	for i, r := range controllers.Registered {
		list[i] = Controller{Name: r.Controller, Alias: r.Loop.Name, Kind: r.Loop.Kind, SyncsFlag: r.SyncsFlag, Syncs: r.Workers, OffByDefault: r.OffByDefault}
		for _, g := range r.Gates {
			list[i].Gates = append(list[i].Gates, g.Name)
		}
	}
	return list
}
