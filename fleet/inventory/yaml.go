package inventory

import (
	"errors"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds the values that are read from a file. The values behind an alias count again for each of its uses:
// otherwise a few lines of aliases could expand to billions of values.
const maxNodes = 1_000_000

// A yamlReader reads one file. The parser leaves aliases as they are, so that their cost is counted here.
type yamlReader struct {
	*builder
	nodes int
}

// yaml reads Ansible's YAML: groups with hosts, children and vars.
func (b *builder) yaml(text string) (*Inventory, error) {
	var document yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return b.finish(AnsibleYAML)
	} else if err != nil {
		reason := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "yaml: ")
		return nil, b.wrong(0, "it is no YAML: %.200s", reason)
	}
	if err := decoder.Decode(new(yaml.Node)); err == nil {
		b.ignore("a second YAML document")
	}
	r := &yamlReader{builder: b}
	if len(document.Content) == 0 {
		return b.finish(AnsibleYAML)
	}
	groups, err := r.pairs(document.Content[0], "the file")
	if err != nil {
		return nil, err
	}
	for _, p := range groups {
		if p.name == "plugin" && p.value.Kind == yaml.ScalarNode {
			return nil, b.wrong(p.line, "it configures a plugin that would ask a service for hosts: plugins are never run; "+
				"save the result of ansible-inventory --list --yaml as a file")
		}
	}
	var meta []pair
	for _, p := range groups {
		if p.name == "_meta" {
			meta = append(meta, p)
		} else if _, err := r.group(p, 0); err != nil {
			return nil, err
		}
	}
	for _, p := range meta {
		if err := r.meta(p); err != nil {
			return nil, err
		}
	}
	return b.finish(AnsibleYAML)
}

// meta reads the variables of hosts in the form that inventory programs print as JSON.
func (r *yamlReader) meta(p pair) error {
	parts, err := r.pairs(p.value, "_meta")
	if err != nil {
		return err
	}
	for _, part := range parts {
		if part.name != "hostvars" {
			r.ignore("the key " + plain(part.name) + " of _meta")
			continue
		}
		hosts, err := r.pairs(part.value, "the hostvars")
		if err != nil {
			return err
		}
		for _, p := range hosts {
			h := r.byHost[p.name]
			if h == nil {
				r.ignore("hostvars of a host in no group")
				continue
			}
			if err := r.variables(&h.vars, p, "the host "+p.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// A pair is one entry of a mapping.
type pair struct {
	name  string
	line  int
	value *yaml.Node
}

// resolve follows aliases and counts the values.
func (r *yamlReader) resolve(n *yaml.Node) (*yaml.Node, error) {
	for hops := 0; n.Kind == yaml.AliasNode; hops++ {
		if n = n.Alias; n == nil || hops > 100 {
			return nil, r.wrong(0, "one of its aliases leads nowhere")
		}
	}
	if r.nodes++; r.nodes > maxNodes {
		return nil, r.wrong(n.Line, "it has more than %d values, counted with those behind aliases", maxNodes)
	}
	return n, nil
}

// pairs returns the entries of a mapping, with those that it merges by <<, which come first so that its own decide.
// An empty value has none.
func (r *yamlReader) pairs(n *yaml.Node, what string) ([]pair, error) { return r.pairsIn(n, what, 0) }

// names returns the same as pairs, also of a list of names or of one, which have no values.
func (r *yamlReader) names(n *yaml.Node, what string) ([]pair, error) {
	n, err := r.resolve(n)
	if err != nil {
		return nil, err
	}
	list := n.Content
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!str":
		list = []*yaml.Node{n}
	case n.Kind != yaml.SequenceNode:
		return r.pairs(n, what)
	}
	var found []pair
	for _, item := range list {
		if item, err = r.resolve(item); err != nil {
			return nil, err
		}
		if item.Kind != yaml.ScalarNode {
			return nil, r.wrong(item.Line, "%s have %s where a name must be", what, kind(item))
		}
		found = append(found, pair{item.Value, item.Line, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: item.Line}})
	}
	return found, nil
}

func (r *yamlReader) pairsIn(n *yaml.Node, what string, depth int) ([]pair, error) {
	n, err := r.resolve(n)
	switch {
	case err != nil:
		return nil, err
	case depth > 50:
		return nil, r.wrong(n.Line, "it is nested more than 50 deep")
	case n.Kind == yaml.ScalarNode && (n.Tag == "!!null" || n.Value == ""):
		return nil, nil
	case n.Kind != yaml.MappingNode:
		return nil, r.wrong(n.Line, "%s is %s and not a mapping (NAME: VALUE)", what, kind(n))
	}
	var merged, own []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key, err = r.resolve(key); err != nil {
			return nil, err
		}
		if key.Tag != "!!merge" {
			if key.Kind != yaml.ScalarNode {
				return nil, r.wrong(key.Line, "a name in %s is %s", what, kind(key))
			}
			own = append(own, pair{key.Value, key.Line, value})
			continue
		}
		sources := []*yaml.Node{value}
		if list, err := r.resolve(value); err != nil {
			return nil, err
		} else if list.Kind == yaml.SequenceNode {
			sources = list.Content
		}
		for _, source := range slices.Backward(sources) { // the first decides
			more, err := r.pairsIn(source, what, depth+1)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
		}
	}
	return append(merged, own...), nil
}

// kind names the form of a value.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	return "a single value"
}

