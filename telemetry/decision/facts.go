package decision

// Answer returns how a question was answered on this path and whether it was asked.
func (p Path) Answer(question string) (string, bool) {
	for i := range p {
		if p[i].Question == question {
			return p[i].Answer, true
		}
	}
	return "", false
}

// Facts returns where the worker stands as facts that a sentence may count with.
func (t Try) Facts() []Fact {
	if t == (Try{}) {
		return nil
	}
	return []Fact{Count("try", t.Number), Count("tries", t.Limit)}
}

// Facts collects every fact of a sync: those of the questions of all rounds
// and of the report (nil for none), the terms of every equation under their
// labels, and what is passed besides (key numbers, the facts of the try). A
// Number in the sync's sentence must be one of them.
func Facts(rounds []Round, report *Report, besides ...Fact) []Fact {
	var list []Fact
	for _, r := range rounds {
		list = append(list, r.Verdict.Path.facts()...)
		for _, h := range r.Verdict.Held {
			list = append(list, h.Equation.facts()...)
		}
	}
	if report != nil {
		list = append(list, report.Path.facts()...)
	}
	return append(list, besides...)
}

func (p Path) facts() []Fact {
	var list []Fact
	for _, step := range p {
		list = append(append(list, step.Facts...), step.Equation.facts()...)
	}
	return list
}

func (e *Equation) facts() []Fact {
	if e == nil {
		return nil
	}
	list := make([]Fact, 0, len(e.Terms)+1)
	for _, t := range append(e.Terms[:len(e.Terms):len(e.Terms)], e.Result) {
		list = append(list, Count(t.Label, t.Value))
	}
	return list
}

// Strays returns the numbers in words that are no fact of the given ones, and
// the plain words that hold a digit: a sentence without strays can be checked
// against its trace.
func (w Words) Strays(facts []Fact) []string {
	var list []string
	for _, p := range w {
		switch p.Kind {
		case Plain:
			if hasDigit(p.Text) {
				list = append(list, p.Text)
			}
		case Number:
			if !holds(facts, p) {
				list = append(list, p.Fact+" "+Count("", p.N).Value.String())
			}
		}
	}
	return list
}

func holds(facts []Fact, p Part) bool {
	want := Count(p.Fact, p.N)
	for _, f := range facts {
		if f.Name == want.Name && f.Value.Equal(want.Value) {
			return true
		}
	}
	return false
}

func hasDigit(s string) bool {
	for _, r := range s {
		if r >= '0' && r <= '9' {
			return true
		}
	}
	return false
}
