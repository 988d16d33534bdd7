package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"hash/fnv"
	"slices"
	"strings"
)

// The kinds of mistakes. What is dropped is still evaluated, so that no variable and
// no import becomes unused.
const (
	kindPrecondition = "precondition" // a write no longer says what it was decided on
	kindComparison   = "comparison"   // < for <=, == for !=
	kindCondition    = "condition"    // one operand of && or || no longer counts
	kindGuard        = "guard"        // an early exit or a case is never taken
	kindError        = "error"        // an error is not looked at, or not returned
	kindArguments    = "arguments"    // two neighbours of one type change places
	kindAmount       = "amount"       // one more or one less
)

// swapped has for every comparison the one that it is easily taken for.
var swapped = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
}

func (c *collector) comparison(n *ast.BinaryExpr) {
	if to, is := swapped[n.Op]; is {
		c.addBetween(kindComparison, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String())
	}
}

func (c *collector) conditions(n *ast.BinaryExpr) {
	drop, is := map[token.Token]string{token.LAND: " || true)", token.LOR: " && false)"}[n.Op]
	if !is {
		return
	}
	for _, operand := range []ast.Expr{n.X, n.Y} {
		if nested, is := operand.(*ast.BinaryExpr); is && nested.Op == n.Op {
			continue // Its own operands are dropped.
		}
		c.add(kindCondition, operand, "("+c.src(operand)+drop)
	}
}

// never is the text of a condition that does not hold any more.
func (c *collector) never(cond ast.Expr) string { return "(" + c.src(cond) + ") && false" }

func (c *collector) guard(n *ast.IfStmt) {
	if n.Else != nil || len(n.Body.List) == 0 || !leaves(n.Body.List[len(n.Body.List)-1]) {
		return
	}
	kind := kindGuard
	if cond, is := n.Cond.(*ast.BinaryExpr); is && cond.Op == token.NEQ && isError(c.info.TypeOf(cond.X)) {
		kind = kindError
	}
	c.add(kind, n.Cond, c.never(n.Cond))
}

func leaves(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok != token.FALLTHROUGH
	}
	return false
}

// caseOf plants in the cases of a switch without a tag, whose conditions are bools.
func (c *collector) caseOf(n *ast.CaseClause) {
	for _, cond := range n.List {
		if c.info.Types[cond].IsValue() && isBool(c.info.TypeOf(cond)) && c.info.Types[cond].Value == nil {
			c.add(kindGuard, cond, c.never(cond))
		}
	}
}

// swallow plants in returns of errors.
func (c *collector) swallow(n *ast.ReturnStmt) {
	results := c.results[len(c.results)-1]
	if results.Len() != len(n.Results) {
		return
	}
	for i, value := range n.Results {
		if isError(results.At(i).Type()) && !c.info.Types[value].IsNil() {
			c.add(kindError, value, "mutantsDrop[error]("+c.src(value)+")")
			c.beside(n.Results[:i])
		}
	}
}

// beside marks the literals that are returned with an error: nobody reads them.
func (c *collector) beside(values []ast.Expr) {
	for _, value := range values {
		if literal, is := value.(*ast.BasicLit); is {
			c.plain[literal] = true
		}
	}
}

// conditional are the fields that say what a write was decided on.
var conditional = []string{"uid", "rv", "resourceversion", "preconditions"}

func (c *collector) precondition(n *ast.KeyValueExpr) {
	if key, is := n.Key.(*ast.Ident); is && c.isField(key) {
		c.drop(key.Name, n.Value)
	}
}

func (c *collector) preconditionSet(n *ast.AssignStmt) {
	if len(n.Lhs) != len(n.Rhs) {
		return
	}
	for i, to := range n.Lhs {
		if field, is := to.(*ast.SelectorExpr); is && c.isField(field.Sel) {
			c.drop(field.Sel.Name, n.Rhs[i])
		}
	}
}

func (c *collector) isField(name *ast.Ident) bool {
	v, is := c.info.Uses[name].(*types.Var)
	return is && v.IsField()
}

func (c *collector) drop(field string, value ast.Expr) {
	if slices.Contains(conditional, strings.ToLower(field)) && c.info.Types[value].Value == nil {
		c.add(kindPrecondition, value, "mutantsDrop("+c.src(value)+")")
	}
}

