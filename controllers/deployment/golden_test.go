package deployment_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/decision/decisiontest"
)

var update = flag.Bool("update", false, "write what the code says into testdata/golden")

// golden is one recorded sync: its inputs, and its outputs as text.
type golden struct {
	snapshot []byte
	rounds   []roundInput
	publish  *decision.Outcome
	try      decision.Try
	want     map[string]string
}

// roundInput is what acting answered in one round, and what it learnt from it.
type roundInput struct {
	Outcomes []decision.Outcome `json:"outcomes"`
	Learnt   decision.Learnt    `json:"learnt"`
}

// played is what the code makes of a golden.
type played struct {
	snapshot *deployment.Snapshot
	rounds   []decision.Round
	report   *deployment.Report
	telling  decision.Telling
	sentence decision.Sentence // of the telling
	estimate *decision.Estimate
	try      decision.Try
	tell     func(time.Time) decision.Sentence // the same sync at another time
	fuzzed   bool                              // so that names are whatever came up
}

// outputs in the order in which a golden shows them.
var outputs = []string{"path", "actions", "held", "report", "sentence", "estimate"}

func TestGoldens(t *testing.T) {
	for _, file := range goldenFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			g := readGolden(t, file)
			p := play(t, g)
			for _, problem := range p.problems() {
				t.Error(problem)
			}
			got := render(p)
			if *update {
				writeGolden(t, file, got)
				return
			}
			for _, name := range outputs {
				if diff := cmp.Diff(g.want[name], got[name]); diff != "" {
					t.Errorf("%s differs (-want +got), run with -update to accept:\n%s", name, diff)
				}
			}
		})
	}
}

// TestGoldensCover keeps the goldens whole: every question is seen with each
// answer that it declares, every code is said, every way to hold is met.
func TestGoldensCover(t *testing.T) {
	answers := map[string]bool{}
	for _, file := range goldenFiles(t) {
		p := play(t, readGolden(t, file))
		for _, step := range p.steps() {
			q, _ := deployment.Catalogue.Find(step.Question)
			a, _ := q.Answer(step.Answer)
			answers[q.ID+" "+a.Is] = true
		}
	}
	// These answers are declared so that a page can draw the way not taken: the
	// first question is only asked where the other answer is known, and where no
	// old pod is unhealthy, those that may go are just those above the floor.
	unasked := map[string]bool{"RR-1.namespace no": true, "RR-3b 0": true}
	for _, q := range deployment.Catalogue.Questions {
		for _, a := range q.Answers {
			if key := q.ID + " " + a.Is; answers[key] == unasked[key] {
				t.Errorf("%s: seen in a golden = %v, excused = %v", key, answers[key], unasked[key])
			}
		}
	}
}

func goldenFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatalf("found %d goldens (%v), want at least 100", len(files), err)
	}
	return files
}

func readGolden(t testing.TB, file string) golden {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g := golden{want: map[string]string{}}
	for _, f := range archive.Files {
		switch f.Name {
		case "snapshot.json":
			g.snapshot = f.Data
		case "rounds.json":
			unmarshal(t, f.Data, &g.rounds)
		case "publish.json":
			unmarshal(t, f.Data, &g.publish)
		case "try.json":
			unmarshal(t, f.Data, &g.try)
		default:
			g.want[f.Name] = string(f.Data)
		}
	}
	return g
}

