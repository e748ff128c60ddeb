package nodes

import (
	"strings"

	"ptyctl/fleet/nodeset"
)

// hosts are an ordered set of entries, by label.
type hosts struct {
	list []*entry
	has  map[string]bool
}

func newHosts() *hosts { return &hosts{has: make(map[string]bool)} }

// add adds an entry unless its label is there.
func (h *hosts) add(e *entry) {
	if !h.has[e.host.Label] {
		h.has[e.host.Label] = true
		h.list = append(h.list, e)
	}
}

// filter returns the hosts that are the same as one of other (keep), or as none of them.
func (h *hosts) filter(other *hosts, keep bool) *hosts {
	byName := make(map[string][]*entry)
	for _, e := range other.list {
		name, target := strings.ToLower(e.host.Name), strings.ToLower(e.host.Target())
		byName[name] = append(byName[name], e)
		if target != name {
			byName[target] = append(byName[target], e)
		}
	}
	result := newHosts()
	for _, e := range h.list {
		found := anySame(e, byName[strings.ToLower(e.host.Name)]) || anySame(e, byName[strings.ToLower(e.host.Target())])
		if found == keep {
			result.add(e)
		}
	}
	return result
}

// anySame reports whether an entry of the list, which has the name or the address of e, differs in neither user nor
// port. One that is not given differs from none.
func anySame(e *entry, list []*entry) bool {
	for _, o := range list {
		if (e.host.User == "" || o.host.User == "" || e.host.User == o.host.User) &&
			(e.host.Port == 0 || o.host.Port == 0 || e.host.Port == o.host.Port) {
			return true
		}
	}
	return false
}

// union adds the hosts of other, up to the bound of one expression.
func (s *selecting) union(all, other *hosts) error {
	for _, e := range other.list {
		all.add(e)
	}
	if len(all.list) > maxNames {
		return &nodeset.SizeError{Pattern: "all together", Names: uint64(len(all.list)), Most: s.most}
	}
	return nil
}

// exclude removes the hosts of other, and adds a note if all has none of them.
func (s *selecting) exclude(all, other *hosts, what string) *hosts {
	rest := all.filter(other, false)
	if len(rest.list) == len(all.list) {
		s.note("%.80s excludes none of the hosts", what)
	}
	return rest
}
