package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// collect finds every plant of the packages that match: not in tests, generated
// files, or commands, whose main nobody's tests run.
func collect(dir string, patterns []string) ([]plant, error) {
	loaded, err := packages.Load(&packages.Config{
		Dir:  dir,
		Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("read the packages: %w", err)
	}
	var plants []plant
	for _, pkg := range loaded {
		if len(pkg.Errors) > 0 {
			return nil, fmt.Errorf("%s does not compile, so nothing can be planted there: %w", pkg.PkgPath, pkg.Errors[0])
		}
		if pkg.Name == "main" {
			continue
		}
		for i, file := range pkg.Syntax {
			if ast.IsGenerated(file) {
				continue
			}
			found, err := collectFile(dir, pkg, file, pkg.CompiledGoFiles[i])
			if err != nil {
				return nil, err
			}
			plants = append(plants, found...)
		}
	}
	if len(plants) == 0 {
		return nil, errors.New("there is nothing to plant in " + strings.Join(patterns, " "))
	}
	number(plants)
	return plants, nil
}

// number tells plants apart that are called the same, in the order of the file.
func number(plants []plant) {
	slices.SortStableFunc(plants, func(a, b plant) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), strings.Compare(a.kind, b.kind))
	})
	seen := map[plant]int{}
	for i := range plants {
		name := plants[i]
		name.line, name.start, name.end, name.text = 0, 0, 0, ""
		seen[name]++
		plants[i].nth = seen[name]
	}
}

// collector finds the plants of one file.
type collector struct {
	set    *token.FileSet
	info   *types.Info
	source []byte
	pkg    string
	name   string
	file   string
	fn     string
	// results are those of the functions that the walk is in, innermost last.
	results []*types.Tuple
	// plain are literals that are no amounts.
	plain  map[ast.Node]bool
	plants []plant
}

func collectFile(dir string, pkg *packages.Package, file *ast.File, name string) ([]plant, error) {
	source, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(dir, name)
	if err != nil {
		return nil, err
	}
	below = filepath.ToSlash(below)
	c := collector{name: pkg.Name, set: pkg.Fset, info: pkg.TypesInfo, source: source, pkg: path.Dir(below), file: below, plain: map[ast.Node]bool{}}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			c.fn = funcName(d)
			if d.Body != nil {
				c.within(pkg.TypesInfo.Defs[d.Name].Type(), d.Body)
			}
		case *ast.GenDecl:
			c.variables(d)
		}
	}
	return c.plants, nil
}

// variables finds plants in the values of variables. A constant has no right value
// that a test could know but by repeating it.
func (c *collector) variables(d *ast.GenDecl) {
	if d.Tok != token.VAR {
		return
	}
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		c.fn = "var " + v.Names[0].Name
		for _, value := range v.Values {
			c.walk(value)
		}
	}
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	return "(" + types.ExprString(d.Recv.List[0].Type) + ")." + d.Name.Name
}

// within walks the body of a function of this type.
func (c *collector) within(fn types.Type, body ast.Node) {
	c.results = append(c.results, fn.(*types.Signature).Results())
	c.walk(body)
	c.results = c.results[:len(c.results)-1]
}

func (c *collector) walk(node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			c.within(c.info.TypeOf(n), n.Body)
			return false
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.IfStmt:
			c.guard(n)
		case *ast.CaseClause:
			c.caseOf(n)
		case *ast.BinaryExpr:
			c.comparison(n)
			c.conditions(n)
			c.sum(n)
		case *ast.ReturnStmt:
			c.swallow(n)
		case *ast.CallExpr:
			c.arguments(n)
			c.bound(n)
		case *ast.KeyValueExpr:
			c.precondition(n)
		case *ast.AssignStmt:
			c.preconditionSet(n)
		case *ast.IndexExpr:
			c.plain[n.Index] = true
		case *ast.SliceExpr:
			c.plain[n.Low], c.plain[n.High], c.plain[n.Max] = true, true, true
		case *ast.ArrayType:
			c.plain[n.Len] = true
		case *ast.BasicLit:
			c.literal(n)
		}
		return true
	})
}

// add plants text in the place of a node.
func (c *collector) add(kind string, n ast.Node, text string) {
	c.addBetween(kind, n.Pos(), n.End(), text)
}

func (c *collector) addBetween(kind string, pos, end token.Pos, text string) {
	p := plant{pkg: c.pkg, name: c.name, file: c.file, fn: c.fn, kind: kind, text: text,
		line: c.set.Position(pos).Line, start: c.set.Position(pos).Offset, end: c.set.Position(end).Offset}
	p.before = lines(c.source, p.start, p.end)
	planted := slices.Concat(c.source[:p.start], []byte(text), c.source[p.end:])
	p.after = lines(planted, p.start, p.start+len(text))
	c.plants = append(c.plants, p)
}

func (c *collector) src(n ast.Node) string {
	return string(c.source[c.set.Position(n.Pos()).Offset:c.set.Position(n.End()).Offset])
}
