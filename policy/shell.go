package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the text that is parsed. The parser's time grows with the square of
// the nesting, so all characters that could nest are counted first, quoted or
// not.
const (
	maxLine    = 64 << 10
	maxOpeners = 1000
	maxDepth   = 16        // nesting of commands that run commands
	maxJudged  = 256 << 10 // bytes in all texts together
)

// openers matches everything that could nest.
var openers = regexp.MustCompile("[({`]|\\$\\[|\\b(?:if|while|until|for|case|select|time|coproc|function)\\b|!")

// A reader splits a line and judges each command. Its errors are *denial.
type reader struct {
	hereDoc *syntax.Word // the here-document that was visited last, or nil

	judge  func(c command) error
	env    func(assign string) error
	file   func(redirect string, write bool) error
	screen bool // the command starts a terminal, so a shell that reads its input reads typed text
	closed bool // the line fits the closed grammar, and is printed again
	direct bool // no shell reads the words
	piped  bool // the command reads the output of another one

	placeholders []string // text that runners replace in the words of their commands
	dialect
	judged int
	depth  int
}

// A command is a program with its arguments after expansion.
type command struct {
	words  []word
	opaque string // why its effects cannot be judged; empty: they can
	hidden bool   // only deny rules apply: this is one of several ways to read the arguments of a program
}

// script judges each command of a script.
func (r *reader) script(text string) error {
	if r.judged > 0 {
		r.screen = false // for scripts inside it, which may have pipes
	}
	if r.judged += len(text); r.judged > maxJudged {
		return unreadable("there is too much to read")
	}
	file, err := parse(text)
	if err != nil {
		return err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if err == nil && n != nil {
			err = r.node(n)
		}
		return err == nil
	})
	return err
}

// parse parses a script as a POSIX shell or bash would, within the limits.
func parse(text string) (*syntax.File, error) {
	switch {
	case len(text) > maxLine:
		return nil, unreadable(fmt.Sprintf("it is longer than %d bytes", maxLine))
	case !utf8.ValidString(text):
		return nil, unreadable("it is not UTF-8")
	case strings.ContainsFunc(text, isControl):
		return nil, unreadable("it holds control characters")
	case len(openers.FindAllStringIndex(text, maxOpeners+1)) > maxOpeners:
		return nil, unreadable(fmt.Sprintf("it has more than %d brackets, substitutions and compound commands", maxOpeners))
	}
	// LangBash parses the most constructs. node refuses those that other shells
	// read differently. Comments are kept so that node sees them.
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).
		Parse(strings.NewReader(text), "")
	if err != nil {
		if p, ok := errors.AsType[syntax.ParseError](err); ok {
			return nil, &denial{
				why:     fmt.Sprintf("it is no POSIX shell command: at line %d, column %d %s", p.Pos.Line(), p.Pos.Col(), p.Text),
				instead: "check its quotes and brackets",
			}
		}
		return nil, unreadable("it is no POSIX shell command: " + err.Error())
	}
	return file, nil
}

