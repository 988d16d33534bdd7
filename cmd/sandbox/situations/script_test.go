package situations_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/loopscope/loopscope/cmd/sandbox/parity"
)

// situation is one script of testdata/scripts: steps of package parity that are
// played in a namespace of the situation's name. The steps at its end that wait
// say that it holds. $NS is the namespace. Comments that begin with one of these
// words say more:
//
//	of OBJECT       whose sentence it is, where it is not that of Deployment web
//	plane nodes     it touches nodes
//	no deadline     no progress deadline is ever over, and why
//	finally STEP    puts back what others would stumble over
type situation struct {
	name    string
	object  string
	plane   string
	lasting bool
	text    string
	finally []string
}

func readCorpus(t *testing.T) []situation {
	t.Helper()
	files, err := filepath.Glob("testdata/scripts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var corpus []situation
	known := map[string]bool{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, script := range archive.Files {
			if known[script.Name] {
				t.Fatalf("two situations are called %s", script.Name)
			}
			known[script.Name] = true
			corpus = append(corpus, readSituation(script.Name, string(script.Data)))
		}
	}
	return corpus
}

func readSituation(name, text string) situation {
	s := situation{name: name, object: "d/web", text: text}
	for line := range strings.Lines(text) {
		comment, isComment := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !isComment {
			continue
		}
		if word, found := strings.CutPrefix(comment, "of "); found {
			s.object = word
		}
		if word, found := strings.CutPrefix(comment, "plane "); found {
			s.plane = word
		}
		if step, found := strings.CutPrefix(comment, "finally "); found {
			s.finally = append(s.finally, step)
		}
		s.lasting = s.lasting || strings.HasPrefix(comment, "no deadline")
	}
	return s
}

// steps are those of the script, and what of them says that the situation holds.
func (s situation) steps(t *testing.T, hook *webhook) (steps, holds []parity.Step) {
	t.Helper()
	scenario, err := parity.Parse(s.name, s.resolve(s.text, hook))
	if err != nil {
		t.Fatal(err)
	}
	last := len(scenario.Steps)
	for last > 0 && scenario.Steps[last-1].Waits() {
		last--
	}
	return scenario.Steps, scenario.Steps[last:]
}

func (s situation) resolve(text string, hook *webhook) string {
	return strings.NewReplacer("$NS", s.name, "$HOOK", hook.server.URL, "$CA", hook.authority()).Replace(text)
}

// TestCorpus keeps scripts and golden texts together.
func TestCorpus(t *testing.T) {
	corpus := readCorpus(t)
	if len(corpus) < fewest {
		t.Errorf("%d situations, want %d at least", len(corpus), fewest)
	}
	hook, known := startWebhook(t), map[string]bool{outage: true}
	for _, s := range corpus {
		known[s.name] = true
		if _, holds := s.steps(t, hook); len(holds) == 0 {
			t.Errorf("%s: no step at its end says that it holds", s.name)
		}
		if _, err := os.Stat(goldenPath(s.name)); err != nil {
			t.Errorf("%s has no golden text: %v", s.name, err)
		}
	}
	files, err := filepath.Glob(goldenPath("*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".txt"); !known[name] {
			t.Errorf("%s is the golden text of no situation", file)
		}
	}
}
