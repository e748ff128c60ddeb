//go:build unix

package policy_test

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"ptyctl/internal/shelltest"
)

// A printed line, parsed by a second parser that shares no code with the
// policy. It knows only quoted words, file patterns, and the few operators of
// the closed grammar.
type printed struct {
	commands []simple
	writes   []string // files that redirections write
}

// A simple is a command of such a line.
type simple struct {
	words   []text
	joint   string // the operator before it: "", ;, &&, ||, |
	negated bool
	assigns bool
	sure    bool // its redirections cannot fail
}

// ownHome replaces the home folder of a World in words that begin with it.
const ownHome = "\x00~"

// A text is a word. pattern is the word with only the shell's pattern
// characters unescaped, if it has any.
type text struct{ plain, pattern string }

// readPrinted parses a printed line in the quoting of a class.
func readPrinted(line, class string) (p printed, err error) {
	r := printedReader{rest: line, class: class}
	c := simple{sure: true}
	end := func(joint string) error {
		if len(c.words) == 0 && !c.assigns {
			return fmt.Errorf("there is no command before %q", r.rest)
		}
		p.commands = append(p.commands, c)
		c = simple{joint: joint, sure: true}
		return nil
	}
	for r.skip(); r.rest != ""; r.skip() {
		if number := r.take("2>&1", "1>&2", "1>&1", "2>&2", ">&2"); number != "" {
			continue
		}
		if sign := r.take(">>& ", ">& ", "2>>", "2>|", "2>", ">>", ">|", ">", "<"); sign != "" {
			r.skip()
			w, _, err := r.word()
			if err != nil {
				return p, err
			}
			if w.pattern != "" {
				return p, fmt.Errorf("a redirection to the pattern %q", w.plain)
			}
			if w.plain == "/dev/null" {
				continue
			}
			if sign == "<" {
				c.sure = c.sure && slices.Contains(shelltest.Names, w.plain)
			} else {
				c.sure = c.sure && w.plain != "" && !strings.Contains(w.plain, "/")
				p.writes = append(p.writes, w.plain)
			}
			continue
		}
		if joint := r.take("&&", "||", "|&", "|", ";", "\n"); joint != "" {
			if err := end(cmp.Or(map[string]string{"\n": ";", "|&": "|"}[joint], joint)); err != nil {
				return p, err
			}
			continue
		}
		w, bare, err := r.word()
		switch {
		case err != nil:
			return p, err
		case len(c.words) == 0 && (bare == "!" || bare == "not"):
			c.negated = !c.negated
		case len(c.words) == 0 && assigns(bare):
			c.assigns = true
		default:
			c.words = append(c.words, w)
		}
	}
	if len(c.words) == 0 && !c.assigns && len(p.commands) > 0 && c.joint == ";" {
		return p, nil
	}
	return p, end("")
}

