package controllers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/controllers"
)

// TestNoLoopIsNamed: whatever keeps, shows or serves syncs asks the declared loops, and
// has the name of none in its code. What leads from one kind to another names both.
func TestNoLoopIsNamed(t *testing.T) {
	names, files := controllers.Loops.Names(), 0
	for _, dir := range []string{"../telemetry", "../web", "../views", "../cmd/loopscope", "../cmd/internal"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if path == "../cmd/internal/migrate" {
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					if s, _ := strconv.Unquote(text.Value); slices.Contains(names, strings.TrimSuffix(strings.Trim(s, "/"), "s")) {
						t.Errorf("%s names a loop: %s", set.Position(text.Pos()), text.Value)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 200 {
		t.Errorf("only %d files were read", files)
	}
}
