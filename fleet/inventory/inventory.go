package inventory

import "strconv"

// A Format is the notation of a file.
type Format string

// The formats that can be read.
const (
	AnsibleINI  Format = "ansible-ini"
	AnsibleYAML Format = "ansible-yaml"
	Genders     Format = "genders"
)

// An Inventory is the content of one file. It does not change after it was read.
type Inventory struct {
	Path   string
	Format Format
	Hosts  []Host  // in the order of the file, each name once
	Groups []Group // in the order of the file, each name once

	Ignored []Ignored // sorted by What
}

// A Host is a name, and how to reach it where that is not by its name. Empty members were not given.
type Host struct {
	Name    string
	Address string
	User    string
	Port    int
	Line    int // of the file, where the host is first named

	// Problem says why the address, the user or the port is not known, although the file gives one: for example,
	// because it is encrypted. Such a host must not be reached by its name instead.
	Problem string
}

// A Group has hosts, and the hosts of its children. No group is a descendant of itself.
type Group struct {
	Name     string
	Hosts    []string
	Children []string
}

// An Ignored counts parts of a file without effect that are alike: for example, a variable.
type Ignored struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// Members returns the hosts of a group, first its own and then those of its children, each once.
func (inv *Inventory) Members(group string) (names []string, ok bool) {
	byName := make(map[string]*Group, len(inv.Groups))
	for i := range inv.Groups {
		byName[inv.Groups[i].Name] = &inv.Groups[i]
	}
	if byName[group] == nil {
		return nil, false
	}
	seen, visited := make(map[string]bool), make(map[string]bool)
	var visit func(g *Group)
	visit = func(g *Group) {
		if g == nil || visited[g.Name] {
			return
		}
		visited[g.Name] = true
		for _, h := range g.Hosts {
			if !seen[h] {
				seen[h] = true
				names = append(names, h)
			}
		}
		for _, c := range g.Children {
			visit(byName[c])
		}
	}
	visit(byName[group])
	return names, true
}

// An Error says why a file was not read, or where it is wrong.
type Error struct {
	Path   string
	Line   int // 0: the whole file
	Reason string
	Err    error // nil unless the system refused the file
}

func (e *Error) Error() string {
	where := e.Path
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
	}
	return where + ": " + e.Reason
}

// Unwrap returns the error of the system.
func (e *Error) Unwrap() error { return e.Err }
