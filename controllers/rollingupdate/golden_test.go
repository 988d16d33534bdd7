package rollingupdate_test

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

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/decision/decisiontest"
	"github.com/loopscope/loopscope/telemetry/prose"
)

var update = flag.Bool("update", false, "write what the code says into testdata/golden")

// played is what the code makes of a scene.
type played struct {
	sync decision.Sync
	told decision.Telling
	tell func(time.Time) decision.Sentence // the same sync at another time
}

func play(s *rollingupdate.Snapshot, try decision.Try, outcomes []decision.Outcome) played {
	p := played{sync: decision.Sync{Core: s.Begin()}}
	p.sync.Run(func(decision.Verdict) ([]decision.Outcome, decision.Learnt) { return outcomes, decision.Learnt{} })
	p.told = p.sync.Tell(try, s.Now)
	p.tell = func(at time.Time) decision.Sentence { return p.sync.Tell(try, at).Sentence }
	return p
}

// TestGoldens holds each scene against testdata/golden, and each to what every sync keeps
// to: numbers that are facts, answers and codes that are declared, writes that follow from
// an answer.
func TestGoldens(t *testing.T) {
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			p := play(sc.snapshot, sc.try, sc.outcomes)
			if n := len(p.sync.Rounds[0].Verdict.Actions); len(sc.outcomes) != 0 && len(sc.outcomes) != n {
				t.Fatalf("%d outcomes for %d actions", len(sc.outcomes), n)
			}
			for _, problem := range problems(sc.snapshot, p, sc.try) {
				t.Error(problem)
			}
			file := filepath.Join("testdata/golden", sc.name+".txtar")
			got := render(t, sc, p)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("it differs (-want +got), run with -update to accept:\n%s", diff)
			}
		})
	}
	files, _ := filepath.Glob("testdata/golden/*.txtar")
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".txtar"); !slices.ContainsFunc(scenes, func(s scene) bool { return s.name == name }) {
			t.Errorf("%s is of no scene", f)
		}
	}
}

// TestGoldensCover: every question is seen with each answer that it declares, every code is
// said, and every way of the drawing is walked.
func TestGoldensCover(t *testing.T) {
	answers, codes, walked, timers := map[string]bool{}, map[string]bool{}, map[[3]string]bool{}, map[string]bool{}
	for _, sc := range scenes {
		p := play(sc.snapshot, sc.try, sc.outcomes)
		for _, step := range p.steps() {
			q, _ := rollingupdate.Catalogue.Find(step.Question)
			a, _ := q.Answer(step.Answer)
			answers[q.ID+" "+a.Is] = true
		}
		codes["sentence "+p.told.Sentence.Code] = true
		for _, r := range p.sync.Rounds {
			for _, h := range r.Verdict.Held {
				codes["held "+h.Code] = true
			}
			for _, x := range r.Verdict.Timers {
				timers[x.Code] = true
			}
		}
		for _, h := range decision.Hops(p.sync.Rounds, p.sync.Report) {
			w, ok := graph.Edge(h)
			if !ok && h.To != "" {
				t.Errorf("%s: no way leads from %s (%s) to %s", sc.name, h.From, h.Said, h.To)
			}
			walked[[3]string{w.From, w.Answer.Is, w.To}] = true
		}
	}
	for _, q := range rollingupdate.Catalogue.Questions {
		for _, a := range q.Answers {
			if key := q.ID + " " + a.Is; !answers[key] && !drawn[key] {
				t.Errorf("no golden has %s", key)
			}
		}
	}
	for _, list := range rollingupdate.Reasons {
		for _, x := range list.List {
			if list.Kind == "timer" && !timers[x.Code] || list.Kind != "timer" && !codes[list.Kind+" "+x.Code] {
				t.Errorf("no golden has the %s %s", list.Kind, x.Code)
			}
		}
	}
	for _, w := range graph.Edges {
		if !walked[[3]string{w.From, w.Answer.Is, w.To}] && !drawn[w.From+" "+w.Answer.Is] {
			t.Errorf("no golden walks from %s by %s to %s", w.From, w.Answer.Is, w.To)
		}
	}
}

