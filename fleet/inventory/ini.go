package inventory

import (
	"strings"
)

// ini reads Ansible's INI: lines of hosts, and the sections [group], [group:children] and [group:vars].
func (b *builder) ini(text string) (*Inventory, error) {
	var section string // "": hosts, "children" or "vars"
	current, err := b.group("ungrouped", 0)
	if err != nil {
		return nil, err
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		switch {
		case line[0] == '[' && isHeader(line):
			current, section, err = b.header(line, n)
		case section == "children":
			err = b.childLine(current, line, n)
		case section == "vars":
			name, text, ok := strings.Cut(line, "=")
			if !ok {
				return nil, b.wrong(n, "a line of [%s:vars] has no =", current.Name)
			}
			text, _, _ = strings.Cut(text, " #")
			b.variable(&current.vars, strings.TrimSpace(name), value{text: unquote(strings.TrimSpace(text))}, n)
		default:
			err = b.hostLine(current, line, n)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, g := range b.groups {
		if !g.defined && g.Name != "all" && g.Name != "ungrouped" {
			return nil, b.wrong(g.line, "there is no group %s: a section [%s] is missing", g.Name, g.Name)
		}
	}
	return b.finish(AnsibleINI)
}

// isHeader reports whether a line that begins with a bracket is the header of a section. An address or a range at
// the start of a host's name has text after its bracket, or a colon and no word.
func isHeader(line string) bool {
	inner, after, closed := strings.Cut(line[1:], "]")
	after = strings.TrimSpace(after)
	if !closed || after != "" && after[0] != '#' && after[0] != ';' {
		return false
	}
	_, isRange := parseRange(inner)
	return !isRange && strings.Count(inner, ":") < 2
}

// header reads the header of a section.
func (b *builder) header(line string, n int) (*group, string, error) {
	inner, _, _ := strings.Cut(line[1:], "]")
	name, kind, hasKind := strings.Cut(strings.TrimSpace(inner), ":")
	if hasKind && kind != "children" && kind != "vars" && kind != "hosts" {
		return nil, "", b.wrong(n, "the section [%.80s] has the kind %.80q: there are children, vars and hosts", inner, kind)
	}
	g, err := b.group(name, n)
	if err != nil {
		return nil, "", err
	}
	g.defined = g.defined || kind != "vars"
	if kind == "hosts" {
		kind = ""
	}
	return g, kind, nil
}

// childLine reads a line of [group:children].
func (b *builder) childLine(parent *group, line string, n int) error {
	name, _, _ := strings.Cut(line, "#")
	child, err := b.group(strings.TrimSpace(name), n)
	if err != nil {
		return err
	}
	b.child(parent, child)
	return nil
}

// hostLine reads a line with a host, or a range of them, and its variables.
func (b *builder) hostLine(g *group, line string, n int) error {
	words, ok := split(line)
	if !ok {
		return b.wrong(n, "a quote is not closed")
	}
	if len(words) == 0 {
		return nil
	}
	names, port, reason := expand(words[0])
	if reason != "" {
		return b.wrong(n, "%.80q is no name of a host: %s", words[0], reason)
	}
	v := vars{port: setting{text: port}}
	for _, word := range words[1:] {
		name, text, ok := strings.Cut(word, "=")
		if !ok {
			return b.wrong(n, "a word after the host %.80q is no variable: write NAME=VALUE", words[0])
		}
		b.variable(&v, name, value{text: text}, n)
	}
	return b.add(g, names, v, n)
}

// add adds hosts with their variables to a group.
func (b *builder) add(g *group, names []string, v vars, line int) error {
	for _, name := range names {
		h, err := b.host(name, line)
		if err != nil {
			return err
		}
		h.vars = h.vars.with(v)
		if err := b.join(g, h, line); err != nil {
			return err
		}
	}
	return nil
}

// split cuts a line into words as a shell does, up to a comment. Quotes are removed.
func split(line string) (words []string, ok bool) {
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			inWord = true
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t':
			if inWord {
				words, inWord = append(words, word.String()), false
				word.Reset()
			}
		case c == '#' && !inWord:
			return words, true
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, quote == 0
}

// unquote removes one pair of quotes around a text.
func unquote(text string) string {
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}
