package nodes

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ptyctl/fleet/nodeset"
)

// DefaultMost is the most hosts of a selection where the operator has set no other number.
const DefaultMost = 1000

// maxNames is the most names of one expression, before others are excluded from them.
const maxNames = 100_000

// A Host is one host of a selection.
type Host struct {
	// Label names the host in answers and is unique in a selection: the name, with user@ and :port if the
	// expression has them.
	Label   string `json:"host"`
	Name    string `json:"name,omitempty"`    // without user and port
	Address string `json:"address,omitempty"` // where an inventory gives one; "": Name
	User    string `json:"user,omitempty"`    // of the expression, or else of an inventory
	Port    int    `json:"port,omitempty"`    // likewise
	From    string `json:"from"`              // where the host is written down, for people: "given", or a file and a group
}

// Target returns the name or the address to connect to.
func (h Host) Target() string {
	if h.Address != "" {
		return h.Address
	}
	return h.Name
}

// A Selection is the meaning of expressions.
type Selection struct {
	Hosts []Host `json:"hosts"` // in the order of the expressions, each label once

	// Notes are warnings for the caller: an exclusion without effect, a source that could not be read.
	Notes []string `json:"notes,omitempty"`
}

// Labels returns the labels of the hosts.
func (s *Selection) Labels() []string {
	labels := make([]string, len(s.Hosts))
	for i, h := range s.Hosts {
		labels[i] = h.Label
	}
	return labels
}

// An Error says which expression has no meaning, and why.
type Error struct {
	Expression string // "" if it is about all, or holds a password
	Reason     string // what happened: why; what to do next
	Most       int    // the bound that the number of hosts exceeds; 0: it is about something else
}

func (e *Error) Error() string { return e.Reason }

// Select returns the hosts of expressions, at most so many. Each error is an *Error.
func (b *Book) Select(expressions []string, most int) (*Selection, error) {
	s := &selecting{book: b, most: most, groups: make(map[string]*hosts)}
	all := newHosts()
	var begun bool
	var without, only []string
	for _, e := range expressions {
		switch e = strings.TrimSpace(e); {
		case strings.HasPrefix(e, "!"):
			without = append(without, e)
		case strings.HasPrefix(e, "&"):
			only = append(only, e)
		default:
			found, err := s.expression(e)
			if err != nil {
				return nil, s.wrap(err, e)
			}
			begun = true
			if err := s.union(all, found); err != nil {
				return nil, s.wrap(err, e)
			}
		}
	}
	if !begun {
		return nil, &Error{Reason: "no host is named: an expression that begins with ! or & takes hosts away from others"}
	}
	for _, e := range only {
		found, err := s.expression(e[1:])
		if err != nil {
			return nil, s.wrap(err, e)
		}
		all = all.filter(found, true)
	}
	for _, e := range without {
		found, err := s.exclusion(e)
		if err != nil {
			return nil, s.wrap(err, e)
		}
		all = s.exclude(all, found, e)
	}
	return s.finish(all)
}

// finish checks the result.
func (s *selecting) finish(all *hosts) (*Selection, error) {
	var unusable []string
	problem := ""
	for _, e := range all.list {
		if e.problem != "" {
			unusable = append(unusable, e.host.Label)
			if problem == "" {
				problem = e.problem
			}
		}
	}
	switch {
	case len(all.list) == 0:
		return nil, &Error{Reason: "no host is left: the expressions exclude all that they name"}
	case len(all.list) > s.most:
		reason := fmt.Sprintf("the expressions mean %d hosts, and at most %d are possible", len(all.list), s.most)
		return nil, &Error{Most: s.most, Reason: reason}
	case len(unusable) > 0:
		folded := nodeset.Fold(unusable)
		return nil, &Error{Reason: fmt.Sprintf("it is not known how to reach %.200s: %s; "+
			"give the address in the inventory as plain text, or exclude the host with !%.200s", folded, problem, folded)}
	}
	s.twice(all)
	sel := &Selection{Notes: s.notes}
	for _, e := range all.list {
		sel.Hosts = append(sel.Hosts, e.host)
	}
	for _, src := range s.book.sources {
		if src.err != nil {
			sel.Notes = append(sel.Notes, "the source "+src.name+" was not read: "+src.err.Error())
		}
	}
	return sel, nil
}

// twice notes hosts that lead to one address, as a command would run there once for each.
func (s *selecting) twice(all *hosts) {
	first := make(map[string]string, len(all.list))
	for _, e := range all.list {
		place := fmt.Sprintf("%s:%d", strings.ToLower(e.host.Target()), e.host.Port)
		if other, ok := first[place]; ok {
			s.note("%s and %s have one address, %s", other, e.host.Label, e.host.Target())
		} else {
			first[place] = e.host.Label
		}
	}
}

// wrap gives an error its expression, and the words for a set that is too large.
func (s *selecting) wrap(err error, expression string) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if size, ok := errors.AsType[*nodeset.SizeError](err); ok {
		reason := fmt.Sprintf("%.80q means %d hosts, and at most %d are possible", size.Pattern, size.Names, s.most)
		return &Error{Expression: expression, Most: s.most, Reason: reason}
	}
	return &Error{Expression: expression, Reason: err.Error()}
}

// label returns the label of a host with the user and the port of an expression.
func label(user, name string, port int) string {
	if port > 0 {
		if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		name += ":" + strconv.Itoa(port)
	}
	if user != "" {
		name = user + "@" + name
	}
	return name
}
