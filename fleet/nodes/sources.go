package nodes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ptyctl/fleet/inventory"
)

// Sources are the places where hosts and groups are written down.
type Sources struct {
	Groups      map[string]string                       // expressions by group; the source "groups"
	GroupsFrom  string                                  // their place, for people; "": "groups"
	Aliases     func(context.Context) ([]string, error) // names of ssh_config; the source "ssh"; nil: none
	Inventories []string                                // paths of Ansible's inventories; sources named as the files
	Genders     string                                  // a path; the source "genders"; "": none
}

// A Book is the content of sources when they were read. It does not change, and any number of goroutines may use it.
type Book struct {
	sources []*source
	byName  map[string]*source
	known   map[string]*entry // hosts by name, of the first source that has it
}

// A source is one of the places, as it was read.
type source struct {
	name, path string
	hosts      []*entry
	groups     map[string][]*entry // nil for own groups
	own        map[string]string   // expressions of own groups
	ignored    []inventory.Ignored
	err        error
}

// An entry is a host in a source.
type entry struct {
	host    Host
	problem string
}

// Read reads all sources. Their errors are kept for the selections.
func (s Sources) Read(ctx context.Context) *Book {
	b := &Book{byName: make(map[string]*source), known: make(map[string]*entry)}
	b.add(&source{name: "groups", path: cmp.Or(s.GroupsFrom, "groups"), own: s.Groups})
	for _, path := range s.Inventories {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		b.add(readInventory(name, path, inventory.Read))
	}
	if s.Genders != "" {
		b.add(readInventory("genders", s.Genders, inventory.ReadGenders))
	}
	if s.Aliases != nil {
		src := &source{name: "ssh", path: "ssh_config"}
		names, err := s.Aliases(ctx)
		src.err = err
		for _, name := range names {
			src.hosts = append(src.hosts, &entry{host: Host{Label: name, Name: name, From: src.path}})
		}
		b.add(src)
	}
	return b
}

// readInventory reads one file.
func readInventory(name, path string, read func(string) (*inventory.Inventory, error)) *source {
	src := &source{name: name, path: path}
	inv, err := read(path)
	if err != nil {
		src.err = err
		return src
	}
	byName := make(map[string]*entry, len(inv.Hosts))
	for _, h := range inv.Hosts {
		e := &entry{
			host: Host{
				Label: h.Name, Name: h.Name, Address: h.Address, User: h.User, Port: h.Port,
				From: fmt.Sprintf("%s:%d", path, h.Line),
			},
			problem: h.Problem,
		}
		byName[h.Name] = e
		src.hosts = append(src.hosts, e)
	}
	src.groups = make(map[string][]*entry, len(inv.Groups))
	for _, g := range inv.Groups {
		names, _ := inv.Members(g.Name)
		members := make([]*entry, 0, len(names))
		for _, n := range names {
			members = append(members, byName[n])
		}
		src.groups[g.Name] = members
	}
	src.ignored = inv.Ignored
	return src
}

// add appends a source under a name of its own.
func (b *Book) add(src *source) {
	name := strings.Map(func(r rune) rune {
		if r <= ' ' || strings.ContainsRune(",!&^[]*?@:\"'", r) {
			return '-'
		}
		return r
	}, src.name)
	src.name = name
	for n := 2; b.byName[src.name] != nil; n++ {
		src.name = fmt.Sprintf("%s-%d", name, n)
	}
	b.sources, b.byName[src.name] = append(b.sources, src), src
	for _, e := range src.hosts {
		if b.known[e.host.Name] == nil {
			b.known[e.host.Name] = e
		}
	}
}

// A Count describes the content of a source.
type Count struct {
	Name    string              `json:"name"` // for @name:group
	Path    string              `json:"path,omitempty"`
	Hosts   int                 `json:"hosts,omitempty"` // without those that own groups alone name
	Groups  []string            `json:"groups,omitempty"`
	Ignored []inventory.Ignored `json:"ignored,omitempty"`
	Error   string              `json:"error,omitempty"`
}

// Sources returns the content of the sources in the order of the search, without empty sources.
func (b *Book) Sources() []Count {
	var list []Count
	for _, src := range b.sources {
		c := Count{Name: src.name, Path: src.path, Hosts: len(src.hosts), Groups: src.groupNames(), Ignored: src.ignored}
		if src.err != nil {
			c.Error = src.err.Error()
		}
		if c.Hosts+len(c.Groups) > 0 || c.Error != "" {
			list = append(list, c)
		}
	}
	return list
}

// groupNames returns the sorted names of the groups.
func (s *source) groupNames() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range maps.Keys(s.groups) {
			if !yield(name) {
				return
			}
		}
		for name := range maps.Keys(s.own) {
			if !yield(name) {
				return
			}
		}
	})
}
