package toolset

import (
	"context"
	"encoding/json"
	"slices"

	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/peers"
)

// The arguments that may name a session or a run, and those that may have objects with such arguments.
var (
	idNames   = []string{"session_id", "id", "fleet_id"}
	idHolders = []string{"from", "to", "on"}
)

// NodesNamed returns the nodes that a call names, in the ids of its sessions and runs; each once.
func NodesNamed(c *Call) (nodes []string) { return nodesIn(nil, c.args) }

func nodesIn(nodes []string, members []jsonrpc.Member) []string {
	for _, m := range members {
		switch {
		case slices.Contains(idNames, m.Name) && m.Value[0] == '"':
			if node := peers.NodeOf(jsonrpc.Unquoted(m.Value)); node != "" && !slices.Contains(nodes, node) {
				nodes = append(nodes, node)
			}
		case !slices.Contains(idHolders, m.Name):
		case m.Value[0] == '{':
			nodes = nodesIn(nodes, jsonrpc.Split(m.Value))
		case m.Value[0] == '[':
			for _, e := range jsonrpc.Elements(m.Value) {
				if e[0] == '{' {
					nodes = nodesIn(nodes, jsonrpc.Split(e))
				}
			}
		}
	}
	return nodes
}

// FileHost returns the host of the file that a call names, the first of two, or "".
func FileHost(c *Call) string {
	for _, m := range c.args {
		if !slices.Contains(idHolders, m.Name) || m.Value[0] != '{' {
			continue
		}
		for _, inner := range jsonrpc.Split(m.Value) {
			if inner.Name == "host" && inner.Value[0] == '"' {
				return jsonrpc.Unquoted(inner.Value)
			}
		}
	}
	return ""
}

// A Gathered is the answer of another node to the same call.
type Gathered struct {
	Node   string
	Result json.RawMessage // the result as an object with every field; nil: no result
	Err    error           // why there is no Result
}

// MaxGathered is the most sessions in a list with sessions of other nodes, unless the listing node has more itself.
const MaxGathered = 100

// Gather has the other nodes answer the call with these arguments, and returns their answers in the order of their names.
// It takes two seconds at most. Empty: there are no others, or the call is another node's, which gathers itself.
func Gather(ctx context.Context, c *Call, arguments json.RawMessage) []Gathered {
	if c.shared.Gather == nil {
		return nil
	}
	return c.shared.Gather(ctx, c, arguments)
}

// Far returns the node that a call with an id must go to; empty: this node answers it.
func Far(ctx context.Context, c *Call, id string) (node string) {
	if c.shared.Far == nil {
		return ""
	}
	return c.shared.Far(ctx, id)
}

// Ask has one node answer the call with these arguments. It is for a node that Far has named. The node cannot ask or
// notify the client meanwhile.
func Ask(ctx context.Context, c *Call, node string, arguments json.RawMessage) Gathered {
	return c.shared.Ask(ctx, c, node, arguments)
}
