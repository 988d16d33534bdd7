package decision

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Loop is one kind of control loop, as those know it who keep, count and show its
// syncs, or decide them again. Its package declares it, and nobody else names it.
// Only Name is required: what is not declared is not shown, and nothing else is missing.
type Loop struct {
	// Name stands in traces, addresses and labels of metrics: "deployment".
	Name string `json:"name"`
	// Kind is what its objects are: "Deployment".
	Kind string `json:"kind"`
	// Noun is what one of its objects is called in a sentence: "rolling update"; "" for the kind.
	Noun string `json:"noun,omitempty"`
	// Aliases are what kubectl takes for the kind, beside name and plural: "deploy".
	Aliases []string `json:"aliases,omitempty"`
	// Owner is the name of the loop whose objects control these; "" for none. Pages and
	// stories of those show these, too.
	Owner string `json:"owner,omitempty"`
	// ClusterScoped objects have no namespace.
	ClusterScoped bool `json:"clusterScoped,omitempty"`
	// Listed loops have all their objects in a list of the console, and are named in its header.
	// Of those that have an owner and are not, a list has the objects that no owner controls.
	Listed bool `json:"listed,omitempty"`
	// FirstSteps are commands that make something happen, for a list that is empty.
	FirstSteps string `json:"-"`
	// Sizes is the kind of the objects whose sizes it decides, which is what can be
	// compared with another controller's; "" for none.
	Sizes string `json:"sizes,omitempty"`
	// Shows is everything of which a sync tells: whoever may not get and list all of it in a
	// namespace is not shown the loop's objects there. None stands for everything that there is.
	Shows []Resource `json:"-"`
	// Predicts is what its decisions are compared by with those of another controller.
	Predicts []Predictable `json:"predicts,omitempty"`
	// Signs are the reasons of the events by which it tells of those that it did.
	Signs map[Predictable]string `json:"-"`
	// Measures are the metrics that kube-controller-manager has of it.
	Measures []Measure `json:"-"`

	Catalogue Catalogue `json:"catalogue"`
	// Reasons are the codes of its sentences, held writes and timers.
	Reasons []Reasons `json:"reasons,omitempty"`
	// Headlines are the facts that stand at the top of a page, in their order.
	Headlines []Headline `json:"headlines,omitempty"`

	// New is an empty snapshot to read one into that was recorded, and Decode reads the
	// same and checks it, for a sync that is decided again. Both nil for a loop whose
	// syncs are shown and cannot be decided again.
	New    func() Snapshot                     `json:"-"`
	Decode func(text []byte) (Snapshot, error) `json:"-"`
}

// Resource is a kind of objects as rights name it: "deployments" of the group "apps".
type Resource struct{ Group, Name string }

// Events are the resource of Kubernetes Events.
var Events = Resource{Name: "events"}

// AllResources are those of all groups.
var AllResources = Resource{"*", "*"}

// String is what kubectl calls it: "deployments.apps".
func (r Resource) String() string {
	switch {
	case r == AllResources:
		return "everything"
	case r.Group == "":
		return r.Name
	}
	return r.Name + "." + r.Group
}

// Told is Shows, with what stands for none.
func (l *Loop) Told() []Resource {
	if len(l.Shows) == 0 {
		return []Resource{AllResources}
	}
	return l.Shows
}

// Snapshot is what a sync decided on: a pointer to a value of its loop's package.
type Snapshot interface {
	// Begin is a sync on it, which never changes it.
	Begin() Core
	// Taken is when it was observed.
	Taken() time.Time
}

// Versioned is a snapshot in which one object can be put back to an earlier version, so that a
// loop can be asked what it would have decided then.
type Versioned interface {
	// VersionOf is the resourceVersion in which it has an object; "" where it has no such object.
	VersionOf(kind, name string) string
	// Rewound is a copy in which an object is as was has it, and its fields as they were before
	// these changes. Where was is nil only the fields change, as far as it has them. It is nil
	// where the object is in neither of the two, or that cannot be done. A deletion was asked for
	// before where metadata.deletionTimestamp has any value then.
	Rewound(kind, name string, was Snapshot, fields []Change) Snapshot
	// AsOf is a copy as of another moment, with what was has of all that has no changes of its own
	// here; was may be nil.
	AsOf(now time.Time, was Snapshot) Snapshot
	// Without is a copy that has no such object; nil where this has none either.
	Without(kind, name string) Snapshot
	// Beneath are the objects that it has beside the one that it is of, which are of one kind.
	Beneath() (kind string, names []string)
}

// Departing is a snapshot of a loop that does not do everything as upstream does.
type Departing interface {
	// Departure is the number that the register of departures gives to what has upstream write this
	// on the very same state; 0 where upstream would not.
	Departure(seen *Prediction) int
}

// Refusing is a snapshot of a loop whose object says what was tried and refused.
type Refusing interface {
	// Refused reports whether the object says that this was tried on this state, and refused: nobody
	// has failed to write it.
	Refused(p *Prediction) bool
}

// Ranked is a snapshot of a loop that chooses some of many objects.
type Ranked interface {
	// Alike are the objects among which upstream's rule leaves open which goes first, that one
	// included; none where there is no such object.
	Alike(kind, name string) []string
}

