package mutants_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mutant is one part that is left out.
type mutant struct {
	number int    // from 1 on
	file   string // below variants
	text   string // identifies it as long as its file does not change
}

// edit inserts text at an offset, in the order of the second number where there are several.
type edit struct {
	at, order int
	text      string
}

// rewriter guards the mutants of one file.
type rewriter struct {
	fset    *token.FileSet
	file    string
	source  string
	stack   []ast.Node // the nodes around the present one, and that
	mutants []mutant
	next    int // the number of the next mutant
	edits   []edit
}

func (r *rewriter) note(n ast.Node, what string) int {
	at := r.fset.Position(n.Pos())
	text, _, _ := strings.Cut(r.text(n), "\n")
	r.mutants = append(r.mutants, mutant{r.next, r.file, fmt.Sprintf("%s:%d:%d\t%s: %s", r.file, at.Line, at.Column, what, text)})
	r.next++
	return r.next - 1
}

// wrap makes a mutant of a node by text before and after it. The number takes the place of # in the former.
func (r *rewriter) wrap(n ast.Node, what, before, after string) {
	r.around(n, n, strings.ReplaceAll(before, "#", strconv.Itoa(r.note(n, what))), after)
}

// follow makes a mutant of a statement by a statement after it.
func (r *rewriter) follow(n ast.Node, what, after string) {
	r.around(n, n, "", "; "+strings.ReplaceAll(after, "#", strconv.Itoa(r.note(n, what))))
}

// value makes a mutant in which an expression has another value. A type is given where the compiler cannot infer it.
func (r *rewriter) value(n ast.Node, what, of, instead string) {
	r.wrap(n, what, "mutantValue"+of+"(#, ", ", "+instead+")")
}

// around inserts text before the first node and after the last. What is inserted later is inside.
func (r *rewriter) around(first, last ast.Node, before, after string) {
	order := len(r.edits) + 1
	r.edits = append(r.edits, edit{r.offset(first.Pos()), order, before}, edit{r.offset(last.End()), -order, after})
}

func (r *rewriter) rewritten() string {
	slices.SortFunc(r.edits, func(a, b edit) int { return cmp.Or(a.at-b.at, a.order-b.order) })
	var out strings.Builder
	from := 0
	for _, e := range r.edits {
		out.WriteString(r.source[from:e.at] + e.text)
		from = e.at
	}
	return out.String() + r.source[from:]
}

func (r *rewriter) offset(p token.Pos) int { return r.fset.Position(p).Offset }

func (r *rewriter) text(n ast.Node) string { return r.source[r.offset(n.Pos()):r.offset(n.End())] }

// above returns the node so many levels above the present one.
func (r *rewriter) above(levels int) ast.Node { return r.stack[len(r.stack)-1-levels] }

// visit makes the mutants of a node. A function that takes an Env prepares or audits a run, and is not part of a
// recipe.
func (r *rewriter) visit(n ast.Node) bool {
	if n == nil {
		r.stack = r.stack[:len(r.stack)-1]
		return true
	}
	if f, ok := n.(*ast.FuncDecl); ok && strings.Contains(r.text(f.Type), "variants.Env") {
		return false
	}
	r.stack = append(r.stack, n)
	switch n := n.(type) {
	case *ast.IfStmt:
		r.ifStatement(n)
	case *ast.CaseClause:
		r.cases(n)
	case *ast.DeferStmt:
		r.deferred(n)
	case *ast.AssignStmt:
		r.assignment(n)
	case *ast.CallExpr:
		r.call(n)
	case *ast.SelectorExpr:
		if r.text(n) == "zk.FlagEphemeral" {
			r.value(n, "persistent", "[int32]", "0")
		}
	case *ast.CompositeLit:
		r.literal(n)
	}
	return true
}