// symmetric are beginnings of names of functions that do not mind the order.
var symmetric = []string{"Equal", "DeepEqual", "equal", "Same", "same", "ContainsAny"}

// arguments swaps neighbours, but not in tables of words: only a reader knows theirs.
func (c *collector) arguments(n *ast.CallExpr) {
	sig, is := c.info.TypeOf(n.Fun).(*types.Signature)
	if !is || c.info.Types[n.Fun].IsType() || c.info.Types[n.Fun].IsBuiltin() || commutes(n.Fun) {
		return
	}
	params := sig.Params()
	fixed := params.Len()
	if sig.Variadic() {
		fixed--
	}
	for i := 0; i+1 < min(fixed, len(n.Args)); i++ {
		a, b := n.Args[i], n.Args[i+1]
		words := c.info.Types[a].Value != nil && c.info.Types[b].Value != nil && len(c.results) == 0
		if types.Identical(params.At(i).Type(), params.At(i+1).Type()) && c.src(a) != c.src(b) && !words {
			between := string(c.source[c.set.Position(a.End()).Offset:c.set.Position(b.Pos()).Offset])
			c.addBetween(kindArguments, a.Pos(), b.End(), c.src(b)+between+c.src(a))
		}
	}
}

func commutes(fn ast.Expr) bool {
	name := ""
	switch fn := fn.(type) {
	case *ast.Ident:
		name = fn.Name
	case *ast.SelectorExpr:
		name = fn.Sel.Name
	}
	return slices.ContainsFunc(symmetric, func(s string) bool { return strings.HasPrefix(name, s) })
}

// literal plants in decimal numbers that are amounts of something.
func (c *collector) literal(n *ast.BasicLit) {
	if n.Kind != token.INT || c.plain[n] || !c.isAmount(n) || (len(n.Value) > 1 && n.Value[0] == '0') {
		return
	}
	c.amount(n)
}

// amount makes it one more or one less, always the same for the same text.
func (c *collector) amount(n ast.Expr) {
	sum, sign := fnv.New32a(), " + 1)"
	if _, _ = sum.Write([]byte(c.fn + c.src(n))); sum.Sum32()%2 == 1 {
		sign = " - 1)"
	}
	c.add(kindAmount, n, "("+c.src(n)+sign)
}

// sum plants in sums and differences.
func (c *collector) sum(n *ast.BinaryExpr) {
	switch n.Op {
	case token.ADD, token.SUB:
		if c.isAmount(n) && !c.plain[n] && c.info.Types[n].Value == nil {
			c.plain[n.X], c.plain[n.Y] = true, true // One more is one more.
			c.amount(n)
		}
	case token.SHL, token.SHR:
		c.plain[n.X], c.plain[n.Y] = true, true
	}
}

// bound plants in what min and max give, and knows which arguments are no amounts.
func (c *collector) bound(n *ast.CallExpr) {
	switch fn := n.Fun.(type) {
	case *ast.Ident:
		builtin := c.info.Types[fn].IsBuiltin()
		if builtin && fn.Name == "make" {
			for _, size := range n.Args[1:] {
				ast.Inspect(size, func(part ast.Node) bool { c.plain[part] = true; return true })
			}
		}
		if builtin && (fn.Name == "min" || fn.Name == "max") && c.isAmount(n) && !c.plain[n] {
			c.amount(n)
		}
	case *ast.SelectorExpr:
		if of, is := fn.X.(*ast.Ident); is && of.Name == "strconv" { // Bases and sizes in bits.
			for _, arg := range n.Args[1:] {
				c.plain[arg] = true
			}
		}
	}
}

// isAmount reports whether a value is a whole number of something. A time is none:
// how long to wait is a choice, and no test waits to see it.
func (c *collector) isAmount(n ast.Expr) bool {
	t := c.info.TypeOf(n)
	basic, is := t.Underlying().(*types.Basic)
	return is && basic.Info()&types.IsInteger != 0 && t.String() != "time.Duration"
}

var errorType = types.Universe.Lookup("error").Type()

func isError(t types.Type) bool { return types.Identical(t, errorType) }

func isBool(t types.Type) bool {
	basic, is := t.Underlying().(*types.Basic)
	return is && basic.Info()&types.IsBoolean != 0
}
