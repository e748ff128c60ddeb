package grammar

import (
	"fmt"
	"strings"

	"ptyctl/quote"
)

// ClassDevice is the class of network devices, which use | for filters.
const ClassDevice = "device"

// A Dialect is the syntax that print may use for the shell that reads its
// result.
type Dialect struct {
	Class   string // see package quote
	AnyLine bool   // some unknown shell reads the line, so only syntax common to all classes may be used
}

// List prints a line for a shell of the class. It fails if the shell cannot
// express it.
func (d Dialect) List(l List) (string, error) {
	if !d.AnyLine && !quote.Known(d.Class) {
		return d.plain(l)
	}
	var b strings.Builder
	joins := ""
	for _, p := range l {
		if joined := p.joined; joined == "&&" || joined == "||" {
			// csh binds && more tightly than ||; POSIX shells and fish give them equal
			// precedence.
			if joins += joined; d.limited() && strings.Contains(joins, "||") && strings.Contains(joins, "&&") {
				return "", d.lacks("&& and || in one line: its && counts more", "run the commands one by one")
			}
		} else {
			joins = ""
		}
		switch p.joined {
		case "":
		case ";":
			b.WriteString("; ")
		default:
			b.WriteString(" " + p.joined + " ")
		}
		text, err := d.pipeline(p)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// limited reports whether the dialect must avoid features that csh lacks.
func (d Dialect) limited() bool { return d.AnyLine || d.Class == quote.Csh }

// lacks returns the refusal of a construct that the far side cannot express.
func (d Dialect) lacks(what, instead string) error {
	if d.AnyLine {
		return &Refusal{
			Why:     "which shell reads this part is not known, and not every shell has " + what,
			Instead: instead,
		}
	}
	return &Refusal{Why: "the shell of the far side (" + d.Class + ") does not have " + what, Instead: instead}
}

// pipeline prints a pipeline.
func (d Dialect) pipeline(p Pipeline) (string, error) {
	var b strings.Builder
	if p.negated {
		if d.limited() {
			return "", d.lacks("!", "use || and &&")
		}
		b.WriteString("! ")
	}
	for i, c := range p.Commands {
		text, merged, err := d.simple(c)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
		last := i == len(p.Commands)-1
		// csh refuses a redirection of the side that a pipe uses ("Ambiguous input
		// redirect").
		for _, r := range c.Redirs {
			if r.File != nil && d.limited() && (r.Fd == 0 && i > 0 || r.Fd == 1 && !last) {
				return "", d.lacks("a redirection where there is a pipe", "keep the pipe or the redirection")
			}
		}
		switch {
		case merged && (last || d.AnyLine):
			return "", d.lacks("2>&1 here", "use > FILE, or leave it out")
		case merged:
			b.WriteString(" |& ")
		case !last:
			b.WriteString(" | ")
		}
	}
	return b.String(), nil
}

// simple prints one command. merged says that its errors go to the same place
// as its output, which the pipe after it must express.
func (d Dialect) simple(c *Simple) (text string, merged bool, err error) {
	var fields []string
	// csh reads NAME=value as the name of a command.
	for _, a := range c.Assigns {
		if d.limited() {
			return "", false, d.lacks("NAME=value before a command", "use env NAME=value COMMAND")
		}
		value, err := d.word(a.Value)
		if err != nil {
			return "", false, err
		}
		fields = append(fields, a.Name+"="+value)
	}
	for _, w := range c.Words {
		text, err := d.token(w)
		if err != nil {
			return "", false, err
		}
		fields = append(fields, text)
	}
	var redirs []string
	if d.limited() {
		redirs, merged, err = d.fewRedirects(c.Redirs)
	} else {
		redirs, err = d.redirects(c.Redirs)
	}
	return strings.Join(append(fields, redirs...), " "), merged, err
}

// redirects prints redirections in their order, which is significant.
func (d Dialect) redirects(list []Redirect) ([]string, error) {
	var out []string
	for _, r := range list {
		text := r.op
		// 0 and 1 are the defaults of < and >.
		if r.Fd == 2 || r.File == nil {
			text = fmt.Sprint(r.Fd) + text
		}
		if r.File == nil {
			out = append(out, text+fmt.Sprint(r.copied))
			continue
		}
		name, err := d.token(r.File)
		if err != nil {
			return nil, err
		}
		out = append(out, text+name)
	}
	return out, nil
}

// fewRedirects prints the redirections of csh: one input and one output, the
// latter with or without the errors.
func (d Dialect) fewRedirects(list []Redirect) (out []string, merged bool, err error) {
	var input, output *Redirect
	for i, r := range list {
		switch {
		case r.File != nil && r.Fd == 0 && input == nil:
			input = &list[i]
		case r.File != nil && r.Fd == 1 && output == nil && !merged:
			output = &list[i]
		case r.File == nil && r.Fd == 2 && !merged:
			merged = true
		default:
			return nil, false, d.lacks(
				"this redirection",
				"use < FILE, > FILE or > FILE 2>&1, each once, or leave it out",
			)
		}
	}
	for _, r := range []*Redirect{input, output} {
		if r == nil {
			continue
		}
		name, err := d.token(r.File)
		if err != nil {
			return nil, false, err
		}
		op := r.op
		// csh writes output and errors to one file with >& FILE.
		if r == output && merged && !d.AnyLine {
			op, merged = op+"& ", false
		}
		out = append(out, op+name)
	}
	return out, merged, nil
}

// token prints one word. Parts that the shell must expand stay outside the
// quotes.
func (d Dialect) token(t *Token) (string, error) {
	if text, ok := t.Literal(); ok {
		return d.word(text)
	}
	var b strings.Builder
	parts := t.parts
	if t.home {
		b.WriteByte('~')
		if len(parts) > 0 && !parts[0].pattern { // the slash ends the user name after the tilde
			text, rest := parts[0].text, parts[1:]
			b.WriteByte('/')
			if text = text[1:]; text != "" {
				rest = append([]Part{{text: text}}, rest...)
			}
			parts = rest
		}
	}
	for _, p := range parts {
		// Patterns must stay unquoted, so that the shell expands them.
		if p.pattern && (p.text[0] != '[' || !d.AnyLine && d.Class != quote.Fish) {
			b.WriteString(p.text)
			continue
		}
		if p.pattern && d.AnyLine {
			return "", d.lacks("patterns with [ ]", "use * or ?")
		}
		// A set of characters in other shells is plain text in fish.
		text, err := d.word(p.text)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// word quotes text.
func (d Dialect) word(text string) (string, error) {
	// csh needs a backslash before the line end, which other shells would drop.
	if d.limited() && strings.Contains(text, "\n") {
		return "", d.lacks("a line end within a word", "leave the line end out")
	}
	class := d.Class
	// Line ends are refused above, so the POSIX form is the same in all classes.
	if d.AnyLine {
		class = quote.Posix
	}
	out, err := quote.Word(class, text)
	if err != nil {
		return "", unquotable(class, err)
	}
	return out, nil
}

// unquotable returns the refusal of a word that the far side cannot receive.
func unquotable(class string, err error) error {
	return &Refusal{
		Why:     "what runs must be just the words that were judged: " + err.Error(),
		Instead: "ptyctl quotes for POSIX shells, fish and csh, and the far side is of class " + class,
	}
}

// plain prints a line for an interpreter without safe quoting: only words that
// every interpreter reads unchanged, and for a device pipes to its filters.
func (d Dialect) plain(l List) (string, error) {
	none := &Refusal{
		Why:     "the far side is of class " + d.Class + ", which reads lines in its own way",
		Instead: "give one command of plain words",
	}
	if len(l) != 1 || l[0].negated || len(l[0].Commands) > 1 && d.Class != ClassDevice {
		return "", none
	}
	var out []string
	for _, c := range l[0].Commands {
		if len(c.Assigns)+len(c.Redirs) > 0 {
			return "", none
		}
		var words []string
		for _, w := range c.Words {
			text, ok := w.Literal()
			if !ok {
				return "", none
			}
			quoted, err := quote.Word(d.Class, text)
			if err != nil {
				return "", unquotable(d.Class, err)
			}
			words = append(words, quoted)
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, " | "), nil
}

// CheckFolder refuses a working directory that the far side's shell would read as
// several words.
func (d Dialect) CheckFolder(dir string) error {
	if dir == "" {
		return nil
	}
	if strings.ContainsFunc(dir, isControl) || strings.ContainsAny(dir, "\n\t") {
		return &Refusal{
			Part:    Shorten(dir),
			Why:     "the working directory holds a control character",
			Instead: "give the folder's path without it",
		}
	}
	_, err := d.word(dir)
	return err
}