var graph = rollingupdate.Catalogue.Graph()

// drawn are answers that are declared so that a page can draw the way not taken: the question
// is only asked where the other answer is known.
var drawn = map[string]bool{"RU-6.selector yes": true}

func TestGraphIsWhole(t *testing.T) {
	reached := graph.Reached()
	for _, p := range graph.Nodes {
		if !reached[p.ID] {
			t.Errorf("no way leads to %s", p.ID)
		}
		delete(reached, p.ID)
	}
	for id := range reached {
		t.Errorf("a way leads to %s, which is no question", id)
	}
}

func (p played) steps() []decision.Step {
	var all []decision.Step
	for _, r := range p.sync.Rounds {
		all = append(all, r.Verdict.Path...)
	}
	if p.sync.Report != nil {
		all = append(all, p.sync.Report.Path...)
	}
	return all
}

// problems are what no sync may have.
func problems(s *rollingupdate.Snapshot, p played, try decision.Try) (list []string) {
	told := p.told
	if early := decisiontest.ChangesEarly(told.Sentence, s.Now, p.tell); early != "" {
		list = append(list, early)
	}
	words := slices.Concat(told.Sentence.Lead, told.Sentence.Then)
	facts := decision.Facts(p.sync.Rounds, p.sync.Report, append(slices.Clone(told.Numbers), try.Facts()...)...)
	for _, stray := range words.Strays(facts) {
		list = append(list, fmt.Sprintf("the sentence says %q, which is no fact of the sync", stray))
	}
	for _, part := range words {
		if (part.Kind == decision.Until || part.Kind == decision.Since) && part.At.IsZero() {
			list = append(list, "the sentence has a time part without a time")
		}
	}
	if _, ok := rollingupdate.Codes.Find(told.Sentence.Code); !ok {
		list = append(list, "no section for the code "+told.Sentence.Code)
	}
	for _, step := range p.steps() {
		q, ok := rollingupdate.Catalogue.Find(step.Question)
		if _, declared := q.Answer(step.Answer); !ok || !declared {
			list = append(list, fmt.Sprintf("%s %s is not declared", step.Question, step.Answer))
		}
	}
	for _, r := range p.sync.Rounds {
		list = append(list, undeclared(r.Verdict)...)
	}
	return list
}

// undeclared lists writes of a verdict without a declared reason.
func undeclared(v decision.Verdict) (problems []string) {
	for _, a := range v.Actions {
		i := slices.IndexFunc(v.Path, func(s decision.Step) bool { return s.Question == a.Question })
		if i < 0 {
			problems = append(problems, fmt.Sprintf("%s names question %q, which was not asked", a.Kind, a.Question))
			continue
		}
		q, _ := rollingupdate.Catalogue.Find(a.Question)
		answer, _ := q.Answer(v.Path[i].Answer)
		if !slices.Contains(answer.Writes, a.Kind) {
			problems = append(problems, fmt.Sprintf("%s follows from %s %s, which declares %v", a.Kind, a.Question, answer.Is, answer.Writes))
		}
	}
	for _, h := range v.Held {
		if _, ok := rollingupdate.HeldCodes.Find(h.Code); !ok || h.When.Event == "" || len(h.Unblocks) == 0 {
			problems = append(problems, fmt.Sprintf("held %s for %s does not say what would release it: %+v", h.Kind, h.Code, h))
		}
		if !slices.ContainsFunc(v.Path, func(s decision.Step) bool { return s.Question == h.Question && s.Holds }) {
			problems = append(problems, fmt.Sprintf("held %s names question %q, which does not hold", h.Kind, h.Question))
		}
	}
	return problems
}

