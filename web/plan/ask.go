package plan

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/rollout"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

// Proposal is what an address asks to change: the spec as it is and as it would
// be, and the fates of pods.
type Proposal struct {
	From   *deployment.Snapshot
	to     deployment.Snapshot
	Fields []views.WhatIfField
	Pods   []views.WhatIfPod
	All    *views.WhatIfPod
	// podsError says what is wrong with the pods of the address.
	PodsError string
}

// whatIfField is a field of the spec: how it stands in a snapshot, and how a
// text becomes it.
type whatIfField struct {
	name    string
	choices []views.Choice
	// rolling fields are those of a rolling update alone.
	rolling bool
	now     func(*deployment.Snapshot) string
	// set changes the snapshot, or says what to enter instead.
	set func(*deployment.Snapshot, string) (complaint string)
}

const maxInt32 = 1<<31 - 1

// noDeadline is how the page writes that there is none; Kubernetes writes maxInt32.
const noDeadline = "none"

var whatIfFields = []whatIfField{
	{name: "replicas",
		now: func(s *deployment.Snapshot) string { return words.Digits(s.Want) },
		set: func(s *deployment.Snapshot, text string) (bad string) { s.Want, bad = wholeNumber(text, 0); return bad }},
	{name: "maxSurge", rolling: true,
		now: func(s *deployment.Snapshot) string { return amountText(s.MaxSurge) },
		set: func(s *deployment.Snapshot, text string) (bad string) {
			s.MaxSurge, bad = amount(text, maxInt32)
			return bad
		}},
	{name: "maxUnavailable", rolling: true,
		now: func(s *deployment.Snapshot) string { return amountText(s.MaxUnavailable) },
		set: func(s *deployment.Snapshot, text string) (bad string) {
			s.MaxUnavailable, bad = amount(text, 100)
			return bad
		}},
	{name: "minReadySeconds",
		now: func(s *deployment.Snapshot) string { return words.Digits(s.MinReady) },
		set: func(s *deployment.Snapshot, text string) (bad string) {
			s.MinReady, bad = wholeNumber(text, 0)
			return bad
		}},
	{name: "progressDeadlineSeconds",
		now: func(s *deployment.Snapshot) string { return deadlineText(s.Deadline) },
		set: func(s *deployment.Snapshot, text string) (bad string) { s.Deadline, bad = deadline(text); return bad }},
	{name: "image",
		now: func(s *deployment.Snapshot) string { return strings.Join(s.Images, ", ") },
		set: setImages},
	{name: "paused", choices: []views.Choice{{Value: "false", Word: "no"}, {Value: "true", Word: "yes"}},
		now: func(s *deployment.Snapshot) string { return strconv.FormatBool(s.Paused) },
		set: setPaused},
}

// Fields are the parameters of an address that change the spec.
func Fields() []string {
	names := make([]string, 0, len(whatIfFields))
	for _, f := range whatIfFields {
		names = append(names, f.name)
	}
	return names
}

// wholeNumber reads a number as the API server takes one.
func wholeNumber(text string, least int64) (n int64, complaint string) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > maxInt32 {
		return 0, fmt.Sprintf("Enter a whole number from %d to %d.", least, maxInt32)
	}
	return n, ""
}

// amount reads maxSurge or maxUnavailable, whose share may have a limit.
func amount(text string, most int64) (v *deployment.IntOrPercent, complaint string) {
	const neither = "Enter a whole number, or a percentage such as 25%."
	if strings.HasSuffix(text, "%") {
		percent, err := rollout.Percent(text)
		switch {
		case err != nil:
			return nil, neither
		case percent > most:
			return nil, fmt.Sprintf("Enter %d%% at most.", most)
		}
		return &deployment.IntOrPercent{Percent: text}, ""
	}
	n, bad := wholeNumber(text, 0)
	if bad != "" {
		return nil, neither
	}
	return &deployment.IntOrPercent{Int: n}, ""
}