// node judges the effects of n itself. Its children are visited later.
func (r *reader) node(n syntax.Node) error {
	switch n := n.(type) {
	// For example, an interactive zsh runs a # comment as a command.
	case *syntax.Comment:
		return ambiguous("a comment is none in every shell", "leave the comment out")
	case *syntax.Stmt:
		return r.statement(n)
	case *syntax.CallExpr:
		return r.assignments(n.Assigns)
	case *syntax.DeclClause:
		return r.declaration(n)
	case *syntax.Redirect:
		r.hereDoc = n.Hdoc
		return r.redirect(n)
	case *syntax.Word:
		if n != r.hereDoc && opensBrace(n) { // fish looks for its end in the rest of the line
			return ambiguous("a brace that its word does not close is not the same in every shell", "quote it")
		}
	case *syntax.SglQuoted:
		// dash and csh have no $'...'.
		if n.Dollar {
			return ambiguous("$'...' is not the same in every shell", "use '...' or printf")
		}
		// fish removes a backslash before another one or a quote, even in single
		// quotes.
		if trailing := len(n.Value) - len(strings.TrimRight(n.Value, `\`)); trailing%2 == 1 {
			return ambiguous("a backslash before the closing quote is not the same in every shell",
				"put it outside of the quotes")
		}
	case *syntax.ParamExp:
		// ${NAME=value} assigns a variable.
		if n.Exp != nil && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			if err := r.sets([]word{plainWord(n.Param.Value)}); err != nil {
				return err
			}
		}
		return parameter(n)
	case *syntax.WordIter:
		return r.sets([]word{plainWord(n.Name.Value)})
	case *syntax.ArithmExp:
		return number(n.X)
	// A variable may hold a[$(command)], which bash and ksh then run.
	case *syntax.ArithmCmd, *syntax.LetClause:
		return ambiguous("arithmetic commands are not the same in every shell, and can run commands",
			"use [ and $((...)) with numbers")
	case *syntax.CStyleLoop:
		return ambiguous("this loop is not the same in every shell", "use while, or for x in ...")
	// Only comparisons without expansion are alike in all shells that have [[ ]].
	case *syntax.TestClause:
		if _, ok := n.X.(*syntax.UnaryTest); !ok {
			b, ok := n.X.(*syntax.BinaryTest)
			if !ok || b.Op != syntax.TsMatch && b.Op != syntax.TsMatchShort && b.Op != syntax.TsNoMatch {
				return ambiguous("[[ ]] is not the same in every shell", "use [ ]")
			}
		}
		u, ok := n.X.(*syntax.UnaryTest)
		if ok && (u.Op == syntax.TsVarSet || u.Op == syntax.TsRefVar || u.Op == syntax.TsNot || u.Op == syntax.TsParen) {
			return ambiguous("[[ ]] is not the same in every shell", "use [ ]")
		}
	case *syntax.ExtGlob:
		return ambiguous("this pattern is not the same in every shell", "use * and ?")
	case *syntax.TestDecl:
		return ambiguous("@test is no command", "leave it out")
	}
	return nil
}

// statement judges a simple command together with its here-document.
func (r *reader) statement(s *syntax.Stmt) error {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	in := input{}
	for _, d := range s.Redirs {
		// The last redirection of the standard input wins, as in a shell.
		switch d.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			in = input{known: true, text: readDocument(d)}
		case syntax.WordHdoc:
			in = input{known: true, text: readWord(d.Word)}
		}
	}
	// The words are those after expansion, with holes for unknown text.
	words := make([]word, len(call.Args))
	for i, a := range call.Args {
		words[i] = readWord(a)
	}
	return r.command(words, in)
}

// An input is the standard input of a command, as far as the line defines it.
type input struct {
	known bool
	text  word
}

// readDocument returns a here-document. Unless its delimiter is quoted, the
// shell expands it like text in double quotes.
func readDocument(d *syntax.Redirect) word {
	if d.Hdoc == nil {
		return word{}
	}
	quoted := false
	for _, p := range d.Word.Parts {
		if lit, ok := p.(*syntax.Lit); !ok || strings.Contains(lit.Value, `\`) {
			quoted = true
		}
	}
	var b strings.Builder
	if quoted {
		for _, p := range d.Hdoc.Parts {
			if lit, ok := p.(*syntax.Lit); ok {
				b.WriteString(lit.Value)
			} else {
				b.WriteRune(hole)
			}
		}
	} else {
		readQuoted(&b, &syntax.DblQuoted{Parts: d.Hdoc.Parts})
	}
	return word{text: b.String()}
}

// command judges a command and the commands that it runs.
func (r *reader) command(words []word, in input) error {
	name := words[0]
	switch {
	// An unknown name could be any program, so no rule can decide.
	case !name.literal():
		return unreadable("the command " + shown(words[:1]) + " is not known before it runs")
	case isAssignment(name.text), strings.HasPrefix(name.text, ">"), strings.HasPrefix(name.text, "<"):
		return ambiguous("a program of that name reads like something else", "write it without quotes")
	case strings.HasPrefix(name.text, "!"), strings.HasPrefix(name.text, "^"), strings.HasPrefix(name.text, "%"):
		return ambiguous(
			"a word that begins with "+name.text[:1]+" repeats an earlier command in some shells",
			"write the command itself",
		)
	}
	if r.closed && r.class == classDevice && r.piped && name.text == "begin" {
		// A filter. In fish the word is reserved, but a line without its end is an
		// error there.
		return r.judge(command{words: words})
	}
	// Some shells evaluate arguments of builtins even in quotes.
	if r.closed && !r.direct {
		if err := evaluated(words); err != nil {
			return err
		}
	}
	c := command{words: words}
	inner, err := r.unwrap(&c, in)
	if err != nil {
		return err
	}
	if err := r.judge(c); err != nil {
		return err
	}
	if inner == nil {
		return nil
	}
	// Each level parses text again, so the depth bounds the cost.
	if r.depth++; r.depth > maxDepth {
		return unreadable(fmt.Sprintf("more than %d commands run each other", maxDepth))
	}
	defer func() { r.depth-- }()
	return inner()
}

// assignments judges variables for one command or the rest of the line.
func (r *reader) assignments(list []*syntax.Assign) error {
	for _, a := range list {
		if a.Name == nil {
			continue
		}
		if a.Index != nil {
			if err := number(a.Index); err != nil {
				return err
			}
		}
		if a.Array != nil {
			for _, e := range a.Array.Elems {
				if err := number(e.Index); err != nil {
					return err
				}
			}
		}
		if err := r.env(a.Name.Value + "=" + readWord(a.Value).text); err != nil {
			return err
		}
	}
	return nil
}

// declaration judges export, declare and similar builtins, as assignments and
// as commands.
func (r *reader) declaration(d *syntax.DeclClause) error {
	words := []word{plainWord(d.Variant.Value)}
	for _, a := range d.Args {
		w := readWord(a.Value)
		switch {
		case a.Name == nil && !w.literal():
			return unreadable("which variable " + d.Variant.Value + " sets is not known before it runs")
		case a.Name == nil && strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "in"):
			return ambiguous(
				d.Variant.Value+" "+w.text+" makes values into expressions, which can run commands",
				"leave the option out",
			)
		case a.Name == nil && !strings.HasPrefix(w.text, "-"):
			return ambiguous(
				d.Variant.Value+" with a quoted name hides the variable",
				"write NAME=value without quotes around the name",
			)
		case a.Name != nil:
			w.text = a.Name.Value + "=" + w.text
			if a.Naked {
				w = plainWord(a.Name.Value)
			}
		}
		words = append(words, w)
	}
	if err := r.assignments(d.Args); err != nil {
		return err
	}
	return r.judge(command{words: words})
}

// redirect judges the file of a redirection.
func (r *reader) redirect(d *syntax.Redirect) error {
	write := true
	switch d.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return nil
	case syntax.RdrAll, syntax.AppAll:
		return ambiguous("&> is not the same in every shell", "use >FILE 2>&1")
	case syntax.RdrIn:
		write = false
	case syntax.DplIn, syntax.DplOut:
		w := readWord(d.Word)
		if strings.Trim(w.text, "0123456789-") == "" {
			return nil
		}
	}
	w := readWord(d.Word)
	switch w.text {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2":
		return nil
	}
	if strings.HasPrefix(w.text, "/dev/tcp/") || strings.HasPrefix(w.text, "/dev/udp/") {
		write = true // a connection transfers in both directions
	}
	return r.file(w.text, write)
}

// parameter refuses expansions that run the value of a variable.
func parameter(p *syntax.ParamExp) error {
	switch {
	case p.Excl && p.Names == 0:
		return ambiguous(
			"${!name} names a variable that is not known before it runs, and can run commands",
			"write the variable's name",
		)
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps:
		return ambiguous("${name@operator} can run commands", "leave the operator out")
	case p.Index != nil:
		if w, ok := p.Index.(*syntax.Word); ok && (w.Lit() == "@" || w.Lit() == "*") {
			return nil
		}
		return number(p.Index)
	case p.Slice != nil:
		if err := number(p.Slice.Offset); err != nil {
			return err
		}
		return number(p.Slice.Length)
	}
	return nil
}

// number refuses arithmetic with variables: a shell evaluates their values, and
// the value a[$(command)] runs a command.
func number(x syntax.ArithmExpr) (err error) {
	if x == nil {
		return nil
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			if lit := w.Lit(); strings.Trim(lit, "0123456789") != "" || lit == "" {
				err = ambiguous("arithmetic on variables can run their values", "use expr, or numbers")
			}
			return false
		}
		return err == nil
	})
	return err
}
