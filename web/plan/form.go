package plan

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// Proposal is what an address asks to change of something that can be planned.
type Proposal interface {
	// Asked is the form as the address fills it in.
	Asked() *Form
	// Nothing says why there is nothing to plan, "" where there is, and which command plans instead.
	Nothing() (why, command string)
	// MostPods is how many pods there may be at once as it is.
	MostPods() int64
	// Assumptions say what a plan from that sync is worth, and Commands would make the
	// changes for real.
	Assumptions(seq uint64) []views.Text
	Commands() []string

	// next simulates from now on, and whole a rollout from its beginning: changed as
	// proposed, or as it is. whole is nil where there is no such plan.
	next(f *simulator, changed bool) (simulation, error)
	whole() func(f *simulator, changed bool) (simulation, error)
	// limits are the numbers behind the steps.
	limits() []views.WhatIfBound
}

// Propose reads what the address asks for. Nothing is refused: what cannot be read is kept
// and marked at its field. It is nil for a snapshot of a loop that cannot be planned.
func Propose(s decision.Snapshot, args url.Values) Proposal {
	switch x := s.(type) {
	case *deployment.Snapshot:
		return proposeRollout(x, args)
	case *rollingupdate.Snapshot:
		return proposeUpdate(x, args)
	}
	return nil
}

// Fields are the parameters of an address that change what such a snapshot has; nil for one
// that cannot be planned.
func Fields(s decision.Snapshot) []string {
	switch s.(type) {
	case *deployment.Snapshot:
		return namesOf(rolloutFields)
	case *rollingupdate.Snapshot:
		return namesOf(updateFields)
	}
	return nil
}

func namesOf[S any](list []field[S]) []string {
	names := make([]string, 0, len(list))
	for _, f := range list {
		names = append(names, f.name)
	}
	return names
}

// Form is the fields and the pods of which something else may become.
type Form struct {
	Fields []views.WhatIfField
	Pods   []views.WhatIfPod
	All    *views.WhatIfPod
	// PodsError says what is wrong with the pods of the address.
	PodsError string
}

// field is a field of the form: how it stands in what is planned, and how a text becomes it.
type field[S any] struct {
	name    string
	choices []views.Choice
	// only is where there is such a field; nil for always.
	only func(*S) bool
	// most is how many characters may be entered; 0 for usualLength.
	most int
	now  func(*S) string
	// set changes what is planned, or says what to enter instead.
	set func(*S, string) (complaint string)
}

// usualLength is how many characters may be entered in most fields.
const usualLength = 300

var noOrYes = []views.Choice{{Value: "false", Word: "no"}, {Value: "true", Word: "yes"}}

func yes(text string) (value bool, complaint string) {
	if text != "true" && text != "false" {
		return false, "Enter true or false."
	}
	return text == "true", ""
}

// read fills in the form by the address, and changes what is planned as it says.
func read[S any](form *Form, list []field[S], from, to *S, args url.Values) {
	for _, f := range list {
		if f.only != nil && !f.only(from) {
			continue
		}
		x := views.WhatIfField{Name: f.name, Now: f.now(from), Choices: f.choices, Most: cmp.Or(f.most, usualLength)}
		x.Value = x.Now
		if text := strings.TrimSpace(args.Get(f.name)); text != "" && text != x.Now {
			x.Value = prose.Clip(text, x.Most)
			changed := *to
			if utf8.RuneCountInString(text) > x.Most {
				x.Error = "Enter " + prose.Thousands(x.Most) + " characters at most."
			} else if x.Error = f.set(&changed, text); x.Error == "" {
				*to = changed
			}
			x.Changed = x.Error != "" || f.now(to) != x.Now
		}
		form.Fields = append(form.Fields, x)
	}
}

// Asked is the form itself.
func (p *Form) Asked() *Form { return p }

// OK reports whether everything could be read.
func (p *Form) OK() bool {
	return p.PodsError == "" && !slices.ContainsFunc(p.Fields, func(f views.WhatIfField) bool { return f.Error != "" })
}

// refuse puts a message at the first of the fields that was changed. What
// stands so in the cluster itself is no mistake of the reader's.
func (p *Form) refuse(message string, names ...string) {
	for _, name := range names {
		for i := range p.Fields {
			if p.Fields[i].Name == name && p.Fields[i].Changed {
				p.Fields[i].Error = message
				return
			}
		}
	}
}

func (p *Form) changed(name string) bool {
	return slices.ContainsFunc(p.Fields, func(f views.WhatIfField) bool { return f.Name == name && f.Changed })
}

// anything reports whether the address asks for any change at all.
func (p *Form) anything() bool {
	return slices.ContainsFunc(p.Fields, func(f views.WhatIfField) bool { return f.Changed }) || p.fates()
}

// fates reports whether the address asks for a pod's fate.
func (p *Form) fates() bool {
	return p.All != nil && p.All.Ready || slices.ContainsFunc(p.Pods, func(x views.WhatIfPod) bool { return x.Ready || x.Fails })
}

// summary is the changes in a few words.
func (p *Form) summary() string {
	var list []string
	for _, f := range p.Fields {
		if f.Changed {
			list = append(list, f.Name+" "+prose.Clip(f.Value, usualLength))
		}
	}
	for _, x := range p.Pods {
		switch {
		case x.Fails:
			list = append(list, x.Name+" failing")
		case x.Ready && !p.All.Ready:
			list = append(list, x.Name+" ready")
		}
	}
	if p.All != nil && p.All.Ready {
		list = append(list, "every new pod ready")
	}
	return prose.And(list)
}

// tooMany is what is said of more pods than the model holds.
func tooMany(pods, most int64) string {
	return "That would be " + prose.Thousands(pods) + " pods with the surge; a plan is made for " + prose.Thousands(most) + " at most."
}
