package join

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"

	"ptyctl/cluster/nodes"
	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// A rule says which label the node of a host or a device must have.
type rule struct {
	pattern string // as path.Match reads it, in lower case
	labels  map[string]string
}

// rules reads the entries of cluster.place, such as "site=fra@*.fra.example.net".
func rules(entries []string) (list []rule, err error) {
	for _, entry := range entries {
		label, pattern, found := strings.Cut(entry, "@")
		labels, err := nodes.ParseLabels([]string{label})
		if err == nil {
			_, err = path.Match(pattern, "")
		}
		if err == nil && (!found || pattern == "") {
			err = errors.New("it has no pattern")
		}
		if err != nil {
			return nil, fmt.Errorf("cluster.place holds %q (%w); give LABEL=VALUE@PATTERN, such as site=fra@*.fra.example.net", entry, err)
		}
		list = append(list, rule{strings.ToLower(pattern), labels})
	}
	return list, nil
}

// labelsFor returns the label of the first rule that matches the host or the device; nil: none does.
func labelsFor(list []rule, need peers.Need) map[string]string {
	host := need.Host[strings.LastIndexByte(need.Host, '@')+1:] // without the user
	for _, r := range list {
		for _, name := range []string{host, need.Device} {
			if ok, _ := path.Match(r.pattern, strings.ToLower(name)); ok && name != "" {
				return r.labels
			}
		}
	}
	return nil
}

// Place implements peers.Peers.
func (n *node) Place(ctx context.Context, need peers.Need) (string, error) {
	if need.Once != "" {
		return n.requests.at(ctx, need.Once, func() (string, error) { return n.choose(ctx, need) })
	}
	return n.choose(ctx, need)
}

// choose is Place for a request that no node has had before. It chooses a node that has given no answer only if there
// is no other: a node that is cut off would count as live until its entry runs out, and each caller would wait for it
// in vain.
func (n *node) choose(ctx context.Context, need peers.Need) (string, error) {
	if silent := n.silent.nodes(func(name string) time.Time { return n.registry.Lookup(name).Heard }); len(silent) > 0 {
		without := need
		without.Not = append(slices.Clone(need.Not), silent...)
		if chosen, err := n.chooseOf(ctx, without); err == nil {
			return chosen, nil
		}
	}
	return n.chooseOf(ctx, need)
}

// chooseOf is choose of all nodes but need.Not.
func (n *node) chooseOf(ctx context.Context, need peers.Need) (string, error) {
	want := nodes.Need{Labels: labelsFor(n.rules, need), Host: need.Same, Exclude: need.Not}
	switch {
	case need.Device != "":
		// The console of a device belongs to the node that has it open: there the caller finds its session.
		if owner := n.ownerOf(ctx, need.Device); owner != "" && !slices.Contains(need.Not, owner) {
			return owner, nil
		}
		want.Host = "device " + need.Device
	case need.Host == "" && !n.closed(): // a program of this machine
		return n.name, nil
	case need.Host == "": // which this machine does not take
		want.Exclude = append(want.Exclude, n.name)
	}
	chosen, err := n.registry.Place(want)
	if err == nil {
		return chosen.Name, nil
	}
	why, ok := errors.AsType[*nodes.PlaceError](err)
	switch {
	case ok && why.Why == nodes.AllDraining && !n.closed() && !slices.Contains(need.Not, n.name) && n.has(want.Labels):
		return n.name, nil // the others do not yet know that it takes sessions
	case ok && (why.Why == nodes.NoNode || why.Why == nodes.AllExcluded) && !n.registry.Alive() && !n.closed() && len(want.Labels) == 0:
		return n.name, nil // without the servers this node is on its own
	case ok && why.Why == nodes.AllFull && len(why.Nodes) > 0:
		// This node's view of the others' sessions is some seconds old. A node that is full says so itself.
		return why.Nodes[rand.IntN(len(why.Nodes))], nil
	case ok && !why.Retryable() && why.Why != nodes.AllExcluded: // those that are left out have just not been reached
		return "", &term.Error{Op: "open", Kind: term.Unsupported, Err: err, Msg: err.Error()}
	}
	return "", &term.Error{
		Op: "open", Kind: term.NodeUnreachable, Reason: term.ReasonNodeUnreachable, Err: err, Msg: err.Error() + "; nothing was done",
	}
}

// has reports whether this node has labels.
func (n *node) has(labels map[string]string) bool {
	for name, value := range labels {
		if own, ok := n.labels[name]; !ok || own != value {
			return false
		}
	}
	return true
}

// ownerOf returns the node that has the console of a device; empty: there is none, or none that runs.
func (n *node) ownerOf(ctx context.Context, device string) string {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	h, err := n.devices.Lookup(ctx, device)
	if err != nil || !h.Held {
		return "" // the opening finds out
	}
	if _, ok := n.Key(h.Owner.Node); !ok && h.Owner.Node != n.name {
		return ""
	}
	return h.Owner.Node
}

// missed is how long Others still returns a node that has become silent, so that callers learn that it does not answer.
const missed = 5 * time.Minute

// Others implements peers.Peers.
func (n *node) Others() (others []string) {
	for _, s := range n.registry.All() {
		if s.Name != n.name && (s.State == nodes.Live || time.Since(s.Heard) < missed) {
			others = append(others, s.Name)
		}
	}
	return others
}
