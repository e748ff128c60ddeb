package peers

import (
	"context"
	"encoding/json"
	"strings"
)

// Peers are the other nodes, as one node reaches them. All methods may be called at the same time.
type Peers interface {
	// Node returns the name of this node. It has letters, digits and dashes only, and stays the same.
	Node() string

	// Others returns the names of the nodes that are known to run, without this one.
	Others() []string

	// Place returns the node for a new session or program. An error of package term is passed on unchanged.
	Place(ctx context.Context, n Need) (node string, err error)

	// Forward has a node run a call, and returns the result of the MCP method as JSON, or the answer to Call.Files. It
	// calls the methods of c meanwhile, and never after it has returned. When ctx ends, the call is canceled on the
	// node. The error is one of package term: NodeUnreachable says that the node gives no answer, and its Reason says
	// whether the call may have been done.
	Forward(ctx context.Context, node string, call Call, c Client) (result json.RawMessage, err error)
}

// A Need has the facts that decide which node gets a new session or program.
type Need struct {
	Host   string // target of the session, for the labels that the operator gives hosts; empty: the chosen node itself
	Device string // the console; empty: no console

	// Same is a key: calls with the same key go to the same node while the nodes stay the same. It is the host of a
	// command that names one, so that all such commands share a session. Empty: the node with the most room is chosen.
	Same string

	Not []string // nodes that have just given no answer, and so are not chosen

	// Once is the name of a request that must not be done twice: its repetition goes to the node that had it first,
	// even when nodes have come and gone. Empty: the caller gave no name.
	Once string
}

// A Call is a request of a client, as another node is to answer it.
type Call struct {
	Tool      string          `json:"tool,omitempty"`      // of tools/call; empty: URI is read instead
	Arguments json.RawMessage `json:"arguments,omitempty"` // of the tool
	URI       string          `json:"uri,omitempty"`       // of a resource
	Watch     bool            `json:"watch,omitempty"`     // notify of its changes, until the call is canceled, instead of reading it
	Trip      json.RawMessage `json:"trip,omitempty"`      // the answer to a question that was the result of this call
	Progress  bool            `json:"progress,omitempty"`  // the client wants progress notifications
	Part      bool            `json:"part,omitempty"`      // the result is for the node that asks, which joins it with its own
	Ordered   bool            `json:"ordered,omitempty"`   // later calls may wait for this one: see NotePassed
	Caller    Caller          `json:"caller"`
	Client    Program         `json:"client"`

	// Lend is the node that copies the source of this call, a copy between two nodes: this one lends it, in place of copying,
	// and asks MethodLent. Lent is that source, for the node that copies. Files is a request of that node to the one that
	// has lent, in place of all else but Caller.Node; its answer need not be JSON: see package mcpapi/lending.
	Lend  string          `json:"lend,omitempty"`
	Lent  *Lent           `json:"lent,omitempty"`
	Files json.RawMessage `json:"files,omitempty"`

	// Rules is the digest of the rules of the node that the client is connected to, by which that judges for this client.
	// A node that acts by other rules asks it about each action (MethodJudge). Empty: that node has no rules.
	Rules string `json:"rules,omitempty"`
}

// A Lent is the source of a copy that a node has lent.
type Lent struct {
	Node    string `json:"node"`
	ID      string `json:"id"`
	Machine string `json:"machine"` // see session.CopySource
}

// A Caller is the maker of a call, as the client's node knows it; see identity.Caller. It is never the operator nor a
// person at a terminal: those use the node that they are at.
type Caller struct {
	Transport string `json:"transport"`
	Token     string `json:"token,omitempty"` // its name; of a client on the entry node that has none, "node:" and that node
	Issuer    string `json:"issuer,omitempty"`
	Shim      string `json:"shim,omitempty"`
	ReadOnly  bool   `json:"read_only,omitempty"`
	Isolated  bool   `json:"isolated,omitempty"`
	Results   string `json:"results,omitempty"` // the form that results take
	Node      string `json:"node"`              // that the client is connected to; the transport between nodes sets it
}

// A Program is the program of a client, as it describes itself.
type Program struct {
	Name         string          `json:"name,omitempty"`
	Version      string          `json:"version,omitempty"`
	Revision     string          `json:"revision,omitempty"`  // of MCP
	Stateless    bool            `json:"stateless,omitempty"` // the revision has no MCP sessions: each request says all this
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
}

// A Client is the client of a call, at the node that it is connected to.
type Client interface {
	// Notify sends it a notification about the call. It may be lost.
	Notify(method string, params json.RawMessage)

	// Ask asks a question about the call, with one of the methods below.
	Ask(ctx context.Context, method string, params json.RawMessage) (result json.RawMessage, err error)
}

// NotePassed is the method of a notification to the node that the client is connected to: no later call can overtake this
// one any more, which goes on.
const NotePassed = "ptyctl/passed"

// The methods of questions.
const (
	MethodElicit = "elicitation/create" // to the person at the client: params and result as in MCP
	MethodJudge  = "ptyctl/judge"       // to the node that the client is connected to: see package mcpapi/verdict
	MethodLent   = "ptyctl/lent"        // likewise, with a Lent: the files of Call.Lend; it is answered when the call of the client is over
)

// At joins a name and the name of its node; without a node it returns the name.
func At(name, node string) string {
	if node == "" {
		return name
	}
	return name + "@" + node
}

// NodeOf returns the node that the id of a session or a run names, or "".
func NodeOf(id string) string {
	if i := strings.LastIndexByte(id, '@'); i > 0 && ValidNode(id[i+1:]) {
		return id[i+1:]
	}
	return ""
}

// maxNode is the most bytes of the name of a node.
const maxNode = 32

// ValidNode reports whether name is valid for a node: at most 32 letters, digits and dashes, and no dash at the start.
func ValidNode(name string) bool {
	if name == "" || len(name) > maxNode || name[0] == '-' {
		return false
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
