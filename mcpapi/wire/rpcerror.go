package wire

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/mcpgo"
	"ptyctl/term"
)

// With Options.JSONRPCErrors a failed call on stdio is answered with a JSON-RPC error in place of a result:
//
//	{"code":1002,"message":"...","data":{"error_code":"AUTH_FAILED","message":"...","retryable":false,"details":{...}}}
//
// The failure goes round mcp-go, to the loop that writes the answer: see mcpgo.ErrorSlot.

// rpcCodes are the code members, which no two kinds share and no later version changes. The codes of JSON-RPC itself
// are for the failures that it names.
var rpcCodes = map[term.Kind]int{
	term.InvalidArgument: mcp.INVALID_PARAMS,
	term.Internal:        mcp.INTERNAL_ERROR,
	term.ConnectTimeout:  1000,
	term.ConnectFailed:   1001,
	term.AuthFailed:      1002,
	term.HostKeyUnknown:  1003,
	term.HostKeyMismatch: 1004,
	term.HostKeyRevoked:  1005,
	term.RemoteClosed:    1006,
	term.IOError:         1007,
	term.NegotiationLoop: 1008,
	term.NotFound:        1010,
	term.AlreadyClosed:   1011,
	term.Locked:          1020,
	term.LockRequired:    1021,
	term.Busy:            1022,
	term.ExecTimeout:     1023,
	term.LimitExceeded:   1030,
	term.PolicyDenied:    1031,
	term.Unsupported:     1032,
	term.Canceled:        1033,
	term.AccessDenied:    1034,
	term.NodeUnreachable: 1040,
	term.NodeSilent:      1041,
}

// RPCCodes returns the table of the codes, in Markdown.
func RPCCodes() string {
	kinds := slices.SortedFunc(
		maps.Keys(rpcCodes),
		func(a, b term.Kind) int { return cmp.Compare(rpcCodes[a], rpcCodes[b]) },
	)
	var b strings.Builder
	b.WriteString("| `code` | `data.error_code` |\n|---|---|\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "| %d | `%s` |\n", rpcCodes[k], k)
	}
	return b.String()
}

// rpcError returns the failure as a JSON-RPC error.
func (f *Failure) rpcError() mcp.JSONRPCError {
	e := mcpgo.Error(rpcCodes[f.ErrorCode], f.Message)
	e.Error.Data = f
	return e
}