// The names by which the operators know what they leave out.
var (
	checks    = regexp.MustCompile(`\.Fired\(\)|zk\.Err|\brepeated\b|[vV]ersion|Owner|ID\(\)|SessionLost|Overtakes|Outages|OutcomeUnknown|Contains`)
	answers   = regexp.MustCompile(`^(errors\.Is|slices\.Contains(Func)?|IsClosed|refused|.*\.Fired)$`) // functions that check something
	waits     = regexp.MustCompile(`(^|\.)(wait|[aA]wait\w*)$`)
	steps     = regexp.MustCompile(`[sS]ession\.(Sync|Ensure|Discard|Remove)$`) // they return an error, and nothing else
	sets      = regexp.MustCompile(`\.(Set|Delete)$`)                           // the last argument is a version, if it looks like one
	writes    = regexp.MustCompile(`\.Multi$|[jJ]ournal\.Do$`)
	pairs     = regexp.MustCompile(`^c\.Sync$|[jJ]ournal\.Do$`) // they return something else and an error
	watched   = regexp.MustCompile(`\.(Get|Exists|Children|List)W$`)
	versioned = regexp.MustCompile(`^zk\.(SetData|Delete|CheckVersion)Request$`)
)

func (r *rewriter) ifStatement(n *ast.IfStmt) {
	of := r.called(n.Init)
	if n.Else == nil && pairs.MatchString(of) && r.block() != nil {
		r.wrap(n, "leave out", "if !mutantOn(#) { ", " }")
	}
	if n.Else == nil && waits.MatchString(of) && r.block() != nil {
		r.follow(n, "do not read again after", "if mutantOn(#) { "+r.leave()+" }")
	}
	switch cond := r.text(n.Cond); {
	case strings.HasPrefix(cond, "!") && strings.Contains(cond, "OutcomeUnknown"):
		r.wrap(n.Cond, "do not try again unless", "mutantOn(#) || (", ")")
	case checks.MatchString(cond) && !r.isAnswer(n.Cond):
		r.wrap(n.Cond, "leave out if", "!mutantOn(#) && (", ")")
	}
}

// cases leaves out cases of a switch without a tag. If it begins by checking something, all cases are about that.
func (r *rewriter) cases(n *ast.CaseClause) {
	s, ok := r.above(2).(*ast.SwitchStmt)
	if !ok || s.Tag != nil {
		return
	}
	decides := s.Init != nil && checks.MatchString(r.text(s.Init))
	for _, cond := range n.List {
		if (decides || checks.MatchString(r.text(cond))) && !r.isAnswer(cond) {
			r.wrap(cond, "leave out case", "!mutantOn(#) && (", ")")
		}
	}
}

// deferred leaves out what is deferred, except for calls that only free memory, and mutexes, which are not part of an
// algorithm.
func (r *rewriter) deferred(n *ast.DeferStmt) {
	of, block := r.text(n.Call.Fun), r.block()
	i := slices.Index(block, ast.Stmt(n))
	frees := of == "cancel" && i > 0 && strings.Contains(r.text(block[i-1]), "Cleanup(")
	if !frees && !strings.HasSuffix(of, "Unlock") {
		r.wrap(n, "leave out", "if !mutantOn(#) { ", " }")
	}
}

// assignment leaves out watches, and what follows a wait.
func (r *rewriter) assignment(n *ast.AssignStmt) {
	of, block := r.called(n), r.block()
	if block == nil {
		return
	}
	if i := len(n.Lhs) - 2; i >= 0 && watched.MatchString(of) && r.text(n.Lhs[i]) != "_" {
		r.follow(n, "leave out the watch of", "if mutantOn(#) { "+r.text(n.Lhs[i])+" = nil }")
	}
	_, ends := block[min(slices.Index(block, ast.Stmt(n))+1, len(block)-1)].(*ast.ReturnStmt)
	if r.text(n.Lhs[len(n.Lhs)-1]) == "err" && waits.MatchString(of) && !ends {
		r.follow(n, "do not read again after", "if err == nil && mutantOn(#) { "+r.leave()+" }")
	}
}

