package nodes

import (
	"fmt"
	"slices"
	"strings"

	"ptyctl/internal/nearest"
)

// group adds the hosts of @group, @source:group, @* or @source:*.
func (s *selecting) group(found *hosts, text string) error {
	sourceName, name, ofOne := strings.Cut(text[1:], ":")
	searched := s.book.sources
	if !ofOne {
		name = sourceName
	} else if src := s.book.byName[sourceName]; src != nil {
		searched = []*source{src}
	} else {
		return fmt.Errorf("%.80q names no source of groups: there are %s", text, s.sourceNames())
	}
	switch {
	case name == "*":
		for _, src := range searched {
			s.allOf(found, src)
		}
		if len(found.list) == 0 {
			return fmt.Errorf("%s has no host%s", text, s.unread())
		}
		return nil
	case strings.ContainsAny(name, "*?"):
		return fmt.Errorf("%.80q is a pattern: groups are named in full, or all by @*", text)
	}
	var with []*source
	for _, src := range searched {
		if src.hasGroup(name) {
			with = append(with, src)
		}
	}
	if len(with) == 0 {
		return s.unknownGroup(text, name)
	}
	if len(with) > 1 {
		s.note("@%s is that of %s; %s has such a group, too: @%s:%s", name, with[0].path, with[1].path, with[1].name, name)
	}
	return s.members(found, with[0], name)
}

// members adds the hosts of a group of a source.
func (s *selecting) members(found *hosts, src *source, name string) error {
	if src.own == nil {
		for _, e := range src.groups[name] {
			g := *e
			g.host.From = "@" + name + " of " + e.host.From
			found.add(&g)
		}
		if len(src.groups[name]) == 0 {
			s.note("the group @%s of %s has no host", name, src.path)
		}
		return nil
	}
	members := s.groups[name]
	if members == nil {
		if i := slices.Index(s.inside, name); i >= 0 || len(s.inside) > 50 {
			return fmt.Errorf("the group @%s contains itself: @%s > @%s", name, strings.Join(s.inside[max(i, 0):], " > @"), name)
		}
		s.inside = append(s.inside, name)
		var err error
		members, err = s.expression(src.own[name])
		s.inside = s.inside[:len(s.inside)-1]
		if err != nil {
			return fmt.Errorf("the group @%s of %s: %w", name, src.path, err)
		}
		for i, e := range members.list {
			if e.host.From == "given" {
				g := *e
				g.host.From = "@" + name + " of " + src.path
				members.list[i] = &g
			}
		}
		s.groups[name] = members
	}
	for _, e := range members.list {
		found.add(e)
	}
	return nil
}

// allOf adds all hosts of a source. An own group that has no meaning is noted: it may have nothing to do with the
// expression. In the expression of an own group, all hosts are those of the other sources: otherwise the group would
// contain itself.
func (s *selecting) allOf(found *hosts, src *source) {
	for _, e := range src.hosts {
		found.add(e)
	}
	if src.own == nil || len(s.inside) > 0 {
		return
	}
	for _, name := range src.groupNames() {
		if err := s.members(found, src, name); err != nil {
			s.note("%v", err)
		}
	}
}

func (s *source) hasGroup(name string) bool {
	_, ok := s.own[name]
	_, has := s.groups[name]
	return ok || has
}

func (s *selecting) hasGroup(name string) bool {
	return slices.ContainsFunc(s.book.sources, func(src *source) bool { return src.hasGroup(name) })
}

// unknownGroup returns an error with the names that could be meant.
func (s *selecting) unknownGroup(text, name string) error {
	var names []string
	for _, src := range s.book.sources {
		names = append(names, src.groupNames()...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	near := ""
	if len(name) <= 100 {
		most := max(2, len(name)/3)
		if len(name) < 3 {
			most = 1
		}
		if i := nearest.In(names, name, most, nearest.Letters); i >= 0 {
			near = fmt.Sprintf("did you mean @%s? ", names[i])
		}
	}
	known := "no source has groups"
	if len(names) > 0 {
		known = "there are @" + strings.Join(names[:min(len(names), 10)], ", @")
		if more := len(names) - 10; more > 0 {
			known += fmt.Sprintf(" and %d more", more)
		}
	}
	return fmt.Errorf("there is no group %.80s: %s%s%s", text, near, known, s.unread())
}

// sourceNames returns the names of the sources, for an error.
func (s *selecting) sourceNames() string {
	var names []string
	for _, src := range s.book.sources {
		names = append(names, src.name)
	}
	return strings.Join(names, ", ")
}

// unread returns the sources that could not be read, to follow an error.
func (s *selecting) unread() string {
	var b strings.Builder
	for _, src := range s.book.sources {
		if src.err != nil {
			b.WriteString("; " + src.err.Error())
		}
	}
	return b.String()
}
