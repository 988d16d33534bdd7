package decision

import (
	"fmt"
	"strconv"
)

// Question is one predicate of a loop, declared once in its Catalogue. Pages,
// CLI, JSON, traces and DECISIONS.md all refer to it by ID.
type Question struct {
	// ID is stable and unique in its catalogue: the tag of a rule, refined where
	// one tag holds several questions ("RR-3.may-go").
	ID string `json:"id"`
	// Tag is the rule of RULES.md that it belongs to ("RR-3").
	Tag string `json:"tag"`
	// Text is the question as a person would ask it.
	Text string `json:"text"`
	// Doc says why it is asked and what follows, in a few whole sentences.
	Doc string `json:"doc"`
	// Upstream names the place where Kubernetes asks the same; empty for a
	// question that only this implementation asks.
	Upstream string `json:"upstream,omitempty"`
	// Answers lists what can be answered.
	Answers []Answer `json:"answers"`
	// Branch groups questions that are only asked behind one answer of another
	// one ("scaling", "recreate", "rolling"); pages fold a branch not entered.
	Branch string `json:"branch,omitempty"`
}

// Any is the Answer.Is of a question that is answered with a number or a name.
const Any = "*"

// Yes and No are the answers of a predicate.
const (
	Yes = "yes"
	No  = "no"
)

// Answer is one way out of a Question.
type Answer struct {
	// Is is "yes", "no", a fixed word, or Any.
	Is string `json:"is"`
	// Then says in a few words what happens on this answer ("create it").
	Then string `json:"then"`
	// Passes marks the ordinary way through a guard: the path shows it quietly.
	Passes bool `json:"passes,omitempty"`
	// Writes lists the kinds of action that may follow from this answer.
	Writes []ActionKind `json:"writes,omitempty"`
	// Next is where the walk may go from here, the usual way first: ids of
	// questions, ToReport or ToEnd. Empty stands for the question that the
	// catalogue has next, or for ToEnd after the last one.
	Next []string `json:"next,omitempty"`
}

// Where an answer leads that leads to no question.
const (
	// ToReport ends the round: what is reported of it is asked next.
	ToReport = "report"
	// ToEnd ends the sync.
	ToEnd = "end"
)

// To returns the answer with where it leads, the usual way first.
func (a Answer) To(next ...string) Answer {
	a.Next = next
	return a
}

// Catalogue is every question of one loop, in the order in which they are asked.
type Catalogue struct {
	Loop      string     `json:"loop"`
	Questions []Question `json:"questions"`
	// Report is where a report may begin, the usual place first: ids of
	// questions, or ToEnd where nothing is left to ask.
	Report []string `json:"report,omitempty"`
}

// Find returns the question with that id.
func (c Catalogue) Find(id string) (Question, bool) {
	for _, q := range c.Questions {
		if q.ID == id {
			return q, true
		}
	}
	return Question{}, false
}

// Answer returns the declared answer that covers what was said.
func (q Question) Answer(is string) (Answer, bool) {
	for _, a := range q.Answers {
		if a.Is == is || a.Is == Any {
			return a, true
		}
	}
	return Answer{}, false
}

// Step is a question as it was asked and answered in one sync.
type Step struct {
	Question string `json:"q"`
	Answer   string `json:"answer"`
	Facts    []Fact `json:"facts,omitempty"`
	// Equation is the arithmetic behind the answer, where there is some.
	Equation *Equation `json:"equation,omitempty"`
	// Holds is set where this answer held a write back.
	Holds bool `json:"holds,omitempty"`
}

// Path is the questions of one round in the order in which they were asked.
// The zero value is ready to record.
type Path []Step

// usualSteps is how many questions a path has room for when it begins, unless it
// was made with more: what a report asks.
const usualSteps = 7

// Ask records a yes-or-no question and returns its answer, so that a predicate
// is its own record.
func (p *Path) Ask(id string, answer bool, facts ...Fact) bool {
	p.Name(id, word(answer), facts...)
	return answer
}

// Name records a question that is answered with a word, a name or a number.
func (p *Path) Name(id, answer string, facts ...Fact) {
	if cap(*p) == 0 {
		*p = make(Path, 0, usualSteps)
	}
	*p = append(*p, Step{Question: id, Answer: answer, Facts: facts})
}

// Count records a question that is answered with a number and returns it.
func (p *Path) Count(id string, n int64, facts ...Fact) int64 {
	p.Name(id, fmt.Sprint(n), facts...)
	return n
}

// Last is the newest step, to which a holder adds its equation.
// It is nil on an empty path and valid until the next question is asked.
func (p Path) Last() *Step {
	if len(p) == 0 {
		return nil
	}
	return &p[len(p)-1]
}

func word(b bool) string {
	if b {
		return Yes
	}
	return No
}

// Equation is a subtraction that a person can check: Terms[0] - Terms[1] - ... = Result.
type Equation struct {
	Terms  []Term `json:"terms"`
	Result Term   `json:"result"`
}

// Said is the result with its label, "3 may go", and what it means where it is less than nothing: "-6: none may go".
func (e *Equation) Said() string {
	value := strconv.FormatInt(e.Result.Value, 10)
	if e.Result.Value >= 0 {
		return value + " " + e.Result.Label
	}
	return value + ": " + e.ResultLabel()
}

// ResultLabel is the label of the result, or of there being nothing: "none may go", "no room".
func (e *Equation) ResultLabel() string {
	switch {
	case e.Result.Value >= 0:
		return e.Result.Label
	case e.Result.Label == "room":
		return "no room"
	default:
		return "none " + e.Result.Label
	}
}

// Term is one number of an Equation and where it came from.
type Term struct {
	Label  string `json:"label"`
	Value  int64  `json:"value"`
	Origin string `json:"origin,omitempty"`
}

// Subtract builds the equation whose result is the first term less all others.
func Subtract(label string, terms ...Term) *Equation {
	e := &Equation{Terms: terms, Result: Term{Label: label}}
	for i, t := range terms {
		if i == 0 {
			e.Result.Value = t.Value
			continue
		}
		e.Result.Value -= t.Value
	}
	return e
}
