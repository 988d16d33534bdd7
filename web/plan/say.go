package plan

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

// Headline says what the changes come to, in numbers of the plans.
func (f *Plans) Headline(name string, p *Proposal) string {
	switch {
	case !p.OK():
		return "That cannot be planned yet: see the marked field."
	case !p.anything():
		return "What if " + name + " were changed? Change a field: both plans are still the same."
	}
	if text := comparisonOf(&f.now, &f.nowIf, true); text != "" {
		return "With " + p.summary() + ", " + text + "."
	}
	if f.now.cut || f.nowIf.cut || f.all.cut || f.allIf.cut {
		return "With " + p.summary() + ", the plan is too long to be compared as a whole: its first steps are below."
	}
	if text := comparisonOf(&f.all, &f.allIf, false); text != "" {
		return "With " + p.summary() + ", nothing changes now; in a whole rollout, " + text + "."
	}
	return "With " + p.summary() + ", nothing changes: the plans are the same, step by step."
}

// summary is the changes in a few words.
func (p *Proposal) summary() string {
	var list []string
	for _, f := range p.Fields {
		if f.Changed {
			list = append(list, f.Name+" "+f.Value)
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

// comparisonOf is how two simulations compare where they differ, "" where they do not.
// What happens first is told of those from now on.
func comparisonOf(a, b *simulation, first bool) string {
	if a.cut || b.cut {
		return "" // What was not folded to its end cannot be compared.
	}
	least, most, writes := a.extremes()
	leastIf, mostIf, writesIf := b.extremes()
	var list []string
	add := func(differs bool, words ...string) {
		if differs {
			list = append(list, strings.Join(words, ""))
		}
	}
	was, is := sizesNow(a), sizesNow(b)
	add(first && was != is && is != "", is, " at once")
	add(leastIf != least, "at least ", prose.Thousands(leastIf), " stay available instead of ", prose.Thousands(least))
	add(mostIf != most, "there are at most ", prose.Thousands(mostIf), " pods instead of ", prose.Thousands(most))
	add(writesIf != writes, "it takes ", prose.Count(writesIf, "scale write"), " instead of ", prose.Thousands(writes))
	add(b.end.End != a.end.End, "it ends ", endMark(b).Word, " instead of ", endMark(a).Word)
	return prose.And(list)
}

// sizesNow is what a simulation changes before any pod does anything.
func sizesNow(f *simulation) string {
	if rows := f.rows(); len(rows) > 0 {
		return sizesText(&f.began, &rows[0].last)
	}
	return ""
}

// Then is how the plan that would be ends, in the words of the loop.
func (f *Plans) Then(p *Proposal) views.Text {
	end := &f.now
	if f.planned && p.anything() {
		end = &f.nowIf
	}
	if end.cut || !p.OK() {
		return nil
	}
	return views.Say("In the end: " + end.end.Sentence.At(end.end.At))
}

// Bounds are the numbers behind the steps, as the loop computes them.
func (f *Plans) Bounds(p *Proposal) []views.WhatIfBound {
	a, b := facts.Numbers(deployment.Numbers(p.From)), facts.Numbers(deployment.Numbers(&p.to))
	list := []views.WhatIfBound{{Label: "ceiling", Now: ceilingText(a), If: ceilingText(b)}, {Label: "floor", Now: floorText(a), If: floorText(b)}}
	if p.From.Strategy != "RollingUpdate" {
		list = nil
	}
	if now := heldEquation(&f.now); now != "" {
		then := now
		if f.planned {
			then = heldEquation(&f.nowIf)
		}
		if then == "" {
			then = "nothing is held back"
		}
		list = append(list, views.WhatIfBound{Label: "held back", Now: now, If: then})
	}
	return list
}

func ceilingText(n facts.Numbers) string {
	return words.Digits(n.Or("wanted")) + " wanted + " + words.Digits(n.Or("surge")) + " surge = " + words.Digits(n.Or("ceiling"))
}

func floorText(n facts.Numbers) string {
	return words.Digits(n.Or("wanted")) + " wanted − " + words.Digits(n.Or("unavailable")) + " unavailable = " + words.Digits(n.Or("floor"))
}

// heldEquation is the arithmetic of the first write that is held back in the end
// of the first row of a plan.
func heldEquation(f *simulation) string {
	rows := f.rows()
	if len(rows) == 0 {
		return ""
	}
	for _, h := range rows[0].held {
		if h.Equation != nil {
			return words.Equation(h.Equation)
		}
	}
	return ""
}

// Views are the plans side by side.
func (f *Plans) Views(p *Proposal) []views.Comparison {
	now := views.Comparison{Title: "From now on", Now: planOf("As it is", &f.now)}
	all := views.Comparison{Title: "A whole rollout", Note: "of a new template, in which every pod becomes ready", Now: planOf("As it is", &f.all)}
	all.Now.Chart = views.Draw(all.Now.Shown(), f.all.floor, f.all.ceiling, chartLabel(&f.all))
	if f.planned {
		a, b := planOf("What if", &f.nowIf), planOf("What if", &f.allIf)
		b.Chart = views.Draw(b.Shown(), f.allIf.floor, f.allIf.ceiling, chartLabel(&f.allIf))
		differ(&now.Now, &a)
		differ(&all.Now, &b)
		now.If, all.If = &a, &b
		now.Now.Quiet, a.Quiet = a.Sentence == now.Now.Sentence || !p.anything(), true // It is the second sentence of the page.
	}
	all.Now.Sentence = "" // It is complete, as every one is.
	if all.If != nil {
		all.If.Sentence = ""
	}
	return []views.Comparison{now, all}
}

func chartLabel(f *simulation) string {
	least, most, _ := f.extremes()
	return "Planned sizes: at most " + words.Digits(most) + " pods, at least " + words.Digits(least) + " available"
}

// Assumptions say what a plan is worth.
func Assumptions(seq uint64, p *Proposal) []views.Text {
	pace := "Pods become ready one at a time, oldest first."
	if n := readyScheduleOf(max(p.From.Want, p.to.Want)); n > 1 {
		pace = "Pods become ready " + words.Digits(n) + " at a time, oldest first."
	}
	list := []views.Text{
		views.Text{}.Strong("Nothing here is written.").Plain(" The loops decide again on a copy of what sync " + words.Digits(seq) + " saw, until nothing happens any more."),
		views.Say(pace + " No times are predicted. No write fails, and nobody else writes."),
	}
	if stuck := stuckReason(p.From); stuck != "" {
		list = append(list, views.Say("Pods that wait for ").Code(stuck).Plain(" keep waiting, and so do new pods of their template, unless you mark them as ready."))
	}
	return list
}

// stuckReason is why a pod waits that time does not fix, "" where none does.
func stuckReason(s *deployment.Snapshot) string {
	for i := range s.ReplicaSets {
		for _, b := range s.ReplicaSets[i].Blocking {
			if !b.Ready && !sim.Passing(b.Reason) {
				return b.Reason
			}
		}
	}
	return ""
}

// specPatch is a merge patch of what the proposal changes.
type specPatch struct {
	Replicas                *int64         `json:"replicas,omitempty"`
	Paused                  *bool          `json:"paused,omitempty"`
	MinReadySeconds         *int64         `json:"minReadySeconds,omitempty"`
	ProgressDeadlineSeconds *int64         `json:"progressDeadlineSeconds,omitempty"`
	Strategy                *strategyPatch `json:"strategy,omitempty"`
}

type strategyPatch struct {
	RollingUpdate rollingPatch `json:"rollingUpdate"`
}

type rollingPatch struct {
	MaxSurge       any `json:"maxSurge,omitempty"`
	MaxUnavailable any `json:"maxUnavailable,omitempty"`
}

// imagePatch is one operation of a JSON patch. The snapshot knows no names of
// containers, so the image is found by its place.
type imagePatch struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value"`
}

// Commands are what would make the changes for real.
func Commands(p *Proposal) []string {
	var list []string
	to := "kubectl patch " + quoted(deployment.Loop.Name+"/"+p.From.Name) + " -n " + quoted(p.From.Namespace) + " --type="
	if patch := p.patch(); patch != (specPatch{}) {
		list = append(list, to+"merge -p "+quotedJSON(map[string]specPatch{"spec": patch}))
	}
	var images []imagePatch
	for i := range p.to.Images {
		if p.to.Images[i] != p.From.Images[i] {
			images = append(images, imagePatch{"replace", "/spec/template/spec/containers/" + words.Digits(i) + "/image", p.to.Images[i]})
		}
	}
	if len(images) > 0 {
		list = append(list, to+"json -p "+quotedJSON(images))
	}
	return list
}

func (p *Proposal) patch() specPatch {
	var s specPatch
	if p.changed("replicas") {
		s.Replicas = &p.to.Want
	}
	if p.changed("paused") {
		s.Paused = &p.to.Paused
	}
	if p.changed("minReadySeconds") {
		s.MinReadySeconds = &p.to.MinReady
	}
	if p.changed("progressDeadlineSeconds") {
		if s.ProgressDeadlineSeconds = p.to.Deadline; p.to.Deadline == nil {
			s.ProgressDeadlineSeconds = new(int64(maxInt32)) // Null would bring the default back.
		}
	}
	if surge, missing := p.changed("maxSurge"), p.changed("maxUnavailable"); surge || missing {
		s.Strategy = &strategyPatch{}
		if surge {
			s.Strategy.RollingUpdate.MaxSurge = amountValue(p.to.MaxSurge)
		}
		if missing {
			s.Strategy.RollingUpdate.MaxUnavailable = amountValue(p.to.MaxUnavailable)
		}
	}
	return s
}

func amountValue(v *deployment.IntOrPercent) any {
	if v.Percent != "" {
		return v.Percent
	}
	return v.Int
}

// plainWord needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9._/-]+$`)

// quoted is a word of a shell command.
func quoted(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quotedJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // It is made of strings, numbers and booleans.
	}
	return quoted(string(text))
}
