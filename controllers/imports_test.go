package controllers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/loopscope/loopscope"

// source is one package as go list sees it.
type source struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func TestImportTable(t *testing.T) {
	packages := list(t)
	seen := map[string]bool{}
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		seen[name] = true
		i := slices.IndexFunc(rules, func(r rule) bool { return r.pkg == name })
		if i < 0 {
			t.Errorf("%s has no rule: say in the table what it may import, and why", name)
			continue
		}
		for _, problem := range violations(rules[i], p) {
			t.Error(problem)
		}
	}
	for _, r := range rules {
		if seen[r.pkg] == r.later {
			t.Errorf("%s: there is one = %v, comes later = %v; correct its rule", r.pkg, seen[r.pkg], r.later)
		}
	}
}

// violations lists what a package imports against its rule.
func violations(r rule, p source) (problems []string) {
	for _, path := range p.Imports {
		if why := forbidden(r, path); why != "" {
			problems = append(problems, fmt.Sprintf("%s imports %s: %s", r.pkg, path, why))
		}
	}
	if !r.pure {
		return problems
	}
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		of, ours := strings.CutPrefix(path, module+"/")
		switch {
		case ours && of != r.pkg && !allowed(slices.Concat(pureOnes, pureTestOurs), of, exactly), !ours && !standard(path) && !allowed(pureTestThird, path, within):
			problems = append(problems, fmt.Sprintf("a test of %s imports %s: tests of pure packages build without Kubernetes", r.pkg, path))
		}
	}
	for _, file := range p.GoFiles {
		problems = append(problems, clockReads(filepath.Join(p.Dir, file), nil)...)
	}
	return problems
}

// forbidden says why the package may not import the path, "" if it may.
func forbidden(r rule, path string) string {
	of, ours := strings.CutPrefix(path, module+"/")
	switch {
	case strings.HasPrefix(of, "cmd/sandbox"):
		return "nothing imports the sandbox, as it drags in all of Kubernetes"
	case ours && !allowed(r.ours, of, exactly), !ours && !standard(path) && !allowed(r.third, path, within):
		return "the table does not allow it, as " + r.why
	case standard(path) && r.pure:
		for _, ban := range pureBans {
			if within(ban.path, path) {
				return ban.why
			}
		}
	}
	return ""
}

func allowed(list []allowance, path string, match func(allowed, path string) bool) bool {
	return slices.ContainsFunc(list, func(a allowance) bool { return match(a.path, path) })
}

func exactly(allowed, path string) bool { return allowed == path }

func within(allowed, path string) bool {
	return path == allowed || strings.HasPrefix(path, allowed+"/")
}

// standard reports whether the path is of the standard library, whose first
// element has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// clockReads lists uses of the clock in a file; text is its content, nil to read it.
func clockReads(file string, text any) (problems []string) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	name := ""
	for _, spec := range parsed.Imports {
		if spec.Path.Value != `"time"` {
			continue
		}
		if name = "time"; spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			return []string{fmt.Sprintf("%s imports time as \".\", which hides uses of the clock", set.Position(spec.Pos()))}
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); ok && name != "" && of.Name == name && clockBans[selector.Sel.Name] != "" {
			problems = append(problems, fmt.Sprintf("%s uses time.%s: %s", set.Position(n.Pos()), selector.Sel.Name, clockBans[selector.Sel.Name]))
		}
		return true
	})
	return problems
}

