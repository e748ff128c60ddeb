package join

import (
	"log/slog"
	"strings"

	"ptyctl/cluster/nodes"
)

// Unlike remembers the warnings about nodes that have other rules or callers than this one, so that each warning comes
// once. It is for one goroutine.
type unlike struct{ said map[string]string }

func newUnlike() *unlike { return &unlike{make(map[string]string)} }

// A Trait is a property that should be the same on all nodes of a group.
type Trait struct {
	Name string // "rules", "tokens"
	Of   func(nodes.Node) string
	Then string // what follows from different ones, and what to do
}

// Traits are all of them.
var Traits = []Trait{
	{
		Name: "rules", Of: func(n nodes.Node) string { return n.Rules },
		Then: "Each call is judged by those of both its nodes, which takes a question for each action; give all nodes the same " +
			"[policy], local.stdio, local.http and forward.allow",
	},
	{
		Name: "tokens", Of: func(n nodes.Node) string { return n.Callers },
		Then: "Which callers get in, and as whom, depends on the node that the balancer chooses; give all nodes the same tokens, " +
			"server.http.isolate and [server.http.oauth]",
	},
}

// look compares this node with the other live ones, and logs a change.
func (u *unlike) look(self string, all []nodes.Status, log *slog.Logger) {
	for _, t := range Traits {
		var own string
		for _, s := range all {
			if s.Name == self {
				own = t.Of(s.Node)
			}
		}
		var others []string
		for _, s := range all {
			if d := t.Of(s.Node); s.State == nodes.Live && own != "" && d != "" && d != own {
				others = append(others, s.Name)
			}
		}
		names := strings.Join(others, ", ")
		switch was := u.said[t.Name]; {
		case names == was:
		case names == "":
			log.Info("all nodes have the same " + t.Name + " as this one again")
		default:
			log.Warn("other nodes have other "+t.Name+" than this one. "+t.Then, "nodes", names)
		}
		u.said[t.Name] = names
	}
}
