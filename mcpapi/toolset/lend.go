package toolset

import (
	"context"

	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/peers"
	"ptyctl/session"
)

// A copy between sessions of two nodes of a cluster is one call that both nodes get: the node of the source lends that to
// the other one, which copies.

// CopyNodes returns the nodes of the two sessions that a copy names; empty: the copy names no session at that end.
func CopyNodes(c *Call) (from, to string) {
	for _, m := range c.args {
		if (m.Name != "from" && m.Name != "to") || m.Value[0] != '{' {
			continue
		}
		node := ""
		for _, inner := range jsonrpc.Split(m.Value) {
			if inner.Name == "session_id" && inner.Value[0] == '"' {
				node = peers.NodeOf(jsonrpc.Unquoted(inner.Value))
			}
		}
		if m.Name == "from" {
			from = node
		} else {
			to = node
		}
	}
	return from, to
}

// A Lender lends the source of a copy: a path, or with tree the files below it. It returns when the call is over, with
// the number of bytes read until then.
type Lender func(ctx context.Context, files *session.Lending, path string, tree bool) (bytes int64, err error)

type lenderKey struct{}

// WithLender returns a context for a copy call that only lends its source, and does not copy.
func WithLender(ctx context.Context, lend Lender) context.Context {
	return context.WithValue(ctx, lenderKey{}, lend)
}

// LenderFrom returns the Lender of WithLender, or nil.
func LenderFrom(ctx context.Context) Lender {
	lend, _ := ctx.Value(lenderKey{}).(Lender)
	return lend
}

// A Borrower returns the files of the session with that id, if its node has lent them to this copy; else nil.
type Borrower func(id string) session.CopySource

type borrowerKey struct{}

// WithBorrower returns a context for a copy with a source that another node has lent.
func WithBorrower(ctx context.Context, borrow Borrower) context.Context {
	return context.WithValue(ctx, borrowerKey{}, borrow)
}

// BorrowerFrom returns the Borrower of WithBorrower.
func BorrowerFrom(ctx context.Context) Borrower {
	if borrow, ok := ctx.Value(borrowerKey{}).(Borrower); ok {
		return borrow
	}
	return func(string) session.CopySource { return nil }
}

// Lend lends the files of a session, which is from Call.Session.
func Lend(c *Call, s *session.Session) (*session.Lending, error) {
	return c.shared.Sessions.ServerView().Lend(s)
}
