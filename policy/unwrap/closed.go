package unwrap

import (
	"strings"

	"ptyctl/policy/grammar"
	"ptyctl/quote"
)

// List judges each command of a list.
func (r *Reader) List(l grammar.List) error {
	for _, p := range l {
		for i, s := range p.Commands {
			if err := r.Simple(s, i > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// Simple judges one command: its variables, its files, and the program with its
// arguments.
func (r *Reader) Simple(s *grammar.Simple, piped bool) error {
	for _, a := range s.Assigns {
		if err := r.Env(a.Name + "=" + a.Value); err != nil {
			return err
		}
	}
	in := input{}
	for _, d := range s.Redirs {
		if d.File == nil {
			continue
		}
		name := d.File.Word().Text
		if name == "/dev/null" {
			continue
		}
		write := d.Fd > 0 || strings.HasPrefix(name, "/dev/tcp/") || strings.HasPrefix(name, "/dev/udp/")
		if err := r.File(name, write); err != nil {
			return err
		}
	}
	words := make([]grammar.Word, len(s.Words))
	for i, t := range s.Words {
		words[i] = t.Word()
	}
	outer := *r
	outer.piped = piped
	outer.Screen = r.Screen && !piped && len(s.Redirs) == 0
	err := outer.command(words, in)
	r.Judged = outer.Judged
	return err
}

// inner judges a word that is a script for the given shell, and replaces the
// word by the printed script.
func (r *Reader) inner(shell string, w grammar.Word) error {
	if w.From == nil {
		return grammar.Unreadable("the line that " + shell + " runs is not known before it runs")
	}
	if r.Judged += len(w.Text); r.Judged > maxJudged {
		return grammar.TooLong("there is too much to read")
	}
	l, err := grammar.Parse(w.Text)
	if err != nil {
		return err
	}
	in := *r
	in.Screen, in.Direct, in.Dialect = false, false, dialectOf(shell)
	if err := in.List(l); err != nil {
		return err
	}
	r.Judged = in.Judged
	text, err := in.Dialect.List(l)
	if err != nil {
		return err
	}
	for _, p := range r.placeholders { // the replacement is not quoted again
		if strings.Contains(text, p) {
			return grammar.Unjudged("the text that replaces "+p+" would become a part of a script", withoutShell)
		}
	}
	w.From.Replace(text)
	return nil
}

// dialectOf returns the syntax that is safe for the shell with the given name.
func dialectOf(name string) grammar.Dialect {
	switch {
	case name == "fish":
		return grammar.Dialect{Class: quote.Fish}
	case name == "csh" || name == "tcsh":
		return grammar.Dialect{Class: quote.Csh}
	case shells[name]:
		return grammar.Dialect{Class: quote.Posix}
	}
	return grammar.Dialect{AnyLine: true}
}