func unmarshal(t testing.TB, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func writeGolden(t *testing.T, file string, got map[string]string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return slices.Contains(outputs, f.Name) })
	for _, name := range outputs {
		if got[name] != "" {
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
		}
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// play runs a sync as its golden tells: outcomes by round, and what each found out.
func play(t testing.TB, g golden) played {
	t.Helper()
	s, err := deployment.Decode(g.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	round := 0
	return run(s, g.try, g.publish, func(v decision.Verdict) ([]decision.Outcome, decision.Learnt) {
		round++
		if round > len(g.rounds) {
			return nil, decision.Learnt{}
		}
		if n := len(g.rounds[round-1].Outcomes); n != 0 && n != len(v.Actions) {
			t.Fatalf("round %d has %d outcomes for %d actions", round, n, len(v.Actions))
		}
		return g.rounds[round-1].Outcomes, g.rounds[round-1].Learnt
	})
}

// run runs a sync and tells it as of its snapshot. published is how the write of its
// status ended; nil where none was tried.
func run(s *deployment.Snapshot, try decision.Try, published *decision.Outcome, act decision.Act) played {
	core := deployment.NewSync(s)
	x := decision.Sync{Core: core}
	x.Run(act)
	p := played{snapshot: s, rounds: x.Rounds, try: try, tell: func(now time.Time) decision.Sentence { return x.Tell(try, now).Sentence }}
	if x.Report != nil {
		if x.Report.Publish {
			x.Report.Outcome = published
		}
		p.report = new(*core.Report())
		p.report.Report = *x.Report
	}
	p.telling = x.Tell(try, s.Now)
	p.sentence, p.estimate = p.telling.Sentence, sim.Estimate(s, x.Rounds[len(x.Rounds)-1].Learnt)
	return p
}

// steps are all questions of the sync.
func (p played) steps() []decision.Step {
	var all []decision.Step
	for _, r := range p.rounds {
		all = append(all, r.Verdict.Path...)
	}
	if p.report != nil {
		all = append(all, p.report.Path...)
	}
	return all
}

// lengthOf is how many characters words take. Names are said in full: a fuzzed one that is longer than usual counts
// as a usual one.
func (p played) lengthOf(w decision.Words) int {
	n := utf8.RuneCountInString(w.At(p.snapshot.Now))
	for _, part := range w {
		if p.fuzzed && part.Kind == decision.Name {
			n -= max(0, utf8.RuneCountInString(part.Text)-len("web-7d4b9c6f5x-a"))
		}
	}
	return n
}

// facts are all that the sentence may count with.
func (p played) facts() []decision.Fact {
	besides := slices.Concat(p.telling.Numbers, p.try.Facts(), p.estimate.Facts())
	if p.report == nil {
		return decision.Facts(p.rounds, nil, besides...)
	}
	return decision.Facts(p.rounds, &p.report.Report, besides...)
}

// problems are the rules that every sync obeys: each number that is said is a
// fact, each answer is declared, and no write is without a declared reason.
func (p played) problems() []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	facts := p.facts()
	texts := []decision.Words{p.sentence.Lead, p.sentence.Then}
	if p.estimate != nil {
		texts = append(texts, p.estimate.Words)
	}
	for _, r := range p.rounds {
		for _, h := range r.Verdict.Held {
			texts = append(texts, h.Unblocks)
		}
	}
	for i, w := range texts {
		for _, stray := range w.Strays(facts) {
			add("words say %q, which is no fact of the sync", stray)
		}
		if n := p.lengthOf(w); i < 2 && n > 150 {
			add("%d characters are too many: %s", n, w.At(p.snapshot.Now))
		}
		for _, part := range w {
			if (part.Kind == decision.Until || part.Kind == decision.Since || part.Kind == decision.Clock) && part.At.IsZero() {
				add("a time part has no time: %+v", part)
			}
		}
	}
	list = append(list, p.contradictions()...)
	if t := p.sentence.ChangesAt; !t.IsZero() && !t.After(p.snapshot.Now) {
		add("the sentence turned already, at %s", t)
	}
	if early := decisiontest.ChangesEarly(p.sentence, p.snapshot.Now, p.tell); early != "" {
		add("%s", early)
	}
	for _, step := range p.steps() {
		q, ok := deployment.Catalogue.Find(step.Question)
		if !ok {
			add("question %s is not in the catalogue", step.Question)
		} else if _, ok := q.Answer(step.Answer); !ok {
			add("question %s does not declare the answer %q", step.Question, step.Answer)
		}
	}
	for _, r := range p.rounds {
		list = append(list, undeclared(r.Verdict)...)
		list = append(list, disordered(r.Verdict.Path)...)
	}
	if p.report != nil {
		list = append(list, disordered(slices.Concat(p.rounds[len(p.rounds)-1].Verdict.Path, p.report.Path))...)
	}
	return list
}

// disordered lists questions that are asked before one that the catalogue has
// earlier: pages draw the path in the order of the catalogue.
func disordered(path decision.Path) (problems []string) {
	place := func(id string) int {
		return slices.IndexFunc(deployment.Catalogue.Questions, func(q decision.Question) bool { return q.ID == id })
	}
	for i := 1; i < len(path); i++ {
		if place(path[i].Question) <= place(path[i-1].Question) {
			problems = append(problems, fmt.Sprintf("%s is asked after %s", path[i].Question, path[i-1].Question))
		}
	}
	return problems
}

// undeclared lists writes of a verdict without a declared reason.
func undeclared(v decision.Verdict) (problems []string) {
	for _, a := range v.Actions {
		said, asked := v.Path.Answer(a.Question)
		q, _ := deployment.Catalogue.Find(a.Question)
		answer, _ := q.Answer(said)
		if !asked || !slices.Contains(answer.Writes, a.Kind) {
			problems = append(problems, fmt.Sprintf("%s follows from %s %s, which declares %v", a.Kind, a.Question, answer.Is, answer.Writes))
		}
	}
	for _, h := range v.Held {
		if h.When.Event == "" || len(h.Unblocks) == 0 || h.BlockerCount < int64(len(h.Blockers)) {
			problems = append(problems, fmt.Sprintf("held %s for %s does not say what would release it: %+v", h.Kind, h.Code, h))
		}
		if !slices.ContainsFunc(v.Path, func(s decision.Step) bool { return s.Question == h.Question && s.Holds }) {
			problems = append(problems, fmt.Sprintf("held %s names question %q, which does not hold", h.Kind, h.Question))
		}
	}
	return problems
}

// TestGoldenSnapshotsRoundTrip proves that a recorded snapshot is read back whole.
func TestGoldenSnapshotsRoundTrip(t *testing.T) {
	for _, file := range goldenFiles(t) {
		first, err := deployment.Decode(readGolden(t, file).snapshot)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		second, err := deployment.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !reflect.DeepEqual(first, second) {
			t.Errorf("%s differs after a round trip:\n%s", file, cmp.Diff(first, second))
		}
	}
}
