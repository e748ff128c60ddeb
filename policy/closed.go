package policy

import (
	"cmp"
	"slices"
	"strings"

	"ptyctl/policy/grammar"
	"ptyctl/policy/unwrap"
	"ptyctl/quote"
)

// closed reports whether commands need the permission of a rule or a person. A
// line must then fit the closed grammar, and the printed line runs instead
// of the caller's text.
func (k *commands) closed() bool {
	return k.lists() || len(k.ask) > 0 || k.permissions.closed()
}

// A closedLine judges a line of the closed grammar.
type closedLine struct {
	k        *commands
	d        grammar.Dialect
	screen   bool
	program  func(words []grammar.Word) error // judges the program of each command; nil: programs are not judged
	variable func(text string) error          // judges variables that are set
	rule     Rule                             // the rule to name if no rule for commands decides
}

// named adds the rule to a denial that does not name one.
func (c closedLine) named(err error, text string) error {
	d, ok := asDenial(err)
	if !ok || d.rule.Name != "" {
		return err
	}
	// A list of allowed commands would not help here.
	d.rule, d.part = c.k.needed(), cmp.Or(d.part, grammar.Shorten(text))
	if !c.k.any() {
		d.rule = c.rule
	}
	return d
}

// rewritten judges text and returns the line that runs instead. A device gets several lines one by one.
func (c closedLine) rewritten(text string) (string, error) {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	if c.d.Class != grammar.ClassDevice || len(lines) < 2 {
		return c.one(text)
	}
	printed := make([]string, 0, len(lines))
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		one, err := c.one(line)
		if err != nil {
			return "", err
		}
		printed = append(printed, one)
	}
	return strings.Join(printed, "\n"), nil
}

// one is rewritten for text that a shell reads as one.
func (c closedLine) one(text string) (string, error) {
	l, err := grammar.Parse(text)
	if err != nil {
		return "", c.named(err, text)
	}
	return c.judged(l, text)
}

// direct judges the words of a program that no shell starts, and returns the
// words that run: the same, except that scripts among them are printed again.
func (c closedLine) direct(words []string) ([]string, error) {
	s := &grammar.Simple{}
	for _, w := range words {
		s.Words = append(s.Words, grammar.LiteralToken(w))
	}
	r := c.reader(true)
	if err := r.Simple(s, false); err != nil {
		return nil, c.named(err, quote.Show(words))
	}
	out := make([]string, len(words))
	for i, t := range s.Words {
		out[i], _ = t.Literal()
	}
	return out, nil
}

// argv judges words that no shell has parsed, and returns a line that a shell
// reads as exactly these words.
func (c closedLine) argv(words []string) (string, error) {
	s := &grammar.Simple{}
	for _, w := range words {
		s.Words = append(s.Words, grammar.LiteralToken(w))
	}
	return c.judged(grammar.List{{Commands: []*grammar.Simple{s}}}, quote.Show(words))
}

// judged judges a parsed line and prints it.
func (c closedLine) judged(l grammar.List, text string) (string, error) {
	r := c.reader(false)
	r.Judged = len(text)
	err := r.List(l)
	var out string
	if err == nil {
		out, err = c.d.List(l)
	}
	return out, c.named(err, text)
}

// reader returns a reader that judges the commands of the line. direct says
// that no shell reads the words.
func (c closedLine) reader(direct bool) *unwrap.Reader {
	return &unwrap.Reader{
		Closed:  true,
		Direct:  direct,
		Dialect: c.d,
		Screen:  c.screen,
		Env:     c.variable,
		File:    c.k.file,
		Judge: func(x unwrap.Command) error {
			if err := c.k.command(x); err != nil {
				return err
			}
			if c.program == nil || x.Hidden || !x.Words[0].Literal() {
				return nil
			}
			return c.program(x.Words)
		},
	}
}

// closed reports whether these rules allow only listed commands.
func (p *permissions) closed() bool {
	if p == nil {
		return false
	}
	return p.all == ask || slices.ContainsFunc(p.rules, func(r permission) bool { return r.verdict != deny })
}
