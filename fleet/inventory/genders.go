package inventory

import (
	"strings"

	"ptyctl/fleet/nodeset"
)

// genders reads lines of genders(5): nodes, and after a space their attributes, such as "web[1-3] web,dc=fra".
func (b *builder) genders(text string) (*Inventory, error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		nodes, attributes, _ := strings.Cut(strings.TrimSpace(line), " ")
		if i := strings.IndexByte(nodes, '\t'); i >= 0 {
			nodes, attributes = nodes[:i], nodes[i+1:]+" "+attributes
		}
		if nodes == "" {
			continue
		}
		names, err := nodeset.Expand(nodes, maxHosts)
		if err != nil {
			return nil, b.wrong(n, "%s", err)
		}
		if strings.ContainsAny(strings.TrimSpace(attributes), " \t") {
			return nil, b.wrong(n, "its attributes have a space: separate them by commas alone")
		}
		for _, name := range names {
			if _, err := b.host(name, n); err != nil {
				return nil, err
			}
		}
		for attribute := range strings.SplitSeq(strings.TrimSpace(attributes), ",") {
			if attribute == "" {
				continue
			}
			if err := b.attribute(names, attribute, n); err != nil {
				return nil, err
			}
		}
	}
	return b.finish(Genders)
}

// attribute adds hosts to the group of an attribute, and if it has a value, to the group of both.
func (b *builder) attribute(names []string, attribute string, line int) error {
	key, val, hasValue := strings.Cut(attribute, "=")
	for _, name := range names {
		groups := []string{key}
		if hasValue { // %n is the name of the node, %% a percent sign
			groups = append(groups, key+"="+strings.NewReplacer("%%", "%", "%n", name).Replace(val))
		}
		for _, text := range groups {
			if text != key && !groupName(text) { // a value that no expression can name
				b.ignore("the value of the attribute " + plain(key))
				continue
			}
			g, err := b.group(text, line)
			if err != nil {
				return err
			}
			if err := b.join(g, b.byHost[name], line); err != nil {
				return err
			}
		}
	}
	return nil
}
