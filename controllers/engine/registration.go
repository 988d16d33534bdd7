package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// DefaultWorkers is how many syncs a loop runs at once where nothing else is said.
const DefaultWorkers = 5

// Needs is what a program gives every loop to build itself on.
type Needs struct {
	// Informers are shared by all loops. A constructor adds indexes and handlers, and starts
	// none.
	Informers informers.SharedInformerFactory
	// Client is the loop's own, with its own rate limit.
	Client  kubernetes.Interface
	Options Options
}

// Gate is a feature that a program switches on or off.
type Gate struct {
	// Name is what it is called where it is switched.
	Name string
	// On is whether it is on unless somebody switches it: such a feature is beta, and alpha otherwise.
	On bool
	// Since is the minor release of the API server from which it is on; 0 for all.
	Since int
}

// Registration is a loop as a program runs it, so that the program names none. A loop's room
// has one, and package controllers lists them.
type Registration struct {
	// Loop is how its syncs are kept and shown.
	Loop decision.Loop
	// Resource is what its objects are in the API.
	Resource schema.GroupVersionResource
	// Kind is what the API calls them where the loop has another word for them; "" for Loop.Kind.
	Kind string
	// Controller is its name as a controller, as kube-controller-manager has it; the loop's own
	// name is an alias ([M-1]).
	Controller string
	// SyncsFlag is the flag of the manager that says how many syncs it runs at once, without
	// its dashes.
	SyncsFlag string
	// Gates are the features that all have to be on for it to run; nil for none ([M-1]).
	Gates []Gate
	// OffByDefault is whether it only runs where a list names it ([M-1]).
	OffByDefault bool
	// Settings are what its parts are called. Component is the name of its client, too.
	Settings Settings
	// Workers is how many syncs it runs at once unless the program was told otherwise.
	Workers int
	// Rights are what it asks of the API server beside CommonRights.
	Rights Rights
	// New builds the loop and starts nothing.
	New func(context.Context, Needs) (*Loop, error)
	// Explain reads one object from a cluster and decides once, without informers and without
	// writing; nil where the loop cannot.
	Explain func(ctx context.Context, client kubernetes.Interface, namespace, name string, opts Options) (*telemetry.Trace, error)
}