// list asks the go command for every package of the module.
func list(t *testing.T) []source {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []source
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p source
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// TestSandboxImports reads the nested module's files, as listing it would need
// all of Kubernetes.
func TestSandboxImports(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../cmd/sandbox", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files++
		for _, imported := range importsOf(t, path) {
			of, ours := strings.CutPrefix(imported, module+"/")
			if ours && !strings.HasPrefix(of, "cmd/sandbox/") && !allowed(sandboxOurs, of, exactly) {
				t.Errorf("%s imports %s: the sandbox runs the app and looks at it from outside", path, imported)
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("read %d files of the sandbox: %v", files, err)
	}
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// TestImportTableBites plants one forbidden import of each kind.
func TestImportTableBites(t *testing.T) {
	for _, tt := range []struct {
		pkg, imports string
		ok           bool
	}{
		{"telemetry/decision", "time", true},
		{"telemetry/decision", "net", false},
		{"telemetry/decision", "net/http", false},
		{"telemetry/decision", "log/slog", false},
		{"telemetry/decision", "math/bits", true},
		{"telemetry/decision", "math/rand/v2", false},
		{"telemetry/decision", "k8s.io/api/apps/v1", false},
		{"telemetry/decision", module + "/controllers/replicaset", false},
		{"controllers/replicaset", module + "/telemetry/decision", true},
		{"controllers/replicaset", module + "/controllers/deployment", false},
		{"controllers/replicaset", module + "/controllers", false},
		{"controllers/deployment/effects", "net/http", true},
		{"controllers/deployment/effects", "k8s.io/apimachinery/pkg/types", true},
		{"controllers/deployment/effects", "k8s.io/apiserver/pkg/server", false},
		{"controllers/deployment/effects", module + "/controllers/replicaset/effects", false},
		{"controllers/deployment/effects", module + "/web", false},
		{"controllers/engine", module + "/controllers/deployment", false},
		{"controllers/engine", module + "/controllers/family", false},
		{"controllers/engine", module + "/web", false},
		{"controllers/engine", module + "/telemetry/metrics", false},
		{"controllers", "k8s.io/apimachinery/pkg/types", false},
		{"controllers", module + "/web", false},
		{"controllers", module + "/telemetry/metrics", false},
		{"telemetry", "github.com/prometheus/client_golang/prometheus", false},
		{"telemetry/metrics", "k8s.io/client-go/kubernetes", false},
		{"views", module + "/telemetry", false},
		{"views", "github.com/a-h/templ/runtime", true},
		{"static", module + "/views", false},
		{"web", module + "/controllers", false},
		{"web/object", module + "/web/list", false},
		{"web/live", module + "/web/object", false},
		{"web/page", module + "/web/subject", false},
		{"web/words", module + "/web/page", false},
		{"web/facts", module + "/views", false},
		{"web", module + "/telemetry/metrics", false},
		{"web", module + "/controllers/deployment", true},
		{"cmd/internal/app", module + "/telemetry/metrics", true},
		{"cmd/internal/app", module + "/cmd/sandbox", false},
		{"cmd/loopscope", module + "/controllers", false},
		{"cmd/loopscope", module + "/controllers/replicaset", true},
		{"cmd/loopscope", "k8s.io/client-go/kubernetes", false},
	} {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.pkg == tt.pkg })
		if why := forbidden(rules[i], tt.imports); (why == "") != tt.ok {
			t.Errorf("%s imports %s: allowed = %v (%s), want %v", tt.pkg, tt.imports, why == "", why, tt.ok)
		}
	}
	kubernetes := source{XTestImports: []string{module + "/telemetry/decision", "k8s.io/api/apps/v1"}}
	if got := violations(rules[0], kubernetes); len(got) != 1 {
		t.Errorf("a Kubernetes import in a test of a pure package gives %q, want one problem", got)
	}
}

// TestClockReadsBites plants uses of the clock, and uses of time that read none.
func TestClockReadsBites(t *testing.T) {
	for _, tt := range []struct {
		body string
		want int
	}{
		{`import "time"; var a = time.Second; func f(t time.Time) time.Time { return t.Add(a) }`, 0},
		{`import "time"; var a = time.Now()`, 1},
		{`import "time"; var now = time.Now`, 1},
		{`import clock "time"; func f() { <-clock.After(clock.Second); clock.Sleep(1) }`, 2},
		{`import . "time"; var a = Now()`, 1},
		{`type t struct{ Now func() }; var time t; var a = time.Now`, 0},
	} {
		if got := clockReads("planted.go", "package planted; "+tt.body); len(got) != tt.want {
			t.Errorf("%s gives %q, want %d problems", tt.body, got, tt.want)
		}
	}
}
