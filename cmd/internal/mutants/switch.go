package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// All plants of a package that are in functions are compiled into one test binary,
// as compiling and linking takes longer than most tests. A function with plants has
// a copy for each of them, and begins with a look at which one is switched on:
//
//	func (t *turn) hold(n int) bool {
//		if mutantsOn == 3 { return t.hold_mutant3(n) }
//		...
//
// What is outside of functions is planted in its place, into a binary of its own.

// variable says in a test's environment which plant is switched on; 0 is none.
const variable = "LOOPSCOPE_MUTANT"

// switchFile is the file that an overlay adds to a package.
func switchFile(pkg string) string {
	return "package " + pkg + `

import (
	"os"
	"strconv"
)

var mutantsOn, _ = strconv.Atoi(os.Getenv("` + variable + `"))

func mutantsDrop[T any](T) (none T) { return none }
`
}

// mutant is a plant with its number in the binary.
type mutant struct {
	plant  plant
	number int
}

// switched is the text of a file with all its mutants in it.
func switched(path string, source []byte, mutants []mutant) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	t := text{set: set, source: source}
	var copies bytes.Buffer
	for _, s := range mutants {
		if s.plant.outside() {
			t.edits = append(t.edits, edit{s.plant.start, s.plant.end, s.plant.text})
		}
	}
	for _, decl := range file.Decls {
		fn, is := decl.(*ast.FuncDecl)
		if !is || fn.Body == nil {
			continue
		}
		var switches strings.Builder
		for _, s := range mutants {
			if s.plant.outside() || s.plant.start < t.at(fn.Body.Pos()) || s.plant.end > t.at(fn.Body.End()) {
				continue
			}
			t.name(fn)
			fmt.Fprintf(&switches, " if mutantsOn == %d { %s };", s.number, t.call(fn, s.number))
			fmt.Fprintf(&copies, "\n//line %s:1\n%s\n", marker(s.number), t.copy(fn, s))
		}
		if switches.Len() > 0 {
			t.edits = append(t.edits, edit{t.at(fn.Body.Lbrace) + 1, t.at(fn.Body.Lbrace) + 1, switches.String()})
		}
	}
	return append(applied(source, 0, t.edits), copies.Bytes()...), nil
}

// marker is the name that the compiler gives to the copy of a mutant.
func marker(number int) string { return fmt.Sprintf("mutant-%d.go", number) }

// edit replaces bytes of a file.
type edit struct {
	start, end int
	text       string
}

// applied is source, which begins at from in its file, with the edits in it.
func applied(source []byte, from int, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, source[at:e.start-from]...), e.text...)
		at = e.end - from
	}
	return append(out, source[at:]...)
}

// text is a file in which functions get switches.
type text struct {
	set    *token.FileSet
	source []byte
	edits  []edit
	named  *ast.FuncDecl // the function whose parameters were named last
	args   []string      // and what they are called
}

func (t *text) at(pos token.Pos) int { return t.set.Position(pos).Offset }

// name gives names to the parameters that have none, as a switch passes them on.
func (t *text) name(fn *ast.FuncDecl) {
	if t.named == fn {
		return
	}
	t.named, t.args = fn, nil
	for _, list := range []*ast.FieldList{fn.Recv, fn.Type.Params} {
		if list == nil {
			t.args = append(t.args, "")
			continue
		}
		for _, field := range list.List {
			t.nameField(field)
		}
	}
}

func (t *text) nameField(field *ast.Field) {
	more := ""
	if _, variadic := field.Type.(*ast.Ellipsis); variadic {
		more = "..."
	}
	if len(field.Names) == 0 {
		name := fmt.Sprintf("mutantsArg%d", len(t.args))
		t.edits = append(t.edits, edit{t.at(field.Type.Pos()), t.at(field.Type.Pos()), name + " "})
		t.args = append(t.args, name+more)
	}
	for _, ident := range field.Names {
		name := ident.Name
		if name == "_" {
			name = fmt.Sprintf("mutantsArg%d", len(t.args))
			t.edits = append(t.edits, edit{t.at(ident.Pos()), t.at(ident.End()), name})
		}
		t.args = append(t.args, name+more)
	}
}

// call is the call of a function's copy.
func (t *text) call(fn *ast.FuncDecl, number int) string {
	call := fmt.Sprintf("%s_mutant%d", fn.Name.Name, number)
	if fn.Recv != nil {
		call = t.args[0] + "." + call
	}
	if fn.Type.TypeParams != nil {
		var params []string
		for _, field := range fn.Type.TypeParams.List {
			for _, name := range field.Names {
				params = append(params, name.Name)
			}
		}
		call += "[" + strings.Join(params, ", ") + "]"
	}
	call += "(" + strings.Join(t.args[1:], ", ") + ")"
	if fn.Type.Results == nil {
		return call + "; return"
	}
	return "return " + call
}

// copy is a function with a mutant in it, under another name.
func (t *text) copy(fn *ast.FuncDecl, s mutant) []byte {
	from := t.at(fn.Type.Func)
	return applied(t.source[from:t.at(fn.End())], from, []edit{
		{t.at(fn.Name.End()), t.at(fn.Name.End()), fmt.Sprintf("_mutant%d", s.number)},
		{s.plant.start, s.plant.end, s.plant.text},
	})
}

// overlay writes what makes go read the texts instead of the files at their paths.
func overlay(scratch string, texts map[string][]byte) (string, error) {
	paths := map[string]string{}
	for path, text := range texts {
		to := filepath.Join(scratch, fmt.Sprintf("%d-%s", len(paths), filepath.Base(path)))
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return "", err
		}
		paths[path] = to
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": paths})
	if err != nil {
		return "", err
	}
	file := filepath.Join(scratch, "overlay.json")
	return file, os.WriteFile(file, list, 0o600)
}
