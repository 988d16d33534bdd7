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

// rolloutProposal is what an address asks to change of a Deployment: the spec as it is and
// as it would be, and the fates of pods.
type rolloutProposal struct {
	Form
	From *deployment.Snapshot
	to   deployment.Snapshot
}

const maxInt32 = 1<<31 - 1

// noDeadline is how the page writes that there is none; Kubernetes writes maxInt32.
const noDeadline = "none"

var rolloutFields = []field[deployment.Snapshot]{
	{name: "replicas",
		now: func(s *deployment.Snapshot) string { return words.Digits(s.Want) },
		set: func(s *deployment.Snapshot, text string) (bad string) { s.Want, bad = wholeNumber(text, 0); return bad }},
	{name: "maxSurge", only: isRolling,
		now: func(s *deployment.Snapshot) string { return amountText(s.MaxSurge) },
		set: func(s *deployment.Snapshot, text string) (bad string) {
			s.MaxSurge, bad = amount(text, maxInt32)
			return bad
		}},
	{name: "maxUnavailable", only: isRolling,
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
	{name: "image", most: 4096, // of all containers
		now: func(s *deployment.Snapshot) string { return strings.Join(s.Images, ", ") },
		set: setImages},
	{name: "paused", choices: noOrYes,
		now: func(s *deployment.Snapshot) string { return strconv.FormatBool(s.Paused) },
		set: setPaused},
}

func isRolling(s *deployment.Snapshot) bool { return s.Strategy == "RollingUpdate" }

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
	s.Paused, complaint = yes(text)
	return complaint
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

func proposeRollout(s *deployment.Snapshot, args url.Values) *rolloutProposal {
	p := &rolloutProposal{From: s, to: *s}
	read(&p.Form, rolloutFields, p.From, &p.to, args)
	p.together()
	p.choosePods(args["ready"], args["fails"])
	return p
}

// together refuses what the API server would refuse of fields that are each
// right alone, and what the model cannot hold.
func (p *rolloutProposal) together() {
	n := facts.Numbers(deployment.Numbers(&p.to))
	switch none, missing := amountText(p.to.MaxSurge), amountText(p.to.MaxUnavailable); {
	case !p.OK():
	case p.to.Strategy == "RollingUpdate" && isZero(none) && isZero(missing):
		p.refuse("Must not be 0 if maxSurge is 0: the rollout could not proceed.", "maxUnavailable", "maxSurge")
	case p.to.Deadline != nil && *p.to.Deadline <= p.to.MinReady:
		p.refuse("The deadline has to be longer than minReadySeconds.", "progressDeadlineSeconds", "minReadySeconds")
	case n.Or("ceiling") > sim.MaxPods:
		p.refuse(tooMany(n.Or("ceiling"), sim.MaxPods), "replicas", "maxSurge")
	}
}

func isZero(amount string) bool { return strings.TrimLeft(strings.TrimSuffix(amount, "%"), "0") == "" }

// edits are the changes of the spec.
func (p *rolloutProposal) edits() []sim.Edit {
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
	changed("image", p.imageEdit())
	changed("paused", sim.Pause(p.to.Paused))
	return list
}

// EveryPod is the value that names all pods; no pod has such a name.
const EveryPod = "*"

// choosePods lists the pods that the snapshot names, with what the address
// makes of them. A pod may be named by its last part alone.
func (p *rolloutProposal) choosePods(ready, fails []string) {
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
