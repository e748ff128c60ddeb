package grammar

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"ptyctl/internal/lazyregexp"
)

// maxWords is the most words to which the braces of one word may expand.
const maxWords = 1000

// Parse parses a line of the closed grammar. Any other construct is denied
// by name, with advice.
//
// The parser need not agree with any shell, because no shell reads the text:
// the printed line runs.
func Parse(text string) (List, error) {
	file, err := ParseShell(text)
	if err != nil {
		return nil, err
	}
	if len(file.Stmts) == 0 {
		return nil, Outside("a line without a command", "give a command")
	}
	var l List
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

// statement appends the commands of s.
func (l List) statement(s *syntax.Stmt, joined string) (List, error) {
	switch {
	case s.Background || s.Disown:
		return nil, Outside(
			"a command in the background (&)",
			"leave the & out: a command that takes long goes on when the call returns",
		)
	case s.Coprocess:
		return nil, Outside("a coprocess", "run the command by itself")
	}
	// && and || join pipelines. A redirection of both sides would need a group.
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.AndStmt || b.Op == syntax.OrStmt) {
		if s.Negated || len(s.Redirs) > 0 {
			return nil, Outside("a group of commands", "write ! or the redirection at each command")
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
	p := Pipeline{joined: joined, negated: s.Negated}
	if err := p.add(s); err != nil {
		return nil, err
	}
	return append(l, p), nil
}

// add appends the commands of a pipeline.
func (p *Pipeline) add(s *syntax.Stmt) error {
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok {
		c, err := readSimple(s)
		if err != nil {
			return err
		}
		p.Commands = append(p.Commands, c)
		return nil
	}
	if b.Op != syntax.Pipe && b.Op != syntax.PipeAll || len(s.Redirs) > 0 || b.X.Negated || b.Y.Negated {
		return Outside("a group of commands", "write the commands one after another")
	}
	if err := p.add(b.X); err != nil {
		return err
	}
	// a |& b is a 2>&1 | b.
	if b.Op == syntax.PipeAll {
		last := p.Commands[len(p.Commands)-1]
		last.Redirs = append(last.Redirs, Redirect{Fd: 2, op: ">&", copied: 1})
	}
	return p.add(b.Y)
}

// readSimple reads a simple command.
func readSimple(s *syntax.Stmt) (*Simple, error) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	switch {
	case s.Cmd == nil:
		return nil, Outside("a redirection without a command", "name the command whose input or output it is")
	case !ok:
		return nil, compound(s.Cmd)
	case len(call.Args) == 0:
		return nil, Outside("an assignment without a command", "write NAME=value before the command that it is for")
	case s.Background || s.Coprocess || s.Disown:
		return nil, Outside("a command in the background", "leave the & out")
	}
	c := &Simple{}
	for _, a := range call.Assigns {
		read, err := readAssign(a)
		if err != nil {
			return nil, err
		}
		c.Assigns = append(c.Assigns, read)
	}
	for _, w := range call.Args {
		words, err := readTokens(w)
		if err != nil {
			return nil, err
		}
		c.Words = append(c.Words, words...)
	}
	for _, d := range s.Redirs {
		redirs, err := readRedirect(d)
		if err != nil {
			return nil, err
		}
		c.Redirs = append(c.Redirs, redirs...)
	}
	return c, nil
}

// compound returns the refusal of a command that is not simple.
func compound(c syntax.Command) error {
	apart := "run each command by itself, or put the script into a file that an entry allows"
	switch c := c.(type) {
	case *syntax.BinaryCmd:
		return Outside("a group of commands", "write the commands one after another")
	case *syntax.Block:
		return Outside("{ ... } with a redirection or in a pipeline", "write the redirection at each command")
	case *syntax.Subshell:
		return Outside("a subshell ( ... )", "write the commands without the brackets, and give a folder as the "+
			"working "+
			"directory of the call")
	case *syntax.IfClause:
		return Outside("if", "use && and ||, or "+apart)
	case *syntax.WhileClause:
		return Outside("a loop", apart)
	case *syntax.ForClause:
		return Outside("a loop", "write the command once for each word, or "+apart)
	case *syntax.CaseClause:
		return Outside("case", apart)
	case *syntax.FuncDecl:
		return Outside("a function", apart)
	case *syntax.ArithmCmd, *syntax.LetClause:
		return Outside("an arithmetic command", "use expr with numbers")
	case *syntax.TestClause:
		return Outside("[[ ]]", "use [ ] or test")
	case *syntax.DeclClause:
		return Outside(c.Variant.Value, "write NAME=value before the command that it is for")
	case *syntax.TimeClause:
		return Outside("time", "leave it out: the answer says how long the command took")
	case *syntax.CoprocClause:
		return Outside("coproc", "run the command by itself")
	}
	return Outside("a compound command", apart)
}

// readAssign reads NAME=value before a command.
func readAssign(a *syntax.Assign) (Assign, error) {
	instead := "write NAME=value with text alone"
	if a.Name == nil || a.Append || a.Naked || a.Index != nil || a.Array != nil {
		return Assign{}, Outside("this form of an assignment", instead)
	}
	if a.Value == nil {
		return Assign{Name: a.Name.Value}, nil
	}
	t, err := readToken(a.Value)
	if err != nil {
		return Assign{}, err
	}
	value, ok := t.Literal()
	if lit, bare := a.Value.Parts[0].(*syntax.Lit); !ok || bare && strings.Contains(lit.Value, "~") {
		return Assign{}, Outside("a pattern or ~ in the value of a variable", "write the value out, in quotes")
	}
	return Assign{Name: a.Name.Value, Value: value}, nil
}

// readRedirect reads a redirection. A redirection of both outputs becomes two.
func readRedirect(d *syntax.Redirect) ([]Redirect, error) {
	fd := -1
	if d.N != nil {
		if d.N.Value != "0" && d.N.Value != "1" && d.N.Value != "2" {
			return nil, Outside("a redirection of "+d.N.Value, "use 0, 1 and 2")
		}
		fd = int(d.N.Value[0] - '0')
	}
	out := func(op string) ([]Redirect, error) {
		file, err := redirected(d.Word)
		if fd < 0 {
			fd = 1
		}
		if err == nil && fd == 0 {
			err = Outside("an input that is written to", "use 1 or 2")
		}
		return []Redirect{{Fd: fd, op: op, File: file}}, err
	}
	switch d.Op {
	case syntax.RdrOut:
		return out(">")
	case syntax.AppOut:
		return out(">>")
	case syntax.RdrClob:
		return nil, Outside(">|", "use >")
	case syntax.RdrAll, syntax.AppAll:
		both, err := out(strings.TrimPrefix(d.Op.String(), "&"))
		return append(both, Redirect{Fd: 2, op: ">&", copied: 1}), err
	case syntax.RdrIn:
		file, err := redirected(d.Word)
		if err == nil && fd > 0 {
			err = Outside("an output that is read from", "use < alone")
		}
		return []Redirect{{Fd: 0, op: "<", File: file}}, err
	case syntax.DplOut:
		to := d.Word.Lit()
		if fd < 0 {
			fd = 1
		}
		if fd == 0 || to != "1" && to != "2" {
			return nil, Outside(">&"+to, "use 2>&1, or > FILE 2>&1")
		}
		return []Redirect{{Fd: fd, op: ">&", copied: int(to[0] - '0')}}, nil
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return nil, Outside(
			"a text for the input of a command ("+d.Op.String()+")",
			"give the text as the call's own input (stdin)",
		)
	}
	return nil, Outside("the redirection "+d.Op.String(), "use <, > or >>")
}

// redirected reads the file of a redirection.
func redirected(w *syntax.Word) (*Token, error) {
	t, err := readToken(w)
	if err != nil {
		return nil, err
	}
	if t.hasPattern() {
		return nil, Outside("a file pattern behind < or >", "write the file's name")
	}
	if text, ok := t.Literal(); ok && text == "" {
		return nil, Outside("an empty name behind < or >", "write the file's name")
	}
	return t, nil
}

// readTokens reads a word, which may expand to several by its braces ({a,b}).
func readTokens(w *syntax.Word) ([]*Token, error) {
	var out []*Token
	syntax.SplitBraces(w)
	for one, err := range expand.BracesSeq(nil, w) {
		if err != nil || len(out) == maxWords {
			return nil, Unjudged(fmt.Sprintf("its braces make more than %d words", maxWords), "use fewer")
		}
		t, err := readToken(one)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// Limits of the text that is parsed. The parser's time grows with the square of
// the nesting, so all characters that could nest are counted first, quoted or
// not.
const (
	maxLine    = 64 << 10
	maxOpeners = 1000
)

// openers matches everything that could nest.
var openers = lazyregexp.New("[({`]|\\$\\[|\\b(?:if|while|until|for|case|select|time|coproc|function)\\b|!")

// ParseShell parses a script as a POSIX shell or bash would, within the limits.
func ParseShell(text string) (*syntax.File, error) {
	switch {
	case len(text) > maxLine:
		return nil, TooLong(fmt.Sprintf("it is longer than %d bytes", maxLine))
	case !utf8.ValidString(text):
		return nil, Unjudged("it is not UTF-8", `have printf make such bytes: printf '\377'`)
	case strings.ContainsFunc(text, isControl):
		at := strings.IndexFunc(text, isControl)
		return nil, Unjudged(
			fmt.Sprintf("it holds the control character %q", text[at]),
			fmt.Sprintf(`leave it out, or have printf make it: printf '\%03o'`, text[at]),
		)
	case len(openers.FindAllStringIndex(text, maxOpeners+1)) > maxOpeners:
		return nil, TooLong(
			fmt.Sprintf("it has more than %d brackets, substitutions and compound commands", maxOpeners),
		)
	}
	// LangBash parses the most constructs. node refuses those that other shells
	// read differently. Comments are kept so that node sees them.
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).
		Parse(strings.NewReader(text), "")
	if err != nil {
		if p, ok := errors.AsType[syntax.ParseError](err); ok {
			return nil, &Refusal{
				Why: fmt.Sprintf(
					"it is no POSIX shell command: at line %d, column %d %s",
					p.Pos.Line(),
					p.Pos.Col(),
					p.Text,
				),
				Instead: "check its quotes and brackets",
			}
		}
		return nil, Unjudged("it is no POSIX shell command: "+err.Error(), "check its quotes and brackets")
	}
	return file, nil
}

// A Refusal says why a line cannot be judged or printed, before any rule is asked.
type Refusal struct {
	Part    string // of the command, as it was parsed; empty: all of it
	Why     string
	Instead string // advice for the caller
}

// Error names the reason and the advice.
func (r *Refusal) Error() string {
	text := r.Why
	if r.Part != "" {
		text = "‘" + r.Part + "’: " + text
	}
	if r.Instead != "" {
		text += "; " + r.Instead
	}
	return text
}

// Unreadable returns the refusal of a command that cannot be judged because a part of it is known only when it runs.
func Unreadable(why string) error { return Unjudged(why, "write each command and its options out") }

// TooLong returns the refusal of a command that is too long to judge.
func TooLong(why string) error {
	return Unjudged(why, "run it in parts, or write it to a file and run that")
}

// Unjudged returns the refusal of a command that cannot be judged, with advice of its own.
func Unjudged(why, instead string) error {
	return &Refusal{Why: "the command cannot be judged, because " + why, Instead: instead}
}

// Ambiguous returns the refusal of a command that shells read differently, or
// that hides another.
func Ambiguous(why, instead string) error { return &Refusal{Why: why, Instead: instead} }

// Outside returns the refusal of a construct that the closed grammar does not
// have.
func Outside(construct, instead string) error {
	return &Refusal{
		Why: construct + " is not accepted where commands have to be allowed: shells read it in different ways, " +
			"or it hides what runs",
		Instead: instead,
	}
}
