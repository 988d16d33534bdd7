package syncs

import (
	"fmt"
	"strconv"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/words"
)

// foldAfter is how many questions in a row may stand on a path unasked before
// they fold into one line.
const foldAfter = 3

// mergedPath merges the questions of a path with those of the catalogue that were not
// asked, so that a reader sees what would have been asked next.
type mergedPath struct {
	questions []decision.Question
	asked     map[string]bool // on this path
	entered   map[string]bool // branches with an asked question
	next      int             // first question of the catalogue that is not placed yet
	nodes     []views.Node
}

// pathOf places one path. All questions from the catalogue's from to its to
// (exclusive) belong to it.
func pathOf(questions []decision.Question, path decision.Path) []views.Node {
	t := mergedPath{questions: questions, asked: map[string]bool{}, entered: map[string]bool{}}
	for _, step := range path {
		t.asked[step.Question] = true
		if q, ok := t.find(step.Question); ok && q.Branch != "" {
			t.entered[q.Branch] = true
		}
	}
	for i := range path {
		t.step(&path[i])
	}
	t.skipTo(len(questions))
	return t.nodes
}

func (t *mergedPath) find(id string) (decision.Question, bool) {
	i := t.index(id)
	if i < 0 {
		return decision.Question{}, false
	}
	return t.questions[i], true
}

func (t *mergedPath) index(id string) int {
	for i := range t.questions {
		if t.questions[i].ID == id {
			return i
		}
	}
	return -1
}

func (t *mergedPath) step(step *decision.Step) {
	if i := t.index(step.Question); i >= t.next {
		t.skipTo(i)
		t.next = i + 1
	}
	q, _ := t.find(step.Question)
	t.nodes = append(t.nodes, nodeOf(q, step))
}

// skipTo places the questions before that index which were not asked.
func (t *mergedPath) skipTo(index int) {
	var skipped []decision.Question
	flush := func() {
		t.skip(skipped)
		skipped = nil
	}
	for ; t.next < index; t.next++ {
		q := t.questions[t.next]
		if t.asked[q.ID] {
			continue // Asked out of its order: it stands where it was asked.
		}
		if len(skipped) > 0 && skipped[0].Branch != q.Branch {
			flush()
		}
		skipped = append(skipped, q)
	}
	flush()
}

// skip places questions of one branch that were not asked.
func (t *mergedPath) skip(list []decision.Question) {
	if len(list) == 0 {
		return
	}
	branch := list[0].Branch
	if branch != "" && !t.entered[branch] || len(list) > foldAfter {
		title := prose.Count(len(list), "question") + " not asked"
		if branch != "" {
			title = branchTitle(branch) + ": " + title
		}
		fold := views.Node{State: views.NotNeeded, StateIs: "not asked", Title: title}
		for _, q := range list {
			fold.Fold = append(fold.Fold, views.Link{Text: q.Text, Href: q.ID})
		}
		t.nodes = append(t.nodes, fold)
		return
	}
	for _, q := range list {
		t.nodes = append(t.nodes, views.Node{State: views.NotAsked, StateIs: "not asked", ID: q.ID, Rule: address.Rule(q.Tag), Question: q.Text, Answer: "not asked"})
	}
}

// branchTitle says when a branch is entered, where its name alone does not.
func branchTitle(branch string) string {
	if branch == "learnt" {
		return "asked only if a write revealed something new"
	}
	return branch
}

// nodeOf is a question as it was answered. A question that no catalogue
// declares shows its id alone.
func nodeOf(q decision.Question, step *decision.Step) views.Node {
	n := views.Node{State: views.Taken, StateIs: "decided", ID: step.Question, Question: q.Text, Answer: step.Answer, Facts: words.Facts(step.Facts)}
	answer, known := q.Answer(step.Answer)
	switch {
	case step.Holds:
		n.State, n.StateIs = views.Stopped, "held a write back"
	case known && answer.Passes:
		n.State, n.StateIs = views.Passed, "passed"
	}
	if q.Text == "" {
		n.Question = step.Question
	} else {
		n.Rule = address.Rule(q.Tag)
	}
	for _, a := range q.Answers {
		if a.Is != answer.Is && a.Then != "" {
			n.Exits = append(n.Exits, exit(a))
		}
	}
	if step.Equation != nil {
		n.Equation = equationOf(step.Equation, step.Holds)
	}
	return n
}

