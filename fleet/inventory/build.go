package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Bounds of one file. An inventory of a large site has a tenth of it.
const (
	maxHosts   = 100_000
	maxGroups  = 20_000
	maxMembers = 2_000_000 // of all groups together, also those of children
)

// A builder collects the content of one file.
type builder struct {
	path    string
	hosts   []*host
	byHost  map[string]*host
	groups  []*group
	byGroup map[string]*group
	ignored map[string]int
	members int
}

type host struct {
	name    string
	line    int
	vars    vars
	grouped bool
}

type group struct {
	Group
	line    int // where it is first named
	defined bool
	has     map[string]bool // hosts
	vars    vars
	depth   int // 0: not known yet, -1: being found
}

func newBuilder(path string) *builder {
	return &builder{
		path: path, byHost: make(map[string]*host), byGroup: make(map[string]*group), ignored: make(map[string]int),
	}
}

// wrong returns the error for a line.
func (b *builder) wrong(line int, format string, args ...any) error {
	return &Error{Path: b.path, Line: line, Reason: fmt.Sprintf(format, args...)}
}

// ignore counts something without effect.
func (b *builder) ignore(what string) { b.ignored[what]++ }

// host returns the host of a name, which it adds if it is new.
func (b *builder) host(name string, line int) (*host, error) {
	if h := b.byHost[name]; h != nil {
		return h, nil
	}
	switch {
	case !address(name):
		return nil, b.wrong(line, "%.80q is no name of a host", name)
	case len(b.hosts) == maxHosts:
		return nil, b.wrong(line, "it has more than %d hosts", maxHosts)
	}
	h := &host{name: name, line: line}
	b.hosts, b.byHost[name] = append(b.hosts, h), h
	return h, nil
}

// group returns the group of a name, which it adds if it is new.
func (b *builder) group(name string, line int) (*group, error) {
	if g := b.byGroup[name]; g != nil {
		return g, nil
	}
	switch {
	case !groupName(name):
		return nil, b.wrong(line, "%.80q is no name of a group", name)
	case len(b.groups) == maxGroups:
		return nil, b.wrong(line, "it has more than %d groups", maxGroups)
	}
	g := &group{Group: Group{Name: name}, line: line, has: make(map[string]bool)}
	b.groups, b.byGroup[name] = append(b.groups, g), g
	return g, nil
}

// groupName reports whether an expression can refer to a group of that name.
func groupName(name string) bool {
	return name != "" && len(name) <= 255 && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(",!&^[]*?@\"':", r)
	})
}

// join adds a host to a group.
func (b *builder) join(g *group, h *host, line int) error {
	h.grouped = h.grouped || g.Name != "all" && g.Name != "ungrouped"
	if b.members++; b.members > maxMembers {
		return b.wrong(line, "its groups have more than %d members", maxMembers)
	}
	if g.has[h.name] {
		return nil
	}
	g.has[h.name] = true
	g.Hosts = append(g.Hosts, h.name)
	return nil
}

// child makes a group the child of another.
func (b *builder) child(parent, child *group) {
	if !slices.Contains(parent.Children, child.Name) {
		parent.Children = append(parent.Children, child.Name)
	}
}

// finish returns the inventory. Ansible's groups all and ungrouped exist without being named.
func (b *builder) finish(f Format) (*Inventory, error) {
	for _, g := range b.groups {
		if err := b.measure(g, nil); err != nil {
			return nil, err
		}
	}
	inv := &Inventory{Path: b.path, Format: f}
	for _, g := range b.groups {
		inv.Groups = append(inv.Groups, g.Group)
	}
	if err := b.inherit(inv); err != nil {
		return nil, err
	}
	for _, h := range b.hosts {
		inv.Hosts = append(inv.Hosts, Host{
			Name: h.name, Line: h.line, Problem: h.vars.problem(),
			Address: h.vars.address.text, User: h.vars.user.text, Port: portNumber(h.vars.port.text),
		})
	}
	if f != Genders {
		b.implicit(inv)
	}
	inv.Ignored = sorted(b.ignored)
	return inv, nil
}

// implicit makes the group all hold every host, and ungrouped those of no other group.
func (b *builder) implicit(inv *Inventory) {
	inv.Groups = slices.DeleteFunc(inv.Groups, func(g Group) bool { return g.Name == "all" || g.Name == "ungrouped" })
	all, ungrouped := Group{Name: "all"}, Group{Name: "ungrouped"}
	for _, h := range b.hosts {
		all.Hosts = append(all.Hosts, h.name)
		if !h.grouped {
			ungrouped.Hosts = append(ungrouped.Hosts, h.name)
		}
	}
	inv.Groups = append(inv.Groups, all, ungrouped)
}

// measure finds the depth of a group and its descendants: all has 1, other groups at least 2, and a child more than
// each parent. above are the groups on the way to it.
func (b *builder) measure(g *group, above []string) error {
	if slices.Contains(above, g.Name) {
		return b.wrong(g.line, "the group %s contains itself: %s", g.Name,
			strings.Join(append(above[slices.Index(above, g.Name):], g.Name), " > "))
	}
	if len(above) > 100 {
		return b.wrong(g.line, "the group %s is nested more than 100 deep", g.Name)
	}
	depth := len(above) + 2
	if g.Name == "all" {
		depth = 1
	}
	if g.depth >= depth {
		return nil // its descendants have been measured from no less deep
	}
	g.depth = depth
	for _, c := range g.Children {
		if err := b.measure(b.byGroup[c], append(above, g.Name)); err != nil {
			return err
		}
	}
	return nil
}

// inherit gives hosts the variables of their groups in the order of Ansible: a deeper group decides before a less
// deep one, of equally deep ones the last by name, and the host itself before all.
func (b *builder) inherit(inv *Inventory) error {
	with := slices.DeleteFunc(slices.Clone(b.groups), func(g *group) bool { return g.vars == vars{} })
	slices.SortFunc(with, func(x, y *group) int {
		return cmp.Or(cmp.Compare(x.depth, y.depth), strings.Compare(x.Name, y.Name))
	})
	inherited := make(map[string]vars)
	for _, g := range with {
		names, _ := inv.Members(g.Name)
		if g.Name == "all" {
			names = names[:0]
			for _, h := range b.hosts {
				names = append(names, h.name)
			}
		}
		if b.members += len(names); b.members > maxMembers {
			return b.wrong(g.line, "its groups have more than %d members", maxMembers)
		}
		for _, name := range names {
			inherited[name] = inherited[name].with(g.vars)
		}
	}
	for _, h := range b.hosts {
		h.vars = inherited[h.name].with(h.vars)
	}
	return nil
}