func render(t *testing.T, sc scene, p played) []byte {
	t.Helper()
	snapshot, err := json.MarshalIndent(sc.snapshot, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	v := p.sync.Rounds[0].Verdict
	var path, actions, held, report strings.Builder
	renderPath(&path, v.Path)
	if v.Stop || v.Invalid != "" {
		fmt.Fprintf(&path, "stop %v %s\n", v.Stop, v.Invalid)
	}
	for _, a := range v.Actions {
		renderAction(&actions, a)
	}
	for _, h := range v.Held {
		fmt.Fprintf(&held, "%s %s %s [%s] unblocks: %s; %s %d\n", h.Code, h.Kind, h.Target.Name, h.Question, h.Unblocks.At(now), h.When.Event, h.When.Needed)
		for _, b := range h.Blockers {
			fmt.Fprintf(&held, "  %s %s %s %s\n", b.Kind, b.Name, b.Reason, b.Message)
		}
	}
	for _, x := range v.Timers {
		fmt.Fprintf(&held, "timer %s in %s [%s]\n", x.Code, prose.Span(x.At.Sub(now)), x.Question)
	}
	if p.sync.Report != nil {
		for _, e := range p.sync.Report.Events {
			on := ""
			if e.On != nil {
				on = " on " + e.On.Name
			}
			fmt.Fprintf(&report, "event %s %s %q%s\n", e.Type, e.Reason, e.Message, on)
		}
	}
	s := p.told.Sentence
	sentence := s.At(now) + "\n" + string(s.Tone) + " " + s.Code
	if !s.Since.IsZero() {
		sentence += " since " + prose.Span(now.Sub(s.Since))
	}
	if !s.ChangesAt.IsZero() {
		sentence += " turns in " + prose.Span(s.ChangesAt.Sub(now))
	}
	archive := &txtar.Archive{Comment: []byte(sc.comment + "\n"), Files: []txtar.File{{Name: "snapshot.json", Data: append(snapshot, '\n')}}}
	for _, f := range []txtar.File{{Name: "path", Data: []byte(path.String())}, {Name: "actions", Data: []byte(actions.String())}, {Name: "held", Data: []byte(held.String())}, {Name: "report", Data: []byte(report.String())}, {Name: "sentence", Data: []byte(sentence + "\n")}} {
		if len(f.Data) > 0 {
			archive.Files = append(archive.Files, f)
		}
	}
	return txtar.Format(archive)
}

func renderPath(b *strings.Builder, path decision.Path) {
	for _, step := range path {
		fmt.Fprintf(b, "%s %s", step.Question, step.Answer)
		for _, f := range step.Facts {
			fmt.Fprintf(b, " %s=%s", f.Name, f.Value)
		}
		if step.Holds {
			b.WriteString(" holds")
		}
		b.WriteString("\n")
	}
}

func renderAction(b *strings.Builder, a decision.Action) {
	fmt.Fprintf(b, "%s %s %s uid=%s rv=%s %s [%s]", a.Kind, a.Target.Kind, a.Target.Name, a.Target.UID, a.Target.RV, a.Discipline, a.Question)
	if a.Size != nil {
		fmt.Fprintf(b, " %d -> %d", a.Size.From, a.Size.To)
	}
	b.WriteString("\n")
	for _, c := range a.Changes {
		fmt.Fprintf(b, "  %s: %q -> %q\n", c.Field, c.From, c.To)
	}
}

// TestSnapshotsRoundTrip proves that a recorded snapshot is read back whole, and decides alike.
func TestSnapshotsRoundTrip(t *testing.T) {
	for _, sc := range scenes {
		data, err := json.Marshal(sc.snapshot)
		if err != nil {
			t.Fatal(err)
		}
		second, err := rollingupdate.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", sc.name, err)
		}
		a, _ := json.Marshal(rollingupdate.Decide(sc.snapshot))
		b, _ := json.Marshal(rollingupdate.Decide(second))
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s decides otherwise when it is read back", sc.name)
		}
	}
}