func exit(a decision.Answer) string {
	if a.Is == decision.Any {
		return "else → " + a.Then
	}
	return a.Is + " → " + a.Then
}

func equationOf(e *decision.Equation, stops bool) *views.Equation {
	v := &views.Equation{Result: termOf(e.Result), Stops: stops}
	v.Result.Label = e.ResultLabel()
	for _, t := range e.Terms {
		v.Terms = append(v.Terms, termOf(t))
	}
	return v
}

func termOf(t decision.Term) views.Term {
	return views.Term{Label: t.Label, Value: strconv.FormatInt(t.Value, 10), Origin: t.Origin}
}

// roundsOf places every round of a sync, and the questions of its report. The
// questions of a catalogue belong to the rounds up to the first that the report
// asked: those stand in its part.
func (s *Teller) roundsOf(t *telemetry.Trace) (rounds []views.Round, report []views.Node) {
	questions := s.Catalogue(t.Loop).Questions
	deciding, settling := questions, []decision.Question(nil)
	if at := reportStart(questions, t); at >= 0 {
		deciding, settling = questions[:at], questions[at:]
	}
	for i, r := range t.Rounds {
		rounds = append(rounds, views.Round{Number: i + 1, Learnt: learnt(r.Learnt), Path: pathOf(deciding, r.Verdict.Path)})
	}
	if t.Report != nil {
		report = pathOf(settling, t.Report.Path)
	}
	for i := range rounds {
		s.explained(t.Loop, rounds[i].Path)
	}
	s.explained(t.Loop, report)
	return rounds, report
}

// explained leads every question to its place in the diagram of the loop: its
// text, where Kubernetes asks it, and how often it was answered in each way.
func (s *Teller) explained(loop string, nodes []views.Node) {
	for i := range nodes {
		if nodes[i].ID != "" {
			nodes[i].Href = s.QuestionHref(loop, nodes[i].ID)
		}
		for k := range nodes[i].Fold {
			nodes[i].Fold[k].Href = s.QuestionHref(loop, nodes[i].Fold[k].Href)
		}
	}
}

// reportStart is the index of the first question that the report asked and no
// round did, -1 for none.
func reportStart(questions []decision.Question, t *telemetry.Trace) int {
	if t.Report == nil || len(t.Report.Path) == 0 {
		return -1
	}
	first := t.Report.Path[0].Question
	for i, q := range questions {
		if q.ID == first {
			return i
		}
	}
	return -1
}

// learnt says what the round before had found out.
func learnt(l decision.Learnt) views.Text {
	var t views.Text
	switch {
	case l.NameTaken != nil && l.NameTaken.Mine && l.NameTaken.SameTemplate:
		t = views.Say("Learnt: ").Code(l.NameTaken.Name).Plain(" exists already, belongs to it and has the same template.")
	case l.NameTaken != nil:
		t = views.Say("Learnt: the name ").Code(l.NameTaken.Name).Plain(" is taken by another object.")
	case l.Parent != "":
		t = views.Sayf("Learnt by a live read: it is %s.", l.Parent)
	case len(l.ChildrenGone) > 0:
		t = views.Say("Learnt: " + fmt.Sprint(len(l.ChildrenGone)) + " of its children are gone.")
	case l.NamespaceTerminating:
		t = views.Say("Learnt: the namespace is being deleted, so nothing can be created.")
	case l.Unkept != nil:
		t = views.Sayf("Learnt: the API server took the write and did not keep it (%s): a policy or webhook takes it away again.", l.Unkept)
	}
	return t
}
