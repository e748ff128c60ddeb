package policy

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"ptyctl/quote"
)

// closed reports whether a command runs only if a rule allows it, or a person does: then a line has to lie in the closed
// grammar, and what runs is what print makes of it.
func (k *commands) closed() bool {
	return k.lists() || len(k.ask) > 0 || k.permissions.closed()
}

// A closedLine judges a line of the closed grammar.
type closedLine struct {
	k        *commands
	d        dialect
	screen   bool
	program  func(words []word) error // judges the program of each command; nil: nothing does
	variable func(text string) error  // judges what is set
	rule     Rule                     // to name where no rule for commands is there
}

// named says which rule a denial comes from.
func (c closedLine) named(err error, text string) error {
	if d, ok := errors.AsType[*denial](err); ok && d.rule.Name == "" {
		d.rule, d.part = c.k.needed(), cmp.Or(d.part, cut(text)) // what is allowed does not help here
		if !c.k.any() {
			d.rule = c.rule
		}
	}
	return err
}

// rewritten judges text, and returns it as it will be run.
func (c closedLine) rewritten(text string) (string, error) {
	l, err := readClosed(text)
	if err != nil {
		return "", c.named(err, text)
	}
	return c.judged(l, text)
}

// direct judges the words of a program that no shell starts, and returns them as they will be: with the scripts among them
// printed again.
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

// argv judges words that nothing has parsed, and returns the line that is read as just these.
func (c closedLine) argv(words []string) (string, error) {
	s := &simple{}
	for _, w := range words {
		s.words = append(s.words, literalToken(w))
	}
	return c.judged(list{{commands: []*simple{s}}}, quote.Show(words))
}

// judged judges what was read, and prints it.
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

// simple judges one command: its variables, its files, and what it runs.
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

// inner judges the script that a word is, for the shell that runs it, and puts its printed form in the word's place.
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
	for _, p := range r.placeholders { // what is put in its place is not quoted again
		if strings.Contains(text, p) {
			return unreadable("what comes in the place of " + p + " would be a part of a script")
		}
	}
	w.from.set(text)
	return nil
}

// dialectOf is what may be used of a shell that is called by name.
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

// closed reports whether some of these rules allow what others would not.
func (p *permissions) closed() bool {
	if p == nil {
		return false
	}
	return p.all == ask || slices.ContainsFunc(p.rules, func(r permission) bool { return r.verdict != deny })
}
