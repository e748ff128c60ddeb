package nodes

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"ptyctl/fleet/nodeset"
	"ptyctl/internal/destination"
)

// selecting is one call of Select.
type selecting struct {
	book   *Book
	most   int
	notes  []string
	groups map[string]*hosts // own groups that were resolved
	inside []string          // own groups that are being resolved
}

// maxNotes is the most notes of a selection besides those about sources.
const maxNotes = 20

// note adds a note unless it is there.
func (s *selecting) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(s.notes) < maxNotes && !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// A step is a term with the operator before it.
type step struct {
	operator byte // ',', '!' or '&'
	term     string
}

// steps cuts an expression at its operators. A comma before another operator has no effect: a,!b is a!b.
func steps(text string) ([]step, error) {
	var list []step
	operator, given := byte(','), false // given: the operator is in the text, so that a term must follow
	depth, begin := 0, 0
	for i := 0; i <= len(text); i++ {
		c := byte(' ')
		if i < len(text) {
			c = text[i]
		}
		switch {
		case c == '[':
			depth++
			continue
		case c == ']':
			depth--
			continue
		case i < len(text) && (depth > 0 || strings.IndexByte(" \t\n,!&^", c) < 0):
			continue
		}
		if term := text[begin:i]; term != "" {
			list = append(list, step{operator, term})
			operator, given = ',', false
		}
		begin = i + 1
		switch c {
		case '^':
			return nil, errors.New("the operator ^ is not known: there are a comma, ! and &")
		case ',', '!', '&':
			if given && (operator != ',' || c == ',') || len(list) == 0 {
				return nil, fmt.Errorf("%.80q has no host beside an operator", text)
			}
			operator, given = c, true
		}
	}
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("an expression of hosts is empty")
	}
	if given || len(list) == 0 {
		return nil, fmt.Errorf("%.80q has no host at its end", text)
	}
	return list, nil
}

// expression returns the hosts of an expression that begins with a host.
func (s *selecting) expression(text string) (*hosts, error) {
	if err := free(text); err != nil {
		return nil, err
	}
	list, err := steps(text)
	if err != nil {
		return nil, err
	}
	all := newHosts()
	for _, st := range list {
		found, err := s.term(st.term)
		if err != nil {
			return nil, err
		}
		switch st.operator {
		case '!':
			all = s.exclude(all, found, "!"+st.term)
		case '&':
			all = all.filter(found, true)
		default:
			if err := s.union(all, found); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// exclusion returns the hosts of an expression that begins with !. All its terms are excluded.
func (s *selecting) exclusion(text string) (*hosts, error) {
	text = text[1:]
	if err := free(text); err != nil {
		return nil, err
	}
	list, err := steps(text)
	if err != nil {
		return nil, err
	}
	all := newHosts()
	for _, st := range list {
		if st.operator == '&' {
			return nil, fmt.Errorf("!%.80s has an &: an expression that begins with ! excludes each of its terms", text)
		}
		found, err := s.term(st.term)
		if err != nil {
			return nil, err
		}
		if err := s.union(all, found); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// free returns an error for a text with a password, which no other error may show.
func free(text string) error {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n,!&", r) }) {
		if at := strings.LastIndexByte(part, '@'); at > 0 && strings.Contains(strings.TrimPrefix(part[:at], "ssh://"), ":") {
			return &Error{Reason: "a host holds a password before its @: leave it out, a login asks for it"}
		}
	}
	return nil
}

// term returns the hosts of one term.
func (s *selecting) term(text string) (*hosts, error) {
	found := newHosts()
	names, err := nodeset.Expand(text, maxNames)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, "@"):
			err = s.group(found, name)
		case strings.ContainsAny(name, "*?"):
			err = s.wildcard(found, name)
		default:
			err = s.name(found, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// name adds a host that the expression names.
func (s *selecting) name(found *hosts, text string) error {
	d, err := parse(text)
	if err != nil {
		return err
	}
	e := s.book.known[d.Host]
	if e == nil {
		if s.hasGroup(d.Host) {
			s.note("%s is a host of this name; the group is @%s", d.Host, d.Host)
		}
		e = &entry{host: Host{Name: d.Host, From: "given"}}
	}
	found.add(e.with(d))
	return nil
}

// shell are characters that names of hosts and accounts do not have. A program of ssh_config gets both.
const shell = "$`;|<>(){}#~="

// unseen reports whether a name has a character that cannot be seen, or that turns text around. A person who is asked
// about hosts, or reads of them, would take the name for another.
func unseen(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// parse reads a host with its user and port.
func parse(text string) (destination.Destination, error) {
	d, err := destination.Parse(text)
	switch {
	case errors.Is(err, destination.ErrPassword):
		return d, &Error{Reason: "a host holds a password before its @: leave it out, a login asks for it"}
	case err != nil:
		return d, fmt.Errorf("%.80q is no host: %w", text, err)
	case d.Protocol == "telnet":
		return d, fmt.Errorf("%.80q is reached over Telnet: commands on many hosts are for SSH", text)
	case strings.HasPrefix(d.Host, "-") || strings.HasPrefix(d.User, "-"):
		return d, fmt.Errorf("%.80q is no host: a name does not begin with -", text)
	case strings.ContainsAny(d.Host, "/\\"+shell) || strings.ContainsAny(d.User, shell) ||
		unseen(d.Host) || unseen(d.User):
		return d, fmt.Errorf("%.80q is no host: it has a character that no name has", text)
	case len(d.Host) > 255 || len(d.User) > 255:
		return d, fmt.Errorf("%.80q is no host: a name has at most 255 characters", text)
	}
	return d, nil
}

// with returns the entry with the user and the port of the expression.
func (e *entry) with(d destination.Destination) *entry {
	w := *e
	if d.User != "" {
		w.host.User = d.User
	}
	if d.Port > 0 {
		w.host.Port = d.Port
	}
	w.host.Label = label(d.User, w.host.Name, d.Port)
	return &w
}

// wildcard adds the known hosts with names like the text.
func (s *selecting) wildcard(found *hosts, text string) error {
	d, err := parse(text)
	if err != nil {
		return err
	}
	if strings.ContainsAny(d.User, "*?") {
		return fmt.Errorf("%.80q has a * or ? in its user: only names of hosts may", text)
	}
	pattern := strings.ReplaceAll(d.Host, `\`, `\\`)
	before, known := len(found.list), newHosts()
	for _, src := range s.book.sources {
		s.allOf(known, src)
	}
	for _, e := range known.list {
		if ok, err := path.Match(pattern, e.host.Name); err == nil && ok {
			if d.User == "" && d.Port == 0 {
				found.add(e)
			} else {
				found.add(e.with(d))
			}
		}
	}
	if len(found.list) == before {
		return fmt.Errorf("no known host is like %.80q: the sources know %d hosts%s", text, len(known.list), s.unread())
	}
	return nil
}
