package rollingupdate

import (
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// problem is why a request cannot be carried out ([RU-4]): its code, and what is said of it.
type problem struct {
	code string
	lead decision.Words
	do   decision.Words
}

// The problems of a request.
const (
	badRequest  = "unreadable"
	badTarget   = "is-a-target"
	badSelf     = "itself"
	badMissing  = "no-new"
	badSource   = "other-source"
	badDesired  = "no-size"
	badOriginal = "no-original"
	badImage    = "other-image"
	badName     = "no-container"
	badSame     = "same-image"
	badEmpty    = "no-pods"
	badTaken    = "taken-over"
	badSelector = "selectors"
	badOther    = "other-update"
	badOwned    = "owned"
	badLong     = "long-name"
)

// valid asks [RU-4] whether the request can be carried out as things stand.
func (t *decider) valid() bool {
	t.problem = t.wrong()
	if t.problem.code == "" {
		return t.v.Path.Ask("RU-4", true)
	}
	t.v.Path.Ask("RU-4", false, decision.Text("problem", t.problem.code))
	if old := t.s.Old; old != nil {
		t.v.Path.Last().Facts = append(t.v.Path.Last().Facts, decision.Count("containers", int64(len(old.Containers))), decision.Count("characters", int64(len(t.s.NewName))), decision.Count("most", maxName))
	}
	return false
}

// refuse publishes why, and leaves both alone.
func (t *decider) refuse() {
	t.v.Invalid = t.problem.lead.At(t.s.Now)
	if t.s.Old != nil && t.s.Into == "" { // There the condition is the other update's.
		t.conditions(statusFalse, reasonInvalid)
	}
	t.leaf = leafInvalid
}

// wrong is the first thing that is wrong.
func (t *decider) wrong() problem {
	s, r := t.s, t.s.Request
	switch {
	case s.RequestError != "":
		return problem{badRequest, words("the request cannot be read (").Quote(s.RequestError).Say(")"), words("Correct the annotation ").Quote(AnnotationRequest).Say(", or remove it")}
	case s.Into != "":
		return problem{badTarget, words("it is itself what ").Name(s.Into).Say(" is updated to"), words("Finish that update first, or take it back")}
	case r.To == s.Name && s.Old != nil:
		return problem{badSelf, words("the request names it as its own replacement"), words("Name another one")}
	case !r.Abort && s.Old != nil && s.Old.Original != nil && s.Old.Next != "" && r.To != "" && r.To != s.Old.Next:
		return problem{badOther, words("an update to ").Name(s.Old.Next).Say(" has begun, and the request names ").Name(r.To), words("Take that update back first, or ask for ").Name(s.Old.Next)}
	case r.Abort && s.Old != nil && s.Old.Original == nil && s.New != nil && s.New.Size > 0 && t.ours(s.New): // The size that it has is that of a step.
		return problem{badOriginal, words("nobody has written down how many pods it had at the start, to go back to"),
			words("Continues with kubectl -n ").Name(s.Namespace).Say(" annotate rc ").Name(s.Name).Say(" " + AnnotationOriginal + "=N, where N is that number")}
	case r.Abort && s.Old != nil:
		return problem{} // Going back takes neither the image nor the selectors.
	case s.Old != nil && s.Old.Owner != "":
		return problem{badOwned, words("it belongs to ").Name(s.Old.Owner).Say(", which would undo the update"), words("Update ").Name(s.Old.Owner).Say(" instead, or delete that with --cascade=orphan first")}
	case s.Old != nil && s.Old.TakenOver != "":
		return problem{badTaken, words("Deployment ").Name(s.Old.TakenOver).Say(" has taken its pods over, or is about to"), words("Change the image of Deployment ").Name(s.Old.TakenOver)}
	case s.New != nil:
		return t.wrongWithNew()
	}
	return t.wrongWithOld()
}

// wrongWithNew is what is wrong with one that exists already.
func (t *decider) wrongWithNew() problem {
	s, r, n := t.s, t.s.Request, t.s.New
	if t.isCleaning() {
		return problem{}
	}
	switch {
	case s.Old == nil && n.Desired != nil:
		return problem{} // Whom it replaces is settled: there is nobody else.
	case s.Old != nil && n.Source == "":
		return problem{badSource, words("").Name(n.Name).Say(" exists, and was not made for this update: it lacks the annotation ").Quote(AnnotationSource),
			words("Choose another name, or delete ").Name(n.Name).Say(" and create it with loopscope rolling-update -f")}
	case s.Old != nil && n.Source != s.sourceID():
		from, _, _ := strings.Cut(n.Source, ":")
		if from == s.Name {
			return problem{badSource, words("").Name(n.Name).Say(" was made to replace an earlier ").Name(s.Name).Say(", which was deleted since"), words("Choose another name")}
		}
		return problem{badSource, words("").Name(n.Name).Say(" is what ").Name(from).Say(" is updated to"), words("Choose another name, or wait for that update")}
	case n.Desired == nil:
		return problem{badDesired, words("").Name(n.Name).Say(" does not say how many pods it is to have"), words("Set its annotation ").Quote(AnnotationDesired)}
	case !s.Apart:
		return problem{badSelector, words("the selectors of ").Name(n.Name).Say(" and ").Name(s.Name).Say(" do not differ in any label, so each would take the other's pods"),
			words("Give ").Name(n.Name).Say(" a label of its own, in selector and template")}
	}
	if c := n.chosen(r.Container); r.Image != "" && (c == nil || c.Image != r.Image) {
		is := words("another image")
		if c != nil {
			is = words("").Quote(c.Image)
		}
		return problem{badImage, append(words("").Name(n.Name).Say(" exists and has "), is...).Say(", not ").Quote(r.Image), words("Take this update back first, or choose another name")}
	}
	return problem{}
}

// wrongWithOld is what keeps a new one from being made from the old one.
func (t *decider) wrongWithOld() problem {
	old, r := t.s.Old, t.s.Request
	if r.Image == "" {
		return problem{badMissing, words("").Name(r.To).Say(", to which it is to be updated, does not exist"), words("Unblocks when ").Name(r.To).Say(" is created with loopscope rolling-update -f")}
	}
	c := old.chosen(r.Container)
	switch {
	case c == nil && r.Container == "":
		return problem{badName, words("it has ").Count("containers", int64(len(old.Containers))).Say(" containers (").Quote(old.names()).Say("), and the request does not say whose image it is"), words("Name it with --container")}
	case c == nil:
		return problem{badName, words("it has no container ").Quote(r.Container).Say(", only ").Quote(old.names()), words("Name one of these with --container")}
	case c.Image == r.Image && r.ImagePullPolicy == "":
		return problem{badSame, words("it has the image ").Quote(r.Image).Say(" already, and the request has no pull policy"), words("Give --image-pull-policy to have the same image pulled anew")}
	case len(t.s.NewName) > maxName:
		return problem{badLong, words("its name with a hash has ").Count("characters", int64(len(t.s.NewName))).Say(" characters, and a name has ").Count("most", maxName).Say(" at most"), words("Name the new one; with --cleanup=rename the old name stays")}
	case old.Size == 0 && old.Original == nil:
		return problem{badEmpty, words("it has no pods, so there is nothing to update step by step"), words("Change its template, or scale it up first")}
	}
	return problem{}
}

// maxName is how many characters a name may have.
const maxName = 253

// names are those of its containers.
func (c *Controller) names() string {
	var list []string
	for i := range c.Containers {
		list = append(list, c.Containers[i].Name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func words(text string) decision.Words {
	if text == "" {
		return decision.Words{}
	}
	return decision.Words{}.Say(text)
}
