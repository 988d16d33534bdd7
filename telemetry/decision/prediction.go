package decision

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Aspect is what of an object a loop decides, as far as anybody can see from outside that it
// was decided so.
type Aspect string

// The aspects.
const (
	AspectSize        Aspect = "size"
	AspectCreation    Aspect = "creation"
	AspectDeletion    Aspect = "deletion"
	AspectOwner       Aspect = "owner"  // the controller that it has
	AspectStatus      Aspect = "status" // all but the conditions
	AspectConditions  Aspect = "conditions"
	AspectAnnotations Aspect = "annotations"
	AspectEvent       Aspect = "event" // a Kubernetes Event about it
)

// Predictable is one aspect of the objects of one kind. It is what the decisions of two
// programs are compared by.
type Predictable struct {
	Aspect Aspect `json:"aspect"`
	// Of is the kind of the objects: "Pod".
	Of string `json:"of"`
}

// Prediction is one change that follows from a decision. Two that are equal but for the
// question are the same change.
type Prediction struct {
	Predictable
	// Name is that of the object; "" where a creation gives it one.
	Name string
	// What is the change: "3 → 5", "status.readyReplicas 3 → 4"; "" for what the aspect says.
	What string
	// Question is the id of the question whose answer led here, that of a status the last one.
	Question string
	// Count is how many a creation without a name makes; 0 else.
	Count int64
}

// Same reports whether both are the same change.
func (p Prediction) Same(as Prediction) bool {
	p.Question, as.Question = "", ""
	return p == as
}

// Covers reports whether it has all of the changes of another one of the same aspect. Upstream may write
// conditions and annotations one after another, which are written at once here; a status is written whole.
func (p *Prediction) Covers(seen *Prediction) bool {
	if p.Aspect != AspectConditions && p.Aspect != AspectAnnotations {
		return p.Same(*seen)
	}
	predicted, written := strings.Split(p.What, Between), strings.Split(seen.What, Between)
	if open := slices.Index(predicted, otherAnnotations); open >= 0 {
		return within(slices.Delete(predicted, open, open+1), written)
	}
	return within(written, predicted)
}

// within reports whether a list has all of another one.
func within(some, list []string) bool {
	return !slices.ContainsFunc(some, func(x string) bool { return !slices.Contains(list, x) })
}

// otherAnnotations stands for those that a rollback gives back, of which a snapshot has none.
const otherAnnotations = "metadata.annotations[" + Open + "]"

// Arrow stands between the old and the new value of a change, and Between between changes.
const (
	Arrow   = " → "
	Between = ", "
)

// Foretell is what follows from a verdict and its report: all that the loop declares as
// predictable. Creations of objects without a name stand there once, however many there are.
func (l *Loop) Foretell(name string, v *Verdict, r *Report) (list []Prediction) {
	add := func(p Prediction) {
		if slices.Contains(l.Predicts, p.Predictable) {
			list = append(list, p)
		}
	}
	for i := range v.Actions {
		for _, p := range v.Actions[i].foretold() {
			add(p)
		}
	}
	if r != nil {
		for _, p := range ChangesOf(l.Kind, name, r.Changes) {
			p.Question = v.Leaf()
			add(p)
		}
	}
	return list
}

