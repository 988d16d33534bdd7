package parity

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// tags are the branches of the specification of the loops.
const tags = `D-0 D-1 D-2 D-3 D-4 D-5 D-6 D-7 D-8 D-9 D-10 D-11
S-1 S-2 S-3
RC-1 RC-2 RC-3 RC-4 RC-5 RC-6 RC-7
RR-1 RR-2 RR-3 RR-4 RR-5
RS-0 RS-1 RS-2 RS-3 RS-4 RS-5 RS-6 RS-7 RS-8 RS-9 RS-10 RS-11`

// TestEveryTagIsNamedByATest: a branch that no test, golden or scenario claims
// in words is one that nobody meant to test.
func TestEveryTagIsNamedByATest(t *testing.T) {
	named := map[string][]string{}
	tag := regexp.MustCompile(`\b(?:D|S|RC|RR|RS)-\d+\b`)
	for file, text := range claims(t) {
		for _, name := range tag.FindAllString(text, -1) {
			named[name] = append(named[name], file)
		}
	}
	for _, name := range strings.Fields(tags) {
		if len(named[name]) == 0 {
			t.Errorf("no test names [%s]", name)
			continue
		}
		t.Logf("%-5s %3d, such as %s", name, len(named[name]), named[name][0])
	}
}

// claims is what tests say about themselves: the source of tests but this one,
// the comments of goldens and those of scenarios.
func claims(t *testing.T) map[string]string {
	t.Helper()
	said := map[string]string{}
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		isTest := strings.HasSuffix(path, "_test.go") && filepath.Base(path) != "tags_test.go"
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
