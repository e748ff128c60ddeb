package policy

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"ptyctl/quote"
)

// closed reports whether commands need the permission of a rule or a person. A
// line must then fit the closed grammar, and the result of print runs instead
// of the caller's text.
func (k *commands) closed() bool {
	return k.lists() || len(k.ask) > 0 || k.permissions.closed()
}

// A closedLine judges a line of the closed grammar.
type closedLine struct {
	k        *commands
	d        dialect
	screen   bool
	program  func(words []word) error // judges the program of each command; nil: programs are not judged
	variable func(text string) error  // judges variables that are set
	rule     Rule                     // the rule to name if no rule for commands decides
}

// named adds the rule to a denial that does not name one.
func (c closedLine) named(err error, text string) error {
	if d, ok := errors.AsType[*denial](err); ok && d.rule.Name == "" {
		d.rule, d.part = c.k.needed(), cmp.Or(d.part, cut(text)) // a list of allowed commands would not help here
		if !c.k.any() {
			d.rule = c.rule
		}
	}
	return err
}

// rewritten judges text and returns the line that runs instead.
func (c closedLine) rewritten(text string) (string, error) {
	l, err := readClosed(text)
	if err != nil {
		return "", c.named(err, text)
	}
	return c.judged(l, text)
}

// direct judges the words of a program that no shell starts, and returns the
// words that run: the same, except that scripts among them are printed again.
func (c closedLine) direct(words []string) ([]string, error) {
	s := &simple{}
	for _, w := range words {
		s.words = append(s.words, literalToken(w))
	}
	r := c.reader(true)
	if err := r.simple(s, false); err != nil {
		return nil, c.named(err, quote.Show(words))
	}
	out := make([]string, len(words))
	for i, t := range s.words {
		out[i], _ = t.literal()
	}
	return out, nil
}

// argv judges words that no shell has parsed, and returns a line that a shell
// reads as exactly these words.
func (c closedLine) argv(words []string) (string, error) {
	s := &simple{}
	for _, w := range words {
		s.words = append(s.words, literalToken(w))
	}
	return c.judged(list{{commands: []*simple{s}}}, quote.Show(words))
}

// judged judges a parsed line and prints it.
func (c closedLine) judged(l list, text string) (string, error) {
	r := c.reader(false)
	r.judged = len(text)
	err := r.list(l)
	var out string
	if err == nil {
		out, err = c.d.list(l)
	}
	return out, c.named(err, text)
}

// reader returns a reader that judges the commands of the line. direct says
// that no shell reads the words.
func (c closedLine) reader(direct bool) *reader {
	return &reader{
		closed:  true,
		direct:  direct,
		dialect: c.d,
		screen:  c.screen,
		env:     c.variable,
		file:    c.k.file,
		judge: func(x command) error {
			if err := c.k.command(x); err != nil {
				return err
			}
			if c.program == nil || x.hidden || !x.words[0].literal() {
				return nil
			}
			return c.program(x.words)
		},
	}
}

// list judges each command of a list.
func (r *reader) list(l list) error {
	for _, p := range l {
		for i, s := range p.commands {
			if err := r.simple(s, i > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// simple judges one command: its variables, its files, and the program with its
// arguments.
func (r *reader) simple(s *simple, piped bool) error {
	for _, a := range s.assigns {
		if err := r.env(a.name + "=" + a.value); err != nil {
			return err
		}
	}
	in := input{}
	for _, d := range s.redirs {
		if d.file == nil {
			continue
		}
		name := d.file.word().text
		if name == "/dev/null" {
			continue
		}
		write := d.fd > 0 || strings.HasPrefix(name, "/dev/tcp/") || strings.HasPrefix(name, "/dev/udp/")
		if err := r.file(name, write); err != nil {
			return err
		}
	}
	words := make([]word, len(s.words))
	for i, t := range s.words {
		words[i] = t.word()
	}
	outer := *r
	outer.piped = piped
	outer.screen = r.screen && !piped && len(s.redirs) == 0
	err := outer.command(words, in)
	r.judged = outer.judged
	return err
}

// inner judges a word that is a script for the given shell, and replaces the
// word by the printed script.
func (r *reader) inner(shell string, w word) error {
	if w.from == nil {
		return unreadable("the line that " + shell + " runs is not known before it runs")
	}
	if r.judged += len(w.text); r.judged > maxJudged {
		return unreadable("there is too much to read")
	}
	l, err := readClosed(w.text)
	if err != nil {
		return err
	}
	in := *r
	in.screen, in.direct, in.dialect = false, false, dialectOf(shell)
	if err := in.list(l); err != nil {
		return err
	}
	r.judged = in.judged
	text, err := in.dialect.list(l)
	if err != nil {
		return err
	}
	for _, p := range r.placeholders { // the replacement is not quoted again
		if strings.Contains(text, p) {
			return unreadable("what comes in the place of " + p + " would be a part of a script")
		}
	}
	w.from.set(text)
	return nil
}

// dialectOf returns the syntax that is safe for the shell with the given name.
func dialectOf(name string) dialect {
	switch {
	case name == "fish":
		return dialect{class: quote.Fish}
	case name == "csh" || name == "tcsh":
		return dialect{class: quote.Csh}
	case shells[name]:
		return dialect{class: quote.Posix}
	}
	return dialect{anyLine: true}
}

// closed reports whether these rules allow only listed commands.
func (p *permissions) closed() bool {
	if p == nil {
		return false
	}
	return p.all == ask || slices.ContainsFunc(p.rules, func(r permission) bool { return r.verdict != deny })
}
