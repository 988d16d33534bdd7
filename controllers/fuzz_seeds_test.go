package controllers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// leastTargets is how many fuzz targets there are at least: everything that is
// read from outside has one.
const leastTargets = 10

// TestFuzzTargetsHaveSeeds: a target without a seed begins with nothing, and
// most of what it tries is refused by the first line of what it tests.
func TestFuzzTargetsHaveSeeds(t *testing.T) {
	targets := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2:
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			targets += seedless(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if targets < leastTargets {
		t.Errorf("%d fuzz targets, want %d", targets, leastTargets)
	}
}

// seedless complains of every target in a file that has no seed, and counts them all.
func seedless(t *testing.T, path string) (targets int) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "Fuzz") || f.Recv != nil {
			continue
		}
		targets++
		kept, _ := os.ReadDir(filepath.Join(filepath.Dir(path), "testdata", "fuzz", f.Name.Name))
		if len(kept) == 0 && !adds(f) {
			t.Errorf("%s: %s has no seed: call f.Add", path, f.Name.Name)
		}
	}
	return targets
}

// adds reports whether a target calls Add on its first parameter.
func adds(f *ast.FuncDecl) (found bool) {
	param := f.Type.Params.List[0].Names[0].Name
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Add" {
			x, is := s.X.(*ast.Ident)
			found = found || is && x.Name == param
		}
		return !found
	})
	return found
}