// group reads one group with its hosts and descendants.
func (r *yamlReader) group(p pair, depth int) (*group, error) {
	if depth > 50 {
		return nil, r.wrong(p.line, "its groups are nested more than 50 deep")
	}
	g, err := r.builder.group(p.name, p.line)
	if err != nil {
		return nil, err
	}
	members, err := r.resolve(p.value)
	if err != nil {
		return nil, err
	}
	if members.Kind == yaml.SequenceNode { // as inventory programs print it
		return g, r.hosts(g, p)
	}
	parts, err := r.pairs(members, "the group "+p.name)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		switch part.name {
		case "hosts":
			err = r.hosts(g, part)
		case "vars":
			err = r.variables(&g.vars, part, "the vars of "+p.name)
		case "children":
			err = r.children(g, part, depth)
		default:
			r.ignore("the key " + plain(part.name) + " of a group")
		}
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

// children reads the groups below another.
func (r *yamlReader) children(g *group, p pair, depth int) error {
	groups, err := r.names(p.value, "the children of "+g.Name)
	if err != nil {
		return err
	}
	for _, p := range groups {
		child, err := r.group(p, depth+1)
		if err != nil {
			return err
		}
		r.child(g, child)
	}
	return nil
}

// hosts reads the hosts of a group.
func (r *yamlReader) hosts(g *group, p pair) error {
	hosts, err := r.names(p.value, "the hosts of "+g.Name)
	if err != nil {
		return err
	}
	for _, p := range hosts {
		names, port, reason := expand(p.name)
		if reason != "" {
			return r.wrong(p.line, "%.80q is no name of a host: %s", p.name, reason)
		}
		v := vars{port: setting{text: port}}
		if err := r.variables(&v, p, "the host "+p.name); err != nil {
			return err
		}
		if err := r.add(g, names, v, p.line); err != nil {
			return err
		}
	}
	return nil
}

// variables reads the variables of a host or a group.
func (r *yamlReader) variables(v *vars, p pair, what string) error {
	list, err := r.pairs(p.value, what)
	if err != nil {
		return err
	}
	for _, p := range list {
		n, err := r.resolve(p.value)
		if err != nil {
			return err
		}
		val := value{text: n.Value}
		switch {
		case n.Tag == "!vault":
			val.opaque = "encrypted with Ansible Vault"
		case n.Kind != yaml.ScalarNode:
			val.opaque = kind(n)
		}
		r.variable(v, p.name, val, p.line)
	}
	return nil
}
