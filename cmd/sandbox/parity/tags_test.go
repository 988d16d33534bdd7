package parity

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestEveryRuleIsNamedByATest: a rule that no test, golden or scenario claims in
// words is one that nobody meant to test.
func TestEveryRuleIsNamedByATest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "controllers", "RULES.md"))
	if err != nil {
		t.Fatal(err)
	}
	groups, err := decision.ParseRules(string(text))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string][]string{}
	for file, text := range claims(t) {
		for _, tag := range decision.RuleTag.FindAllString(text, -1) {
			named[tag] = append(named[tag], file)
		}
	}
	for _, g := range groups {
		for _, r := range g.Rules {
			if len(named[r.Tag]) == 0 {
				t.Errorf("no test names [%s] %s", r.Tag, r.Title)
				continue
			}
			t.Logf("%-5s %3d, such as %s", r.Tag, len(named[r.Tag]), named[r.Tag][0])
		}
	}
}

// claims is what tests say about themselves: the source of tests but those of tags,
// the comments of goldens and those of scenarios.
func claims(t *testing.T) map[string]string {
	t.Helper()
	said := map[string]string{}
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		isTest := strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, "tags_test.go")
		isGolden := strings.HasSuffix(path, ".txtar") && filepath.Base(filepath.Dir(path)) == "golden"
		if !isTest && !isGolden {
			return nil
		}
		data, err := os.ReadFile(path)
		if isGolden {
			data = txtar.Parse(data).Comment
		}
		said[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range scripted(t) {
		said["scenario "+scenario.Name] = scenario.About
	}
	return said
}
