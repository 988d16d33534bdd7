package plan

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

// Headline says what the changes come to, in numbers of the plans.
func (f *Plans) Headline(name string, of Proposal) string {
	p := of.Asked()
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
	add(a.takes() != b.takes() && a.takes() != "" && b.takes() != "", "it ends after ", b.takes(), " instead of ", a.takes())
	add(b.end.End != a.end.End, "it ends ", endMark(b).Word, " instead of ", endMark(a).Word)
	add(len(list) == 0 && a.deeds() != b.deeds(), "sizes and times stay the same, and the last steps are others")
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
func (f *Plans) Then(of Proposal) views.Text {
	p := of.Asked()
	end := &f.now
	if f.planned && p.anything() {
		end = &f.nowIf
	}
	if end.cut || !p.OK() {
		return nil
	}
	return views.Say("In the end: " + end.end.Sentence.At(end.toldAt()))
}

// Bounds are the numbers behind the steps, as the loop computes them.
func (f *Plans) Bounds(p Proposal) []views.WhatIfBound {
	list := p.limits()
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

func (p *rolloutProposal) limits() []views.WhatIfBound {
	if p.From.Strategy != "RollingUpdate" {
		return nil
	}
	return limitsOf(deployment.Numbers(p.From), deployment.Numbers(&p.to))
}

// limitsOf are floor and ceiling by the numbers as it is and as it would be.
func limitsOf(now, then []decision.Fact) []views.WhatIfBound {
	a, b := facts.Numbers(now), facts.Numbers(then)
	return []views.WhatIfBound{{Label: "ceiling", Now: ceilingText(a), If: ceilingText(b)}, {Label: "floor", Now: floorText(a), If: floorText(b)}}
}

func ceilingText(n facts.Numbers) string {
	return words.Digits(n.Or("wanted")) + " wanted + " + words.Digits(n.Or("ceiling")-n.Or("wanted")) + " surge = " + words.Digits(n.Or("ceiling"))
}

func floorText(n facts.Numbers) string {
	return words.Digits(n.Or("wanted")) + " wanted − " + words.Digits(n.Or("wanted")-n.Or("floor")) + " unavailable = " + words.Digits(n.Or("floor"))
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
func (f *Plans) Views(p Proposal) []views.Comparison {
	now := f.compare(&f.now, &f.nowIf, !f.wholes)
	now.Title = "From now on"
	if now.If != nil {
		now.Now.Quiet, now.If.Quiet = now.If.Sentence == now.Now.Sentence || !p.Asked().anything(), true // It is the second sentence of the page.
	}
	if !f.wholes {
		return []views.Comparison{now}
	}
	all := f.compare(&f.all, &f.allIf, true)
	all.Title, all.Note = "A whole rollout", "of a new template, in which every pod becomes ready"
	all.Now.Sentence = "" // It is complete, as every one is.
	if all.If != nil {
		all.If.Sentence = ""
	}
	return []views.Comparison{now, all}
}

// compare sets two plans side by side, with a chart of each or without.
func (f *Plans) compare(is, would *simulation, chart bool) views.Comparison {
	c := views.Comparison{Now: planOf("As it is", is)}
	draw := func(to *views.Plan, x *simulation) {
		if chart {
			to.Chart = views.Draw(to.Shown(), x.floor, x.ceiling, chartLabel(x))
		}
	}
	draw(&c.Now, is)
	if f.planned {
		then := planOf("What if", would)
		draw(&then, would)
		differ(&c.Now, &then)
		c.If = &then
	}
	return c
}

func chartLabel(f *simulation) string {
	least, most, _ := f.extremes()
	return "Planned sizes: at most " + words.Digits(most) + " pods, at least " + words.Digits(least) + " available"
}

// Assumptions say what a plan is worth.
func (p *rolloutProposal) Assumptions(seq uint64) []views.Text {
	pace := "Pods become ready one at a time, oldest first."
	if n := readyScheduleOf(max(p.From.Want, p.to.Want)); n > 1 {
		pace = "Pods become ready " + words.Digits(n) + " at a time, oldest first."
	}
	list := assumptions(seq, pace+" No times are predicted.", stuckReason(p.From))
	if back := p.imageAssumption(); back != nil {
		list = append(list, back)
	}
	return list
}

// assumptions say what every plan is worth, and how pods fare in it.
func assumptions(seq uint64, pace, stuck string) []views.Text {
	list := []views.Text{
		views.Text{}.Strong("Nothing here is written.").Plain(" The loops decide again on a copy of what sync " + words.Digits(seq) + " saw, until nothing happens any more."),
		views.Say(pace + " No write fails, and nobody else writes."),
	}
	if stuck != "" {
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
func (p *rolloutProposal) Commands() []string {
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

func (p *rolloutProposal) patch() specPatch {
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
