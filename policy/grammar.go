package policy

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxWords is the most words to which the braces of one word may expand.
const maxWords = 1000

// readClosed parses a line of the closed grammar. Any other construct is denied
// by name, with advice.
//
// The parser need not agree with any shell, because no shell reads the text:
// the result of print runs.
func readClosed(text string) (list, error) {
	file, err := parse(text)
	if err != nil {
		return nil, err
	}
	if len(file.Stmts) == 0 {
		return nil, outside("a line without a command", "give a command")
	}
	var l list
	for i, s := range file.Stmts {
		joined := ";"
		if i == 0 {
			joined = ""
		}
		if l, err = l.statement(s, joined); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// outside returns the denial of a construct that the closed grammar does not
// have.
func outside(construct, instead string) error {
	return &denial{
		why: construct + " is not accepted where commands have to be allowed: shells read it in different ways, " +
			"or it hides what runs",
		instead: instead,
	}
}

// statement appends the commands of s.
func (l list) statement(s *syntax.Stmt, joined string) (list, error) {
	switch {
	case s.Background || s.Disown:
		return nil, outside(
			"a command in the background (&)",
			"leave the & out: a command that takes long goes on when the call returns",
		)
	case s.Coprocess:
		return nil, outside("a coprocess", "run the command by itself")
	}
	// && and || join pipelines. A redirection of both sides would need a group.
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.AndStmt || b.Op == syntax.OrStmt) {
		if s.Negated || len(s.Redirs) > 0 {
			return nil, outside("a group of commands", "write ! or the redirection at each command")
		}
		l, err := l.statement(b.X, joined)
		if err != nil {
			return nil, err
		}
		return l.statement(b.Y, b.Op.String())
	}
	if b, ok := s.Cmd.(*syntax.Block); ok && !s.Negated && len(s.Redirs) == 0 &&
		(joined == "" || joined == ";") { // the braces change nothing
		for i, inner := range b.Stmts {
			if i > 0 {
				joined = ";"
			}
			var err error
			if l, err = l.statement(inner, joined); err != nil {
				return nil, err
			}
		}
		return l, nil
	}
	p := pipeline{joined: joined, negated: s.Negated}
	if err := p.add(s); err != nil {
		return nil, err
	}
	return append(l, p), nil
}

// add appends the commands of a pipeline.
func (p *pipeline) add(s *syntax.Stmt) error {
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok {
		c, err := readSimple(s)
		if err != nil {
			return err
		}
		p.commands = append(p.commands, c)
		return nil
	}
	if b.Op != syntax.Pipe && b.Op != syntax.PipeAll || len(s.Redirs) > 0 || b.X.Negated || b.Y.Negated {
		return outside("a group of commands", "write the commands one after another")
	}
	if err := p.add(b.X); err != nil {
		return err
	}
	// a |& b is a 2>&1 | b.
	if b.Op == syntax.PipeAll {
		last := p.commands[len(p.commands)-1]
		last.redirs = append(last.redirs, redirect{fd: 2, op: ">&", copied: 1})
	}
	return p.add(b.Y)
}

// readSimple reads a simple command.
func readSimple(s *syntax.Stmt) (*simple, error) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	switch {
	case s.Cmd == nil:
		return nil, outside("a redirection without a command", "name the command whose input or output it is")
	case !ok:
		return nil, compound(s.Cmd)
	case len(call.Args) == 0:
		return nil, outside("an assignment without a command", "write NAME=value before the command that it is for")
	case s.Background || s.Coprocess || s.Disown:
		return nil, outside("a command in the background", "leave the & out")
	}
	c := &simple{}
	for _, a := range call.Assigns {
		read, err := readAssign(a)
		if err != nil {
			return nil, err
		}
		c.assigns = append(c.assigns, read)
	}
	for _, w := range call.Args {
		words, err := readTokens(w)
		if err != nil {
			return nil, err
		}
		c.words = append(c.words, words...)
	}
	for _, d := range s.Redirs {
		redirs, err := readRedirect(d)
		if err != nil {
			return nil, err
		}
		c.redirs = append(c.redirs, redirs...)
	}
	return c, nil
}

