package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sources are the parsed files of the loops and of the record, tests and
// generated code aside. The texts of REASONS.md do not count as a use.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	list := map[string]*ast.File{}
	for _, root := range []string{"../..", "../../../telemetry"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "internal") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			list[path] = file
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(list) < 50 {
		t.Fatalf("read %d files", len(list))
	}
	return list
}

// kinds are the types whose constants are codes, and the kind of their reasons.
var kinds = map[string]string{"Result": "result", "CauseKind": "cause", "State": "outcome", "Tone": "tone", "UnblockEvent": "unblock"}

// TestEveryConstantHasAReason: no constant of these types is without a section,
// and none of them stands there that nothing gives.
func TestEveryConstantHasAReason(t *testing.T) {
	files := sources(t)
	constants, uses := map[string]string{}, map[string]int{}
	declared := map[string]map[string]bool{}
	for path, file := range files {
		for name, c := range constantsOf(file) {
			constants[name] = c.value
			if declared[c.kind] == nil {
				declared[c.kind] = map[string]bool{}
			}
			declared[c.kind][c.value] = true
		}
		if base := filepath.Base(path); base != "reason.go" && base != "reasons.go" {
			countUses(file, uses)
		}
	}
	for name, value := range constants {
		if uses[name] == 0 {
			t.Errorf("nothing gives %s (%q)", name, value)
		}
	}
	for _, kind := range kinds {
		sections := map[string]bool{}
		for _, r := range reasons() {
			if r.Kind != kind {
				continue
			}
			for _, x := range r.List {
				sections[x.Code] = true
				if !declared[kind][x.Code] {
					t.Errorf("the %s %q has a section, and is no constant", kind, x.Code)
				}
			}
		}
		for value := range declared[kind] {
			if !sections[value] {
				t.Errorf("the %s %q has no section", kind, value)
			}
		}
	}
}

type constant struct{ kind, value string }

// constantsOf are the constants of a file whose type is a code.
func constantsOf(file *ast.File) map[string]constant {
	found := map[string]constant{}
	for _, decl := range file.Decls {
		block, ok := decl.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		for _, spec := range block.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok || v.Type == nil || len(v.Values) != 1 {
				continue
			}
			of, ok := v.Type.(*ast.Ident)
			if literal, is := v.Values[0].(*ast.BasicLit); ok && is && kinds[of.Name] != "" {
				value, _ := strconv.Unquote(literal.Value)
				found[v.Names[0].Name] = constant{kinds[of.Name], value}
			}
		}
	}
	return found
}

// countUses counts every name in a function or a value of the file, but those in
// lists of all constants.
func countUses(file *ast.File, uses map[string]int) {
	for _, decl := range file.Decls {
		if block, ok := decl.(*ast.GenDecl); ok && (block.Tok == token.CONST || block.Tok == token.VAR && listsAll(block)) {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				uses[id.Name]++
			}
			return true
		})
	}
}

func listsAll(block *ast.GenDecl) bool {
	v, ok := block.Specs[0].(*ast.ValueSpec)
	return ok && (v.Names[0].Name == "Results" || v.Names[0].Name == "CauseKinds")
}

// speakers are the functions that give a sentence its code, by the place of the
// code among their arguments.
var speakers = map[string]int{"say": 0, "fails": 0, "waits": 0, "moves": 0, "is": 1, "has": 0, "wake": 0, "lookAgain": 0, "timer": 1, "hold": 0}

// TestEveryWrittenCodeHasAReason finds the codes that stand in the source as
// words: the goldens may miss one that is rarely said.
func TestEveryWrittenCodeHasAReason(t *testing.T) {
	sections := map[string]bool{}
	for _, r := range reasons() {
		for _, x := range r.List {
			sections[x.Code] = true
		}
	}
	written := 0
	check := func(path string, e ast.Expr) {
		if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			code, _ := strconv.Unquote(literal.Value)
			written++
			if !sections[code] {
				t.Errorf("%s gives the code %q, which has no section", path, code)
			}
		}
	}
	for path, file := range sources(t) {
		if strings.Contains(path, "telemetry") {
			continue
		}
		pure := strings.HasPrefix(path, "../../deployment/") || strings.HasPrefix(path, "../../replicaset/")
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
					check(path, n.Value)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && pure {
					if at, speaks := speakers[f.Sel.Name]; speaks && at < len(n.Args) {
						check(path, n.Args[at])
					}
				}
			case *ast.CompositeLit:
				if name, ok := n.Type.(*ast.Ident); ok && name.Name == "plight" && len(n.Elts) > 0 {
					check(path, n.Elts[0])
				}
			}
			return true
		})
	}
	if written < 60 {
		t.Errorf("found %d codes in the source: has it changed its shape?", written)
	}
}