func (r *rewriter) call(n *ast.CallExpr) {
	of, args := r.text(n.Fun), n.Args
	_, deferred := r.above(1).(*ast.DeferStmt)
	switch {
	case deferred:
	case strings.HasSuffix(of, ".Alive"):
		r.value(n, "leave out", "[error]", "nil")
	case answers.MatchString(of):
		r.value(n, "never", "", "false")
	case of == "session.Unless":
		r.value(args[0], "never", "[error]", "nil")
	case steps.MatchString(of):
		r.wrap(n, "leave out", "mutantCall(#, func() error { return ", " })")
	case strings.HasSuffix(of, ".Synced"):
		r.wrap(n.Fun, "leave out the sync of", "mutantSynced(#, "+strings.TrimSuffix(of, "Synced")+"Retry, ", ")")
	case sets.MatchString(of) && len(args) > 1 && checks.MatchString(r.text(args[len(args)-1])):
		r.value(args[len(args)-1], "any version", "[int32]", "-1")
	case writes.MatchString(of) && !n.Ellipsis.IsValid():
		if r.text(args[0]) == "ctx" {
			args = args[1:]
		}
		r.around(args[0], args[len(args)-1], fmt.Sprintf("mutantOps(%d, ", r.next), ")...")
		r.operations(args)
	}
}

// operations leaves out one operation of a transaction at a time.
func (r *rewriter) operations(all []ast.Expr) {
	for _, op := range all {
		r.note(op, "leave out of a transaction")
	}
}

// literal leaves out the version of a request, and elements of a list of requests.
func (r *rewriter) literal(n *ast.CompositeLit) {
	if n.Type == nil || len(n.Elts) == 0 {
		return
	}
	for _, element := range n.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if ok && versioned.MatchString(r.text(n.Type)) && r.text(pair.Key) == "Version" && r.text(pair.Value) != "-1" {
			r.value(pair.Value, "any version", "[int32]", "-1")
		}
	}
	if r.text(n.Type) == "[]any" && strings.HasPrefix(r.text(n.Elts[0]), "&zk.") {
		r.around(n, n, fmt.Sprintf("mutantOps(%d, ", r.next), "...)")
		r.operations(n.Elts)
	}
}

// called returns the function whose results a statement assigns, as text, and "" if it assigns none.
func (r *rewriter) called(n ast.Stmt) string {
	assign, ok := n.(*ast.AssignStmt)
	if !ok || len(assign.Rhs) != 1 {
		return ""
	}
	if call, ok := assign.Rhs[0].(*ast.CallExpr); ok {
		return r.text(call.Fun)
	}
	return ""
}

// isAnswer reports whether an expression is a call that is left out by itself.
func (r *rewriter) isAnswer(n ast.Expr) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && answers.MatchString(r.text(call.Fun))
}

// block returns the statements among which the present one is, or nil if no other one can follow it.
func (r *rewriter) block() []ast.Stmt {
	switch n := r.above(1).(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

// leave returns a statement that ends the loop around the present statement, if that has a condition, and else the function.
func (r *rewriter) leave() string {
	for i := 1; ; i++ {
		var of *ast.FuncType
		switch n := r.above(i).(type) {
		case *ast.ForStmt:
			if n.Cond != nil {
				return "break"
			}
		case *ast.RangeStmt:
			return "break"
		case *ast.FuncDecl:
			of = n.Type
		case *ast.FuncLit:
			of = n.Type
		}
		if of != nil {
			return "return " + strings.Join(r.zeros(of.Results), ", ")
		}
	}
}

// zeros returns the zero values of a function's results.
func (r *rewriter) zeros(results *ast.FieldList) []string {
	var out []string
	if results != nil {
		for _, f := range results.List {
			zero := "*new(" + r.text(f.Type) + ")"
			out = append(out, slices.Repeat([]string{zero}, max(1, len(f.Names)))...)
		}
	}
	return out
}
