package controllers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// uses are the places of every tag.
type uses map[string][]string

var (
	// lookalikes are words in the shape of a tag, all in capitals and with a number.
	lookalikes = []string{"UTF-8", "FNV-1a"}
	// invented are the tags of questions that tests make up.
	invented = regexp.MustCompile(`^Q-\d$`)
	// sectionNumbers are references to sections of another text.
	sectionNumbers = regexp.MustCompile(`\[\d\.\d+(\.\d+)?\]|\(\d\.\d+\.\d+\)|(?m)^# \d\.\d+(\.\d+)?[: ]|(?i:\b(spec|sections?|§) ?\d+(\.\d+)*\b)`)
)

// TestRulesAndTags: each tag in use is a rule of RULES.md, each rule is in use,
// each belongs to its departures, and nothing refers to sections of another text.
func TestRulesAndTags(t *testing.T) {
	longUnderRace(t)
	defined := map[string]bool{}
	for _, g := range Rules() {
		for _, r := range g.Rules {
			defined[r.Tag] = true
		}
	}
	for _, c := range []decision.Catalogue{deployment.Catalogue, replicaset.Catalogue} {
		for _, q := range c.Questions {
			if !defined[q.Tag] || !strings.HasPrefix(q.ID, q.Tag) {
				t.Errorf("the question %s belongs to %q, which is no rule, or not its own", q.ID, q.Tag)
			}
		}
	}
	used := uses{}
	read := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "bin" || name == "fuzz" || name == "node_modules" || strings.HasPrefix(name, ".") && len(name) > 2 && name != ".ci"):
			return fs.SkipDir
		case d.IsDir() || name == "RULES.md" || name == "DECISIONS.md" || name == "REASONS.md" || name == "LICENSE" || name == "rules_tags_test.go":
			return nil // The generated ones follow the catalogues.
		}
		texts, err := wordsOf(path)
		if err != nil {
			return err
		}
		read++
		for _, problem := range used.add(path, texts) {
			t.Error(problem)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range compareTags(defined, used) {
		t.Error(problem)
	}
	places := 0
	for _, list := range used {
		places += len(list)
	}
	if read < 800 || places < 600 {
		t.Errorf("only %d files with %d tags were read", read, places)
	}
	t.Logf("%d rules, %d tags in use at %d places of %d files", len(defined), len(used), places, read)
}

// wordsOf are the comments and the strings of a Go file, and the whole of any
// other file that people write.
func wordsOf(path string) ([]string, error) {
	switch filepath.Ext(path) {
	case ".go":
		if strings.HasSuffix(path, "_templ.go") {
			return nil, nil // The template has the same words.
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		return wordsOfGo(file), nil
	case ".md", ".templ", ".txtar", ".js", ".css", ".yaml", "":
		text, err := os.ReadFile(path)
		return []string{string(text)}, err
	default:
		return nil, nil
	}
}

func wordsOfGo(file *ast.File) []string {
	var texts []string
	for _, c := range file.Comments {
		texts = append(texts, c.Text())
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
			texts = append(texts, s.Value)
		}
		return true
	})
	return texts
}

// add notes the tags of a file, and returns what it says of sections.
func (u uses) add(path string, texts []string) (problems []string) {
	for _, text := range texts {
		for _, tag := range decision.RuleTag.FindAllString(text, -1) {
			if slices.Contains(lookalikes, tag) || invented.MatchString(tag) && strings.HasSuffix(path, "_test.go") {
				continue
			}
			u[tag] = append(u[tag], path)
		}
		for _, number := range sectionNumbers.FindAllString(text, -1) {
			problems = append(problems, fmt.Sprintf("%s refers to %q: name a rule of RULES.md", path, number))
		}
	}
	return problems
}

// compareTags finds the tags that are used and not defined, and those that are
// defined and not used.
func compareTags(defined map[string]bool, used uses) (problems []string) {
	for tag, places := range used {
		if !defined[tag] {
			problems = append(problems, fmt.Sprintf("%s of %s is no rule of RULES.md", tag, places[0]))
		}
	}
	for tag := range defined {
		if len(used[tag]) == 0 {
			problems = append(problems, fmt.Sprintf("nothing refers to the rule %s", tag))
		}
	}
	slices.Sort(problems)
	return problems
}

// TestTagsAreChecked shows that the check finds what it looks for. That a rule is
// defined twice is found by decision.ParseRules.
func TestTagsAreChecked(t *testing.T) {
	source := "package x\n\n// f is [RR-1] ([2.13]), see spec 3.6.\nfunc f() string { return \"RR-9.may-go\" + UTF-8 }\n\nvar a = P-1\n"
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	used := uses{}
	got := used.add("x.go", wordsOfGo(file))
	got = append(got, used.add("x_test.go", []string{"Q-1 is made up, and UTF-8 a word."})...)
	got = append(got, used.add("x.go", []string{"Q-2 is not."})...)
	got = append(got, used.add("x.txtar", []string{"# [D-1]: fine\n# 2.5.1: a section\n# 1.5 s later\nversion 2.5.1"})...)
	got = append(got, compareTags(map[string]bool{"RR-1": true, "D-1": true, "P-1": true}, used)...)
	want := []string{
		`x.go refers to "[2.13]": name a rule of RULES.md`,
		`x.go refers to "spec 3.6": name a rule of RULES.md`,
		`x.txtar refers to "# 2.5.1:": name a rule of RULES.md`,
		`x.txtar refers to "# 1.5 ": name a rule of RULES.md`,
		"Q-2 of x.go is no rule of RULES.md",
		"RR-9 of x.go is no rule of RULES.md",
		"nothing refers to the rule P-1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRulesAndDepartures: a rule names the departures that the register enters for
// it, and no other; and the words of a rule name rules that exist.
func TestRulesAndDepartures(t *testing.T) {
	design, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	entered := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \|`).FindAllStringSubmatch(string(design), -1) {
		for _, tag := range strings.Split(m[2], ", ") {
			entered[tag] = append(entered[tag], m[1])
		}
	}
	if len(entered) < 20 {
		t.Fatalf("the register has %d tags: has it changed its shape?", len(entered))
	}
	named := regexp.MustCompile(`departures? \d+(?:(?:,| and) \d+)*`)
	number := regexp.MustCompile(`\d+`)
	rules := map[string]decision.Rule{}
	for _, g := range Rules() {
		for _, r := range g.Rules {
			rules[r.Tag] = r
		}
	}
	for tag, list := range entered {
		if rules[tag].Tag == "" {
			t.Errorf("the departures %v are of %q, which is no rule", list, tag)
		}
	}
	for tag, r := range rules {
		var departures []string
		for _, words := range named.FindAllString(r.Text, -1) {
			departures = append(departures, number.FindAllString(words, -1)...)
		}
		slices.Sort(departures)
		slices.Sort(entered[tag])
		if diff := cmp.Diff(entered[tag], slices.Compact(departures)); diff != "" {
			t.Errorf("%s names other departures than the register (-register +rule):\n%s", tag, diff)
		}
		for _, other := range decision.RuleTag.FindAllString(r.Text, -1) {
			if rules[other].Tag == "" && !slices.Contains(lookalikes, other) {
				t.Errorf("%s names %s, which is no rule", tag, other)
			}
		}
	}
}
