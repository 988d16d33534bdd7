package app

import (
	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Loops are what is known of the loops of this program.
func Loops() decision.Loops { return controllers.Loops }

// Controller is a loop as it is switched on and off.
type Controller struct {
	// Name is its name for Options.Controllers, Alias the one that it also answers to there.
	Name, Alias string
	// Kind is what its objects are.
	Kind string
	// SyncsFlag is the flag, and Syncs the default, of how many syncs it runs at once.
	SyncsFlag string
	Syncs     int
}

// Controllers are the loops of this program by name, in the order in which they are built.
func Controllers() []Controller {
	list := make([]Controller, len(controllers.Registered))
	for i, r := range controllers.Registered {
		list[i] = Controller{Name: r.Controller, Alias: r.Loop.Name, Kind: r.Loop.Kind, SyncsFlag: r.SyncsFlag, Syncs: r.Workers}
	}
	return list
}
