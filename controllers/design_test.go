package controllers

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every departure from Kubernetes is held by something: a test or a golden that
// exists under the name the register gives.
func TestDeparturesAreTested(t *testing.T) {
	design, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t)
	quoted := regexp.MustCompile("`([^`]+)`")
	entries := 0
	for line := range strings.Lines(string(design)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !regexp.MustCompile(`^\| \d+$`).MatchString(cells[0]) {
			continue
		}
		entries++
		held := quoted.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(held) == 0 {
			t.Errorf("nothing holds %s", line)
		}
		for _, h := range held {
			if !tests[h[1]] && !golden(h[1]) {
				t.Errorf("entry %s names %s, which does not exist", strings.Trim(cells[0], "| "), h[1])
			}
		}
	}
	if entries < 20 {
		t.Errorf("only %d entries were read: has the table changed its shape?", entries)
	}
}

func golden(name string) bool {
	dir, file, found := strings.Cut(name, "/")
	if !found {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "testdata", "golden", file+".txtar"))
	return err == nil
}

// testNames are the test functions of the whole project.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(source, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