func amountText(v *deployment.IntOrPercent) string {
	switch {
	case v == nil:
		return "0"
	case v.Percent != "":
		return v.Percent
	}
	return strconv.FormatInt(v.Int, 10)
}

func deadline(text string) (v *int64, complaint string) {
	if text == noDeadline || text == strconv.Itoa(maxInt32) {
		return nil, ""
	}
	n, bad := wholeNumber(text, 1)
	if bad != "" {
		return nil, "Enter a number of seconds from 1, or none."
	}
	return &n, ""
}

func deadlineText(v *int64) string {
	if v == nil {
		return noDeadline
	}
	return strconv.FormatInt(*v, 10)
}

func setPaused(s *deployment.Snapshot, text string) (complaint string) {
	if text != "true" && text != "false" {
		return "Enter true or false."
	}
	s.Paused = text == "true"
	return ""
}

// imageRef is what may stand in an image's name, a tag and a digest; whether
// somebody can pull it is another question.
var imageRef = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/@-]{0,250}$`)

func setImages(s *deployment.Snapshot, text string) (complaint string) {
	images := strings.Split(text, ",")
	for i := range images {
		if images[i] = strings.TrimSpace(images[i]); !imageRef.MatchString(images[i]) && (i >= len(s.Images) || images[i] != s.Images[i]) {
			return "Enter an image such as shop/web:3.4."
		}
	}
	if len(images) != len(s.Images) {
		return "Enter " + prose.Count(len(s.Images), "image") + ", with commas between them: the template has that many containers."
	}
	s.Images = images
	return ""
}

// Propose reads what the address asks for. Nothing is refused: what cannot be
// read is kept and marked at its field.
func Propose(s *deployment.Snapshot, args url.Values) *Proposal {
	p := &Proposal{From: s, to: *s}
	for _, f := range whatIfFields {
		if f.rolling && s.Strategy != "RollingUpdate" {
			continue
		}
		p.field(f, strings.TrimSpace(args.Get(f.name)))
	}
	p.together()
	p.choosePods(args["ready"], args["fails"])
	return p
}

func (p *Proposal) field(f whatIfField, text string) {
	x := views.WhatIfField{Name: f.name, Now: f.now(p.From), Choices: f.choices}
	x.Value = x.Now
	if text != "" && text != x.Now {
		x.Value = prose.Clip(text, 300)
		to := p.to
		if x.Error = f.set(&to, text); x.Error == "" {
			p.to = to
		}
		x.Changed = x.Error != "" || f.now(&p.to) != x.Now
	}
	p.Fields = append(p.Fields, x)
}

// together refuses what the API server would refuse of fields that are each
// right alone, and what the model cannot hold.
func (p *Proposal) together() {
	n := facts.Numbers(deployment.Numbers(&p.to))
	switch none, missing := amountText(p.to.MaxSurge), amountText(p.to.MaxUnavailable); {
	case !p.OK():
	case p.to.Strategy == "RollingUpdate" && isZero(none) && isZero(missing):
		p.refuse("Must not be 0 if maxSurge is 0: the rollout could not proceed.", "maxUnavailable", "maxSurge")
	case p.to.Deadline != nil && *p.to.Deadline <= p.to.MinReady:
		p.refuse("The deadline has to be longer than minReadySeconds.", "progressDeadlineSeconds", "minReadySeconds")
	case n.Or("ceiling") > sim.MaxPods:
		p.refuse("That would be "+prose.Thousands(n.Or("ceiling"))+" pods with the surge; a plan is made for "+prose.Thousands(int64(sim.MaxPods))+" at most.", "replicas", "maxSurge")
	}
}

func isZero(amount string) bool { return strings.TrimLeft(strings.TrimSuffix(amount, "%"), "0") == "" }

// refuse puts a message at the first of the fields that was changed. What
// stands so in the cluster itself is no mistake of the reader's.
func (p *Proposal) refuse(message string, names ...string) {
	for _, name := range names {
		for i := range p.Fields {
			if p.Fields[i].Name == name && p.Fields[i].Changed {
				p.Fields[i].Error = message
				return
			}
		}
	}
}

// OK reports whether everything could be read.
func (p *Proposal) OK() bool {
	return p.PodsError == "" && !slices.ContainsFunc(p.Fields, func(f views.WhatIfField) bool { return f.Error != "" })
}

// edits are the changes of the spec.
func (p *Proposal) edits() []sim.Edit {
	var list []sim.Edit
	changed := func(name string, edit sim.Edit) {
		if p.changed(name) {
			list = append(list, edit)
		}
	}
	changed("replicas", sim.Replicas(p.to.Want))
	if p.to.MaxSurge != nil {
		changed("maxSurge", sim.Surge(*p.to.MaxSurge))
	}
	if p.to.MaxUnavailable != nil {
		changed("maxUnavailable", sim.Unavailable(*p.to.MaxUnavailable))
	}
	changed("minReadySeconds", sim.MinReady(p.to.MinReady))
	if p.changed("progressDeadlineSeconds") {
		seconds := int64(0)
		if p.to.Deadline != nil {
			seconds = *p.to.Deadline
		}
		list = append(list, sim.Deadline(seconds))
	}
	changed("image", sim.Images(p.to.Images...))
	changed("paused", sim.Pause(p.to.Paused))
	return list
}

func (p *Proposal) changed(name string) bool {
	return slices.ContainsFunc(p.Fields, func(f views.WhatIfField) bool { return f.Name == name && f.Changed })
}

// anything reports whether the address asks for any change at all.
func (p *Proposal) anything() bool {
	return slices.ContainsFunc(p.Fields, func(f views.WhatIfField) bool { return f.Changed }) || p.fates()
}

// fates reports whether the address asks for a pod's fate.
func (p *Proposal) fates() bool {
	return p.All != nil && p.All.Ready || slices.ContainsFunc(p.Pods, func(x views.WhatIfPod) bool { return x.Ready || x.Fails })
}

// EveryPod is the value that names all pods; no pod has such a name.
const EveryPod = "*"

// choosePods lists the pods that the snapshot names, with what the address
// makes of them. A pod may be named by its last part alone.
func (p *Proposal) choosePods(ready, fails []string) {
	p.Pods = namedPods(p.From)
	if len(p.Pods) > 0 {
		p.All = &views.WhatIfPod{Name: "all", Value: EveryPod, Ready: slices.Contains(ready, EveryPod)}
	}
	for _, x := range []struct {
		names []string
		mark  func(*views.WhatIfPod)
	}{{ready, func(x *views.WhatIfPod) { x.Ready = true }}, {fails, func(x *views.WhatIfPod) { x.Fails = true }}} {
		for _, name := range x.names {
			i := slices.IndexFunc(p.Pods, func(x views.WhatIfPod) bool { return x.Name == name || x.Value == name })
			switch {
			case name == EveryPod && p.All != nil, name == "":
			case i < 0:
				p.PodsError = "Nothing called " + prose.Clip(name, 80) + " waits in this sync. Choose one of the pods above, if there are any."
			default:
				x.mark(&p.Pods[i])
			}
		}
	}
	for _, x := range p.Pods {
		if x.Ready && x.Fails {
			p.PodsError = x.Name + " cannot both become ready and fail: choose one."
		}
	}
}

// namedPods are the pods that are not available and that the snapshot names.
func namedPods(s *deployment.Snapshot) []views.WhatIfPod {
	var list []views.WhatIfPod
	seen := map[string]int{}
	for i := range s.ReplicaSets {
		if !s.ReplicaSets[i].Mine {
			continue
		}
		for _, b := range s.ReplicaSets[i].Blocking {
			owner, own := words.Split(b.Name)
			x := views.WhatIfPod{Owner: owner, Own: own, Name: b.Name, Value: own, Why: b.Reason}
			if b.Ready {
				x.Why = "ready, not yet for long enough"
			}
			seen[own]++
			list = append(list, x)
		}
	}
	for i := range list {
		if seen[list[i].Own] > 1 {
			list[i].Value = list[i].Name
		}
	}
	return list
}