// foretold is what can be seen of an action.
func (a *Action) foretold() (list []Prediction) {
	p := Prediction{Predictable: Predictable{"", a.Target.Kind}, Name: a.Target.Name, Question: a.Question}
	switch a.Kind {
	case CreateReplicaSet, Create:
		p.Aspect = AspectCreation
	case DeleteReplicaSet, Delete:
		p.Aspect = AspectDeletion
	case UpdateReplicaSet, Scale:
		if a.Size == nil || a.Size.From == a.Size.To {
			return nil
		}
		p.Aspect, p.What = AspectSize, strconv.FormatInt(a.Size.From, 10)+Arrow+strconv.FormatInt(a.Size.To, 10)
	case Adopt, Release:
		if len(a.Changes) == 0 {
			return nil
		}
		p.Aspect, p.What = AspectOwner, ownerChange(a.Changes[0])
	case CreatePods:
		return []Prediction{{Predictable: Predictable{AspectCreation, "Pod"}, Question: a.Question, Count: a.Count}}
	case DeletePods:
		for _, v := range a.Victims {
			list = append(list, Prediction{Predictable: Predictable{AspectDeletion, "Pod"}, Name: v.Name, Question: a.Question})
		}
		return list
	case UpdateDeployment:
		changes := slices.Clone(a.Changes)
		if a.Restore != nil {
			changes = append(changes, Change{Field: otherAnnotations})
		}
		list = ChangesOf(a.Target.Kind, a.Target.Name, changes)
		for i := range list {
			list[i].Question = a.Question
		}
		return list
	default:
		return nil
	}
	return []Prediction{p}
}

// ChangesOf are the aspects of an object that changes of its fields are of, each with all its
// changes; none for those of its spec but a size. Of a condition only status and reason count.
func ChangesOf(kind, name string, changes []Change) (list []Prediction) {
	said := map[Aspect][]string{}
	for _, c := range changes {
		aspect := aspectOf(c.Field)
		from, to := c.From, c.To
		switch aspect {
		case "":
			continue
		case AspectOwner:
			if from != to {
				list = append(list, Prediction{Predictable: Predictable{aspect, kind}, Name: name, What: ownerChange(c)})
			}
			continue
		case AspectSize:
			list = append(list, Prediction{Predictable: Predictable{aspect, kind}, Name: name, What: from + Arrow + to})
			continue
		case AspectConditions:
			from, to = clock.ReplaceAllString(from, ""), clock.ReplaceAllString(to, "")
		case AspectAnnotations: // Their values are nobody's business.
			said[aspect] = append(said[aspect], c.Field)
			continue
		}
		if from != to {
			said[aspect] = append(said[aspect], c.Field+" "+from+Arrow+to)
		}
	}
	for _, aspect := range []Aspect{AspectStatus, AspectConditions, AspectAnnotations} {
		if words := said[aspect]; len(words) > 0 {
			slices.Sort(words)
			list = append(list, Prediction{Predictable: Predictable{aspect, kind}, Name: name, What: strings.Join(words, Between)})
		}
	}
	return list
}

// ownerChange is a change of controllers, without their kinds: "none → web".
func ownerChange(c Change) string {
	name := func(owner string) string { return cmp.Or(owner[strings.LastIndex(owner, " ")+1:], "none") }
	return name(c.From) + Arrow + name(c.To)
}

// Releases reports whether it is the change of an owner to none.
func (p *Prediction) Releases() bool {
	return p.Aspect == AspectOwner && strings.HasSuffix(p.What, Arrow+"none")
}

// clock is the time that a loop puts behind a condition's reason.
var clock = regexp.MustCompile(` \d\d:\d\d:\d\d$`)

func aspectOf(field string) Aspect {
	switch {
	case field == "spec.replicas":
		return AspectSize
	case field == "metadata.ownerReferences":
		return AspectOwner
	case strings.HasPrefix(field, "status.conditions["):
		return AspectConditions
	case strings.HasPrefix(field, "status."):
		return AspectStatus
	case strings.HasPrefix(field, "metadata.annotations["):
		return AspectAnnotations
	default:
		return ""
	}
}

// Sizes are the two of a change of a size; 0 and 0 for anything else.
func (p *Prediction) Sizes() (from, to int64) {
	was, is, _ := strings.Cut(p.What, Arrow)
	from, err := strconv.ParseInt(was, 10, 64)
	to, other := strconv.ParseInt(is, 10, 64)
	if p.Aspect != AspectSize || err != nil || other != nil {
		return 0, 0
	}
	return from, to
}
