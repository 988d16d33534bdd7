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

// Each row of the table that holds rolling updates against kubectl's is shown by something that
// exists, and each departure of rolling updates is in a row.
func TestKubectlTable(t *testing.T) { checkTable(t, "rollingupdate/KUBECTL.md", "kubectl", "RU-") }

// The same of what is around the loops, held against kube-controller-manager's.
func TestManagerTable(t *testing.T) {
	checkTable(t, "MANAGER.md", "kube-controller-manager", "M-")
}

// checkTable checks the tables of a file whose first column is of another program. The rules of its
// departures begin with that prefix.
func checkTable(t *testing.T, file, other, prefix string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t)
	quoted, differs := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`differs \((\d+)\)`)
	rows, departures := 0, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 || cells[0] == other || strings.HasPrefix(cells[0], "---") {
			continue
		}
		rows++
		t.Logf("%s: %s (%s)", cells[0], cells[1], cells[2])
		held := quoted.FindAllStringSubmatch(cells[2], -1)
		if len(held) == 0 {
			t.Errorf("nothing shows %s", line)
		}
		for _, h := range held {
			if !tests[h[1]] && !golden(h[1]) {
				t.Errorf("%s does not exist, which is to show %s", h[1], cells[0])
			}
		}
		for _, n := range differs.FindAllStringSubmatch(cells[1], -1) {
			departures[n[1]] = true
		}
	}
	if rows < 30 {
		t.Errorf("only %d rows were read: have the tables changed their shape?", rows)
	}
	design, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| `+prefix).FindAllStringSubmatch(string(design), -1) {
		if !departures[m[1]] {
			t.Errorf("departure %s is in no row", m[1])
		}
	}
}
