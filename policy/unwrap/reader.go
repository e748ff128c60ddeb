package unwrap

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"ptyctl/policy/grammar"
)

// Limits of the text that is judged.
const (
	maxDepth  = 16        // nesting of commands that run commands
	maxJudged = 256 << 10 // bytes in all texts together
)

// A Reader splits a line and judges each command. Its errors are
// those of its functions, or a *refusal.
type Reader struct {
	hereDoc *syntax.Word // the here-document that was visited last, or nil

	Judge  func(c Command) error
	Env    func(assign string) error
	File   func(redirect string, write bool) error
	Screen bool // the command starts a terminal, so a shell that reads its input reads typed text
	Closed bool // the line fits the closed grammar, and is printed again
	Direct bool // no shell reads the words
	piped  bool // the command reads the output of another one

	placeholders []string // text that runners replace in the words of their commands
	grammar.Dialect
	Judged int
	depth  int
}

// A Command is a program with its arguments after expansion.
type Command struct {
	Words  []grammar.Word
	Opaque string // why its effects cannot be judged; empty: they can
	Hidden bool   // only deny rules apply: this is one of several ways to read the arguments of a program
}

// Script judges each command of a script.
func (r *Reader) Script(text string) error {
	if r.Judged > 0 {
		r.Screen = false // for scripts inside it, which may have pipes
	}
	if r.Judged += len(text); r.Judged > maxJudged {
		return grammar.TooLong("there is too much to read")
	}
	file, err := grammar.ParseShell(text)
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

// node judges the effects of n itself. Its children are visited later.
func (r *Reader) node(n syntax.Node) error {
	switch n := n.(type) {
	// For example, an interactive zsh runs a # comment as a command.
	case *syntax.Comment:
		return grammar.Ambiguous("a comment is none in every shell", "leave the comment out")
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
		if n != r.hereDoc && grammar.OpensBrace(n) { // fish looks for its end in the rest of the line
			return grammar.Ambiguous("a brace that its word does not close is not the same in every shell", "quote it")
		}
	case *syntax.SglQuoted:
		// dash and csh have no $'...'.
		if n.Dollar {
			return grammar.Ambiguous("$'...' is not the same in every shell", "use '...' or printf")
		}
		// fish removes a backslash before another one or a quote, even in single
		// quotes.
		if trailing := len(n.Value) - len(strings.TrimRight(n.Value, `\`)); trailing%2 == 1 {
			return grammar.Ambiguous("a backslash before the closing quote is not the same in every shell",
				"put it outside of the quotes")
		}
	case *syntax.ParamExp:
		// ${NAME=value} assigns a variable.
		if n.Exp != nil && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			if err := r.sets([]grammar.Word{grammar.PlainWord(n.Param.Value)}); err != nil {
				return err
			}
		}
		return parameter(n)
	case *syntax.WordIter:
		return r.sets([]grammar.Word{grammar.PlainWord(n.Name.Value)})
	case *syntax.ArithmExp:
		return number(n.X)
	// A variable may hold a[$(command)], which bash and ksh then run.
	case *syntax.ArithmCmd, *syntax.LetClause:
		return grammar.Ambiguous("arithmetic commands are not the same in every shell, and can run commands",
			"use [ and $((...)) with numbers")
	case *syntax.CStyleLoop:
		return grammar.Ambiguous("this loop is not the same in every shell", "use while, or for x in ...")
	// Only comparisons without expansion are alike in all shells that have [[ ]].
	case *syntax.TestClause:
		if _, ok := n.X.(*syntax.UnaryTest); !ok {
			b, ok := n.X.(*syntax.BinaryTest)
			if !ok || b.Op != syntax.TsMatch && b.Op != syntax.TsMatchShort && b.Op != syntax.TsNoMatch {
				return grammar.Ambiguous("[[ ]] is not the same in every shell", "use [ ]")
			}
		}
		u, ok := n.X.(*syntax.UnaryTest)
		if ok && (u.Op == syntax.TsVarSet || u.Op == syntax.TsRefVar || u.Op == syntax.TsNot || u.Op == syntax.TsParen) {
			return grammar.Ambiguous("[[ ]] is not the same in every shell", "use [ ]")
		}
	case *syntax.ExtGlob:
		return grammar.Ambiguous("this pattern is not the same in every shell", "use * and ?")
	case *syntax.TestDecl:
		return grammar.Ambiguous("@test is no command", "leave it out")
	}
	return nil
}

// statement judges a simple command together with its here-document.
func (r *Reader) statement(s *syntax.Stmt) error {
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
			in = input{known: true, text: grammar.ReadWord(d.Word)}
		}
	}
	// The words are those after expansion, with holes for unknown text.
	words := make([]grammar.Word, len(call.Args))
	for i, a := range call.Args {
		words[i] = grammar.ReadWord(a)
	}
	return r.command(words, in)
}

// An input is the standard input of a command, as far as the line defines it.
type input struct {
	known bool
	text  grammar.Word
}

// readDocument returns a here-document. Unless its delimiter is quoted, the
// shell expands it like text in double quotes.
func readDocument(d *syntax.Redirect) grammar.Word {
	if d.Hdoc == nil {
		return grammar.Word{}
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
				b.WriteRune(grammar.Hole)
			}
		}
	} else {
		grammar.ReadQuoted(&b, &syntax.DblQuoted{Parts: d.Hdoc.Parts})
	}
	return grammar.Word{Text: b.String()}
}

// command judges a command and the commands that it runs.
func (r *Reader) command(words []grammar.Word, in input) error {
	name := words[0]
	switch {
	// An unknown name could be any program, so no rule can decide.
	case !name.Literal():
		return grammar.Unreadable("the command " + grammar.Shown(words[:1]) + " is not known before it runs")
	case isAssignment(name.Text), strings.HasPrefix(name.Text, ">"), strings.HasPrefix(name.Text, "<"):
		return grammar.Ambiguous("a program of that name reads like something else", "write it without quotes")
	case strings.HasPrefix(name.Text, "!"), strings.HasPrefix(name.Text, "^"), strings.HasPrefix(name.Text, "%"):
		return grammar.Ambiguous(
			"a word that begins with "+name.Text[:1]+" repeats an earlier command in some shells",
			"write the command itself",
		)
	}
	if r.Closed && r.Class == grammar.ClassDevice && r.piped && name.Text == "begin" {
		// A filter. In fish the word is reserved, but a line without its end is an
		// error there.
		return r.Judge(Command{Words: words})
	}
	// Some shells evaluate arguments of builtins even in quotes.
	if r.Closed && !r.Direct {
		if err := evaluated(words); err != nil {
			return err
		}
	}
	c := Command{Words: words}
	inner, err := r.unwrap(&c, in)
	if err != nil {
		return err
	}
	if err := r.Judge(c); err != nil {
		return err
	}
	if inner == nil {
		return nil
	}
	// Each level parses text again, so the depth bounds the cost.
	if r.depth++; r.depth > maxDepth {
		return grammar.Unreadable(fmt.Sprintf("more than %d commands run each other", maxDepth))
	}
	defer func() { r.depth-- }()
	return inner()
}

// assignments judges variables for one command or the rest of the line.
func (r *Reader) assignments(list []*syntax.Assign) error {
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
		if err := r.Env(a.Name.Value + "=" + grammar.ReadWord(a.Value).Text); err != nil {
			return err
		}
	}
	return nil
}

// declaration judges export, declare and similar builtins, as assignments and
// as commands.
func (r *Reader) declaration(d *syntax.DeclClause) error {
	words := []grammar.Word{grammar.PlainWord(d.Variant.Value)}
	for _, a := range d.Args {
		w := grammar.ReadWord(a.Value)
		switch {
		case a.Name == nil && !w.Literal():
			return grammar.Unreadable("which variable " + d.Variant.Value + " sets is not known before it runs")
		case a.Name == nil && strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "in"):
			return grammar.Ambiguous(
				d.Variant.Value+" "+w.Text+" makes values into expressions, which can run commands",
				"leave the option out",
			)
		case a.Name == nil && !strings.HasPrefix(w.Text, "-"):
			return grammar.Ambiguous(
				d.Variant.Value+" with a quoted name hides the variable",
				"write NAME=value without quotes around the name",
			)
		case a.Name != nil:
			w.Text = a.Name.Value + "=" + w.Text
			if a.Naked {
				w = grammar.PlainWord(a.Name.Value)
			}
		}
		words = append(words, w)
	}
	if err := r.assignments(d.Args); err != nil {
		return err
	}
	return r.Judge(Command{Words: words})
}

// redirect judges the file of a redirection.
func (r *Reader) redirect(d *syntax.Redirect) error {
	write := true
	switch d.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return nil
	case syntax.RdrAll, syntax.AppAll:
		return grammar.Ambiguous("&> is not the same in every shell", "use >FILE 2>&1")
	case syntax.RdrIn:
		write = false
	case syntax.DplIn, syntax.DplOut:
		w := grammar.ReadWord(d.Word)
		if strings.Trim(w.Text, "0123456789-") == "" {
			return nil
		}
	}
	w := grammar.ReadWord(d.Word)
	switch w.Text {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2":
		return nil
	}
	if strings.HasPrefix(w.Text, "/dev/tcp/") || strings.HasPrefix(w.Text, "/dev/udp/") {
		write = true // a connection transfers in both directions
	}
	return r.File(w.Text, write)
}

// parameter refuses expansions that run the value of a variable.
func parameter(p *syntax.ParamExp) error {
	switch {
	case p.Excl && p.Names == 0:
		return grammar.Ambiguous(
			"${!name} names a variable that is not known before it runs, and can run commands",
			"write the variable's name",
		)
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps:
		return grammar.Ambiguous("${name@operator} can run commands", "leave the operator out")
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
				err = grammar.Ambiguous("arithmetic on variables can run their values", "use expr, or numbers")
			}
			return false
		}
		return err == nil
	})
	return err
}