func assigns(bare string) bool {
	name, _, ok := strings.Cut(bare, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

type printedReader struct{ rest, class string }

func (r *printedReader) skip() { r.rest = strings.TrimLeft(r.rest, " ") }

func (r *printedReader) take(signs ...string) string {
	for _, s := range signs {
		if strings.HasPrefix(r.rest, s) {
			r.rest = r.rest[len(s):]
			return s
		}
	}
	return ""
}

// bareBytes need no quotes in any shell, at any position in a word.
const bareBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%=]"

// word parses a word. bare is its start up to the first quote.
func (r *printedReader) word() (w text, bare string, err error) {
	var plain, pattern strings.Builder
	globs, quoted := false, false
	literal := func(s string) {
		plain.WriteString(s)
		for _, c := range s {
			if strings.ContainsRune(`*?[\`, c) {
				pattern.WriteByte('\\')
			}
			pattern.WriteRune(c)
		}
	}
	start := r.rest
	for r.rest != "" && !strings.ContainsAny(r.rest[:1], " ;&|<>\n") {
		switch c := r.rest[0]; {
		case c == '\'':
			quoted = true
			s, err := r.quoted()
			if err != nil {
				return w, "", err
			}
			literal(s)
		case c == '\\' && len(r.rest) > 1 && strings.ContainsAny(r.rest[1:2], `'!\"`):
			quoted = true
			literal(r.rest[1:2])
			r.rest = r.rest[2:]
		case c == '~' && r.rest == start && (len(start) == 1 || strings.IndexByte("/ ;|", start[1]) >= 0):
			r.rest = r.rest[1:]
			literal(ownHome)
		case strings.IndexByte("*?[", c) >= 0:
			n := 1
			if c == '[' {
				whole, _, _ := strings.Cut(r.rest, " ")
				if n = strings.IndexByte(whole, ']') + 1; n == 0 {
					literal("[")
					r.rest = r.rest[1:]
					continue
				}
			}
			globs = true
			plain.WriteString(r.rest[:n])
			pattern.WriteString(strings.Replace(r.rest[:n], "[!", "[^", 1))
			r.rest = r.rest[n:]
		case c == '!' && start == r.rest && (len(r.rest) == 1 || r.rest[1] == ' '):
			r.rest = r.rest[1:]
			return text{}, "!", nil
		case strings.IndexByte(bareBytes, c) >= 0:
			literal(r.rest[:1])
			r.rest = r.rest[1:]
		default:
			return w, "", fmt.Errorf("%q stands outside of quotes", r.rest[:1])
		}
		if !quoted {
			bare = start[:len(start)-len(r.rest)]
		}
	}
	if r.rest == start {
		return w, "", fmt.Errorf("no word begins with %.20q", start)
	}
	w.plain = plain.String()
	if globs {
		w.pattern = pattern.String()
	}
	return w, bare, nil
}

// quoted parses text in single quotes.
func (r *printedReader) quoted() (string, error) {
	var b strings.Builder
	for s := r.rest[1:]; s != ""; s = s[1:] {
		escapes := ""
		switch r.class {
		case shelltest.Fish:
			escapes = `\'`
		case shelltest.Csh:
			escapes = "!\n" // history is expanded in quotes, and a line end ends them
		}
		switch {
		case s[0] == '\'':
			r.rest = s[1:]
			return b.String(), nil
		case s[0] == '\\' && len(s) > 1 && strings.IndexByte(escapes, s[1]) >= 0:
			s = s[1:]
			b.WriteByte(s[0])
		default:
			b.WriteByte(s[0])
		}
	}
	return "", fmt.Errorf("the quote at %q is not closed", r.rest)
}

// A run is a program with its arguments. If loose is true, shells differ in the
// arguments, and only the name counts.
type run struct {
	args  []string
	loose bool
}

// run returns the run of a command in the folder of a World. known is false if
// a shell may refuse the command, because no name matches a pattern.
func (c simple) run(written []string) (r run, known bool) {
	known = true
	for _, w := range c.words {
		if w.pattern == "" {
			r.args = append(r.args, w.plain)
			continue
		}
		r.loose = r.loose || len(written) > 0 || strings.Contains(w.pattern, "/") // the line may have created other names
		found := false
		for _, name := range shelltest.Names {
			if ok, _ := path.Match(w.pattern, name); ok {
				r.args, found = append(r.args, name), true
			}
		}
		if !found {
			r.args, known = append(r.args, w.plain), false
		}
	}
	if len(r.args) > 1 && r.args[0] == "env" { // the way in which csh sets a variable for one command
		for r.args = r.args[1:]; len(r.args) > 1 && assigns(r.args[0]); {
			r.args = r.args[1:]
		}
	}
	if len(r.args) == 0 {
		r.args = []string{""} // an assignment runs nothing
	}
	r.loose = r.loose || !known ||
		!slices.Contains(shelltest.Always, r.args[0]) // fish has functions for some of the others
	return r, known
}

// A status is the known part of a command's exit status.
type status int

const (
	unknown status = iota
	success
	failure
)

func (s status) not() status { return [...]status{unknown, failure, success}[s] }

// expect returns the commands that must run in each shell, and those that may.
func (p printed) expect() (must, may []run) {
	plain := true // otherwise a shell may give up the whole line
	for _, c := range p.commands {
		_, known := c.run(p.writes)
		plain = plain && known && c.sure
	}
	last := success
	for rest := p.commands; len(rest) > 0; {
		n := 1 // commands in the pipeline
		for n < len(rest) && rest[n].joint == "|" {
			n++
		}
		pipeline := rest[:n]
		rest = rest[n:]
		wanted := unknown // the status after which it runs
		switch pipeline[0].joint {
		case "&&":
			wanted = success
		case "||":
			wanted = failure
		}
		if plain && wanted != unknown && last == wanted.not() {
			continue
		}
		certain := plain && (wanted == unknown || last == wanted)
		var now status
		for i, c := range pipeline {
			r, _ := c.run(p.writes)
			if certain && !r.loose {
				must = append(must, r)
			} else {
				may = append(may, r)
			}
			switch end := ends(r.args[0]); {
			case i == 0:
				now = end
			case now != success || end != success: // shells differ in the command that decides the status of a pipeline
				now = unknown
			}
		}
		if pipeline[0].negated {
			now = now.not()
		}
		if !certain && now != last {
			now = unknown
		}
		last = now
	}
	return must, may
}

// ends returns the status of a command that all shells agree on.
func ends(name string) status {
	switch name {
	case "show", "list", "echo":
		return success
	case "fail":
		return failure
	}
	return unknown
}