// Together is a snapshot that also tells of what the siblings of its object have: those that
// the same object controls.
type Together interface {
	// Beside is a copy that tells of these siblings.
	Beside(siblings []Snapshot) Snapshot
}

// Steering is a snapshot of a loop that works on objects of other loops, which go on deciding
// about them. Pages of either show the other.
type Steering interface {
	// Steers are those objects, by kind, namespace and name.
	Steers() []Ref
}

// Requested is a snapshot of an object that is asked for on another one, so that no event tells
// when it was created.
type Requested interface {
	// Untouched reports whether nothing has been done about it yet.
	Untouched() bool
}

// Steers reports whether it works on objects of other loops: its snapshots are Steering.
func (l *Loop) Steers() bool {
	if l.New == nil {
		return false
	}
	_, ok := l.New().(Steering)
	return ok
}

// CountsPods reports whether its objects have a number of pods that are wanted, of which
// some are available. Lists show those.
func (l *Loop) CountsPods() bool {
	return slices.ContainsFunc(l.Headlines, func(h Headline) bool { return h.Fact == "wanted" })
}

// HasList reports whether a console has a list of its objects.
func (l *Loop) HasList() bool { return l.Listed || l.ListsUnowned() }

// ListsUnowned reports whether that list has those alone that no object of the owner's loop
// controls: the pages of owners show the others.
func (l *Loop) ListsUnowned() bool { return l.Owner != "" && !l.Listed }

// One is what one of its objects is called in a sentence.
func (l *Loop) One() string { return cmp.Or(l.Noun, l.Kind) }

// Many is what several of its objects are called in a sentence.
func (l *Loop) Many() string { return l.One() + "s" }

// Headline is a fact with its label, and what stands beside it.
type Headline struct {
	Fact  string `json:"fact"`
	Label string `json:"label"`
	// Bound is the fact that bounds it, and Sign how: "≤" or "≥".
	Bound string `json:"bound,omitempty"`
	Sign  string `json:"sign,omitempty"`
	// Note is the fact of a part of it, and Words what that part is: "available".
	Note  string `json:"note,omitempty"`
	Words string `json:"words,omitempty"`
}

// Compare is the sign between a value and its bound, and whether the bound is broken: "6 > 4" is no "6 ≤ 4".
func (h *Headline) Compare(value, bound Value) (sign string, broken bool) {
	n, counts := value.Int()
	limit, limits := bound.Int()
	switch {
	case !counts || !limits:
	case h.Sign == "≤" && n > limit:
		return ">", true
	case h.Sign == "≥" && n < limit:
		return "<", true
	}
	return h.Sign, false
}

// PathOf is where a console has the pages of a loop's objects, and the list of them.
func PathOf(loop string) string { return "/" + loop + "s" }

// NoNamespace stands for the namespace of an object that has none, in addresses and in
// flags: no namespace may be called so.
const NoNamespace = "-"

// IsLoopName reports whether a loop may be called so: 1 to 63 lower-case letters, digits
// and hyphens, the first a letter. It stands in addresses and labels.
func IsLoopName(s string) bool { return loopName.MatchString(s) }

var loopName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// Loops are those that a program knows.
type Loops []Loop

// Of is the loop of that name. One that nobody declared has its name for its kind.
func (l Loops) Of(name string) *Loop {
	if i := l.index(name); i >= 0 {
		return &l[i]
	}
	return &Loop{Name: name, Kind: name}
}

// Named is the name of the loop of a kind as a person types it; "" where no loop here has it.
func (l Loops) Named(kind string) string {
	kind = strings.ToLower(kind)
	for i := range l {
		if kind == l[i].Name || kind == l[i].Name+"s" || slices.Contains(l[i].Aliases, kind) {
			return l[i].Name
		}
	}
	return ""
}

// Has reports whether a loop of that name was declared.
func (l Loops) Has(name string) bool { return l.index(name) >= 0 }

func (l Loops) index(name string) int {
	return slices.IndexFunc(l, func(x Loop) bool { return x.Name == name })
}

// Kind is the kind of a loop's objects.
func (l Loops) Kind(name string) string { return l.Of(name).Kind }

// Names are those of all of them.
func (l Loops) Names() []string {
	names := make([]string, len(l))
	for i := range l {
		names[i] = l[i].Name
	}
	return names
}

// Shown are those whose syncs can be shown and not be decided again.
func (l Loops) Shown() Loops {
	return slices.DeleteFunc(slices.Clone(l), func(x Loop) bool { return x.New != nil })
}

// With adds the others whose names are not among them.
func (l Loops) With(others Loops) Loops {
	all := slices.Clone(l)
	for _, x := range others {
		if !all.Has(x.Name) {
			all = append(all, x)
		}
	}
	return all
}

// Unowned stands behind the objects that are in the list of a loop: " without a Deployment" where
// it has those alone that none controls, else "".
func (l Loops) Unowned(name string) string {
	of := l.Of(name)
	if !of.ListsUnowned() {
		return ""
	}
	return " without a " + l.Of(of.Owner).One()
}

// Owned are the loops whose objects those of that loop control.
func (l Loops) Owned(name string) []string {
	var names []string
	for i := range l {
		if l[i].Owner == name && name != "" {
			names = append(names, l[i].Name)
		}
	}
	return names
}
