package policy

import (
	"fmt"
	"strings"

	"ptyctl/quote"
)

// classDevice is the class of network devices, which use | for filters.
const classDevice = "device"

// A dialect is the syntax that print may use for the shell that reads its
// result.
type dialect struct {
	class   string // see package quote
	anyLine bool   // some unknown shell reads the line, so only syntax common to all classes may be used
}

// list prints a line for a shell of the class. It fails if the shell cannot
// express it.
func (d dialect) list(l list) (string, error) {
	if !d.anyLine && !quote.Known(d.class) {
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

// limited reports whether the dialect must avoid what csh lacks.
func (d dialect) limited() bool { return d.anyLine || d.class == quote.Csh }

// lacks returns the denial of a construct that the far side cannot express.
func (d dialect) lacks(what, instead string) error {
	if d.anyLine {
		return &denial{why: "which shell reads this part is not known, and not every shell has " + what, instead: instead}
	}
	return &denial{why: "the shell of the far side (" + d.class + ") does not have " + what, instead: instead}
}

// pipeline prints a pipeline.
func (d dialect) pipeline(p pipeline) (string, error) {
	var b strings.Builder
	if p.negated {
		if d.limited() {
			return "", d.lacks("!", "use || and &&")
		}
		b.WriteString("! ")
	}
	for i, c := range p.commands {
		text, merged, err := d.simple(c)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
		last := i == len(p.commands)-1
		// csh refuses a redirection of the side that a pipe uses ("Ambiguous input
		// redirect").
		for _, r := range c.redirs {
			if r.file != nil && d.limited() && (r.fd == 0 && i > 0 || r.fd == 1 && !last) {
				return "", d.lacks("a redirection where there is a pipe", "keep the pipe or the redirection")
			}
		}
		switch {
		case merged && (last || d.anyLine):
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
func (d dialect) simple(c *simple) (text string, merged bool, err error) {
	var fields []string
	// csh reads NAME=value as the name of a command.
	for _, a := range c.assigns {
		if d.limited() {
			return "", false, d.lacks("NAME=value before a command", "use env NAME=value COMMAND")
		}
		value, err := d.word(a.value)
		if err != nil {
			return "", false, err
		}
		fields = append(fields, a.name+"="+value)
	}
	for _, w := range c.words {
		text, err := d.token(w)
		if err != nil {
			return "", false, err
		}
		fields = append(fields, text)
	}
	var redirs []string
	if d.limited() {
		redirs, merged, err = d.fewRedirects(c.redirs)
	} else {
		redirs, err = d.redirects(c.redirs)
	}
	return strings.Join(append(fields, redirs...), " "), merged, err
}

// redirects prints redirections in their order, which is significant.
func (d dialect) redirects(list []redirect) ([]string, error) {
	var out []string
	for _, r := range list {
		text := r.op
		// 0 and 1 are the defaults of < and >.
		if r.fd == 2 || r.file == nil {
			text = fmt.Sprint(r.fd) + text
		}
		if r.file == nil {
			out = append(out, text+fmt.Sprint(r.copied))
			continue
		}
		name, err := d.token(r.file)
		if err != nil {
			return nil, err
		}
		out = append(out, text+name)
	}
	return out, nil
}

// fewRedirects prints the redirections of csh: one input and one output, the
// latter with or without the errors.
func (d dialect) fewRedirects(list []redirect) (out []string, merged bool, err error) {
	var input, output *redirect
	for i, r := range list {
		switch {
		case r.file != nil && r.fd == 0 && input == nil:
			input = &list[i]
		case r.file != nil && r.fd == 1 && output == nil && !merged:
			output = &list[i]
		case r.file == nil && r.fd == 2 && !merged:
			merged = true
		default:
			return nil, false, d.lacks("this redirection", "use < FILE, > FILE or > FILE 2>&1, each once, or leave it out")
		}
	}
	for _, r := range []*redirect{input, output} {
		if r == nil {
			continue
		}
		name, err := d.token(r.file)
		if err != nil {
			return nil, false, err
		}
		op := r.op
		// csh writes output and errors to one file with >& FILE.
		if r == output && merged && !d.anyLine {
			op, merged = op+"& ", false
		}
		out = append(out, op+name)
	}
	return out, merged, nil
}

// token prints one word. Parts that the shell must expand stay outside the
// quotes.
func (d dialect) token(t *token) (string, error) {
	if text, ok := t.literal(); ok {
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
				rest = append([]part{{text: text}}, rest...)
			}
			parts = rest
		}
	}
	for _, p := range parts {
		// Patterns must stay unquoted, so that the shell expands them.
		if p.pattern && (p.text[0] != '[' || !d.anyLine && d.class != quote.Fish) {
			b.WriteString(p.text)
			continue
		}
		if p.pattern && d.anyLine {
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
func (d dialect) word(text string) (string, error) {
	// csh needs a backslash before the line end, which other shells would drop.
	if d.limited() && strings.Contains(text, "\n") {
		return "", d.lacks("a line end within a word", "leave the line end out")
	}
	class := d.class
	// Line ends are refused above, so the POSIX form is the same in all classes.
	if d.anyLine {
		class = quote.Posix
	}
	out, err := quote.Word(class, text)
	if err != nil {
		return "", unquotable(class, err)
	}
	return out, nil
}

// unquotable returns the denial of a word that the far side cannot receive.
func unquotable(class string, err error) error {
	return &denial{
		why:     "what runs must be just the words that were judged: " + err.Error(),
		instead: "ptyctl quotes for POSIX shells, fish and csh, and the far side is of class " + class,
	}
}

// plain prints a line for an interpreter without safe quoting: only words that
// every interpreter reads unchanged, and for a device pipes to its filters.
func (d dialect) plain(l list) (string, error) {
	none := &denial{
		why:     "the far side is of class " + d.class + ", which reads lines in its own way",
		instead: "give one command of plain words",
	}
	if len(l) != 1 || l[0].negated || len(l[0].commands) > 1 && d.class != classDevice {
		return "", none
	}
	var out []string
	for _, c := range l[0].commands {
		if len(c.assigns)+len(c.redirs) > 0 {
			return "", none
		}
		var words []string
		for _, w := range c.words {
			text, ok := w.literal()
			if !ok {
				return "", none
			}
			quoted, err := quote.Word(d.class, text)
			if err != nil {
				return "", unquotable(d.class, err)
			}
			words = append(words, quoted)
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, " | "), nil
}

// folder refuses a working directory that the far side's shell would read as
// several words.
func (d dialect) folder(dir string) error {
	if dir == "" {
		return nil
	}
	if strings.ContainsFunc(dir, isControl) || strings.ContainsAny(dir, "\n\t") {
		return &denial{
			part:    cut(dir),
			why:     "the working directory holds a control character",
			instead: "give the folder's path without it",
		}
	}
	_, err := d.word(dir)
	return err
}
