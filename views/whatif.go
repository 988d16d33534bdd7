package views

import (
	"fmt"
	"strings"
	"time"
)

// WhatIf is a plan as it is beside the plan as it would be.
type WhatIf struct {
	Headline string `json:"headline"`
	// Then says how the plan that would be ends.
	Then Text `json:"then,omitempty"`
	// Base is the sync that both plans begin with.
	Base   WhatIfBase    `json:"base"`
	Action string        `json:"-"`
	Fields []WhatIfField `json:"fields"`
	Pods   []WhatIfPod   `json:"pods,omitempty"`
	// All is the choice of every pod at once; PodsError what is wrong with the pods.
	All       *WhatIfPod `json:"allPods,omitempty"`
	PodsError string     `json:"podsError,omitempty"`
	// Bounds are the numbers behind the steps: floor, ceiling, what is held back.
	Bounds []WhatIfBound `json:"bounds,omitempty"`
	// Plans are those from now on, and those of a whole rollout.
	Plans []Comparison `json:"plans"`
	// Commands would do it for real.
	Commands    []string `json:"commands,omitempty"`
	Assumptions []Text   `json:"assumptions"`
	// Permalink names the sync and every change.
	Permalink string `json:"permalink"`
	Reset     string `json:"-"`
}

// WhatIfBase is a recorded sync.
type WhatIfBase struct {
	Seq   uint64    `json:"seq"`
	Epoch string    `json:"epoch"`
	At    time.Time `json:"at"`
	Href  string    `json:"href"`
}

// WhatIfField is one field of the form.
type WhatIfField struct {
	Name  string `json:"name"`
	Now   string `json:"now"`
	Value string `json:"value"`
	// Choices are the values that there can be; none for any.
	Choices []Choice `json:"-"`
	// Most is how many characters may be entered.
	Most    int  `json:"-"`
	Changed bool `json:"changed,omitempty"`
	// Error says what to enter instead.
	Error string `json:"error,omitempty"`
}

// Choice is one value of a field and its word.
type Choice struct{ Value, Word string }

// WhatIfPod is a pod of which something may become.
type WhatIfPod struct {
	Owner string `json:"-"`
	Own   string `json:"-"`
	Name  string `json:"name"`
	Value string `json:"value"` // in the address
	Why   string `json:"why,omitempty"`
	Ready bool   `json:"ready,omitempty"`
	Fails bool   `json:"fails,omitempty"`
}

// WhatIfBound is a number of both plans.
type WhatIfBound struct {
	Label string `json:"label"`
	Now   string `json:"now"`
	If    string `json:"if"`
}

// Differs reports whether the plans differ in it.
func (b WhatIfBound) Differs() bool { return b.Now != b.If }

// Comparison is two plans that begin at the same moment.
type Comparison struct {
	Title string `json:"title"`
	Note  string `json:"note,omitempty"`
	Now   Plan   `json:"now"`
	If    *Plan  `json:"if,omitempty"` // nil as long as a field is wrong
}

// Plan is the steps of a rollout.
type Plan struct {
	Title string    `json:"title"`
	Facts []Figured `json:"facts"`
	Rows  []PlanRow `json:"steps"`
	// Hidden is how many rows the page leaves out.
	Hidden int  `json:"-"`
	End    Mark `json:"end"`
	// Sentence is what the loop says in the end.
	Sentence string `json:"sentence,omitempty"`
	// Takes is how long after its beginning it ends; "" where no times are told.
	Takes string `json:"takes,omitempty"`
	// Quiet plans leave it out, where it stands on the page already.
	Quiet bool `json:"-"`
	// Cut says why the plan stops before its end.
	Cut   string     `json:"cut,omitempty"`
	Chart *PlanChart `json:"-"`
}

// Shown are the rows that the page has.
func (p Plan) Shown() []PlanRow { return p.Rows[:len(p.Rows)-p.Hidden] }

// Figured is a number with its words, and whether it differs in the other plan.
type Figured struct {
	Label   string `json:"label"`
	Value   int64  `json:"value"`
	Differs bool   `json:"differs,omitempty"`
}

// PlanRow is the sizes after one event.
type PlanRow struct {
	When string `json:"after"`
	Then string `json:"then,omitempty"`
	Mark *Mark  `json:"mark,omitempty"`
	// New, Old, Total and Available are the pods after it.
	New       Cell `json:"new"`
	Old       Cell `json:"old"`
	Total     Cell `json:"total"`
	Available Cell `json:"available"`
}

// Cells are the numbers in the order of the columns.
func (r PlanRow) Cells() []Cell { return []Cell{r.New, r.Old, r.Total, r.Available} }

// Cell is a number and whether it differs in the other plan.
type Cell struct {
	N       int64 `json:"n"`
	Differs bool  `json:"differs,omitempty"`
}

// PlanChart is the sizes as areas, one column for a row; paths are in units of its box.
type PlanChart struct {
	Label                       string
	Width, Height               int
	Old, New, Available, Limits string
	FloorAt, CeilingAt          string // percent of the height
	FloorText, CeilingText      string
	FloorBelow                  bool
}

// Draw makes the chart of some rows. Everything it places is a number of theirs.
func Draw(rows []PlanRow, floor, ceiling int64, label string) *PlanChart {
	c := &PlanChart{Label: label, Width: 1000, Height: 96}
	top := max(ceiling, 1)
	for _, r := range rows {
		top = max(top, r.Total.N, r.Available.N)
	}
	y := func(n int64) string { return pct(4 + 90*(1-float64(n)/float64(top))) }
	x := func(i int) string { return pct(1000 * float64(i) / float64(max(1, len(rows)))) }
	var total, newPods, available strings.Builder
	for i, r := range rows {
		for b, n := range map[*strings.Builder]int64{&total: r.Total.N, &newPods: r.New.N, &available: r.Available.N} {
			fmt.Fprintf(b, "%s%s %sH%s", map[bool]string{true: "M", false: "L"}[i == 0], x(i), y(n), x(i+1))
		}
	}
	ground := fmt.Sprintf("V%sH0Z", y(0))
	c.Old, c.New, c.Available = total.String()+ground, newPods.String()+ground, available.String()
	c.Limits = fmt.Sprintf("M0 %sH1000M0 %[2]sH1000", y(ceiling), y(floor))
	c.CeilingText, c.FloorText = fmt.Sprintf("ceiling %d", ceiling), fmt.Sprintf("floor %d", floor)
	c.CeilingAt, c.FloorAt = y(ceiling), y(floor)
	return c
}