// compound returns the denial of a command that is not simple.
func compound(c syntax.Command) error {
	apart := "run each command by itself, or put the script into a file that an entry allows"
	switch c := c.(type) {
	case *syntax.BinaryCmd:
		return outside("a group of commands", "write the commands one after another")
	case *syntax.Block:
		return outside("{ ... } with a redirection or in a pipeline", "write the redirection at each command")
	case *syntax.Subshell:
		return outside("a subshell ( ... )", "write the commands without the brackets, and give a folder as the working "+
			"directory of the call")
	case *syntax.IfClause:
		return outside("if", "use && and ||, or "+apart)
	case *syntax.WhileClause:
		return outside("a loop", apart)
	case *syntax.ForClause:
		return outside("a loop", "write the command once for each word, or "+apart)
	case *syntax.CaseClause:
		return outside("case", apart)
	case *syntax.FuncDecl:
		return outside("a function", apart)
	case *syntax.ArithmCmd, *syntax.LetClause:
		return outside("an arithmetic command", "use expr with numbers")
	case *syntax.TestClause:
		return outside("[[ ]]", "use [ ] or test")
	case *syntax.DeclClause:
		return outside(c.Variant.Value, "write NAME=value before the command that it is for")
	case *syntax.TimeClause:
		return outside("time", "leave it out: the answer says how long the command took")
	case *syntax.CoprocClause:
		return outside("coproc", "run the command by itself")
	}
	return outside("a compound command", apart)
}

// readAssign reads NAME=value before a command.
func readAssign(a *syntax.Assign) (assign, error) {
	instead := "write NAME=value with text alone"
	if a.Name == nil || a.Append || a.Naked || a.Index != nil || a.Array != nil {
		return assign{}, outside("this form of an assignment", instead)
	}
	if a.Value == nil {
		return assign{name: a.Name.Value}, nil
	}
	t, err := readToken(a.Value)
	if err != nil {
		return assign{}, err
	}
	value, ok := t.literal()
	if lit, bare := a.Value.Parts[0].(*syntax.Lit); !ok || bare && strings.Contains(lit.Value, "~") {
		return assign{}, outside("a pattern or ~ in the value of a variable", "write the value out, in quotes")
	}
	return assign{name: a.Name.Value, value: value}, nil
}

// readRedirect reads a redirection. A redirection of both outputs becomes two.
func readRedirect(d *syntax.Redirect) ([]redirect, error) {
	fd := -1
	if d.N != nil {
		if d.N.Value != "0" && d.N.Value != "1" && d.N.Value != "2" {
			return nil, outside("a redirection of "+d.N.Value, "use 0, 1 and 2")
		}
		fd = int(d.N.Value[0] - '0')
	}
	out := func(op string) ([]redirect, error) {
		file, err := redirected(d.Word)
		if fd < 0 {
			fd = 1
		}
		if err == nil && fd == 0 {
			err = outside("an input that is written to", "use 1 or 2")
		}
		return []redirect{{fd: fd, op: op, file: file}}, err
	}
	switch d.Op {
	case syntax.RdrOut:
		return out(">")
	case syntax.AppOut:
		return out(">>")
	case syntax.RdrClob:
		return nil, outside(">|", "use >")
	case syntax.RdrAll, syntax.AppAll:
		both, err := out(strings.TrimPrefix(d.Op.String(), "&"))
		return append(both, redirect{fd: 2, op: ">&", copied: 1}), err
	case syntax.RdrIn:
		file, err := redirected(d.Word)
		if err == nil && fd > 0 {
			err = outside("an output that is read from", "use < alone")
		}
		return []redirect{{fd: 0, op: "<", file: file}}, err
	case syntax.DplOut:
		to := d.Word.Lit()
		if fd < 0 {
			fd = 1
		}
		if fd == 0 || to != "1" && to != "2" {
			return nil, outside(">&"+to, "use 2>&1, or > FILE 2>&1")
		}
		return []redirect{{fd: fd, op: ">&", copied: int(to[0] - '0')}}, nil
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return nil, outside(
			"a text for the input of a command ("+d.Op.String()+")",
			"give the text as the call's own input (stdin)",
		)
	}
	return nil, outside("the redirection "+d.Op.String(), "use <, > or >>")
}

// redirected reads the file of a redirection.
func redirected(w *syntax.Word) (*token, error) {
	t, err := readToken(w)
	if err != nil {
		return nil, err
	}
	if t.hasPattern() {
		return nil, outside("a file pattern behind < or >", "write the file's name")
	}
	if text, ok := t.literal(); ok && text == "" {
		return nil, outside("an empty name behind < or >", "write the file's name")
	}
	return t, nil
}

// readTokens reads a word, which may expand to several by its braces ({a,b}).
func readTokens(w *syntax.Word) ([]*token, error) {
	var out []*token
	syntax.SplitBraces(w)
	for one, err := range expand.BracesSeq(nil, w) {
		if err != nil || len(out) == maxWords {
			return nil, unreadable(fmt.Sprintf("its braces make more than %d words", maxWords))
		}
		t, err := readToken(one)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}
