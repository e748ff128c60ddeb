package route

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ptyctl/term"
)

// A failure is an error of the owner's in a message.
type failure struct {
	Kind term.Kind `json:"kind"`
	Msg  string    `json:"msg"`
}

// encode returns the failure that err is.
func encode(err error) []byte {
	f := failure{term.KindOf(err), err.Error()}
	if e, ok := errors.AsType[*term.Error](err); ok {
		f.Msg = e.Message()
	}
	text, _ := json.Marshal(f) // of strings
	return text
}

// decode returns the error that an owner has sent.
func decode(node string, text []byte) error {
	var f failure
	if json.Unmarshal(text, &f) != nil || f.Kind == "" {
		return &term.Error{Kind: term.IOError, Msg: "node " + node + " has sent an error that cannot be read"}
	}
	if f.Kind == term.Internal {
		return &term.Error{Kind: term.IOError, Msg: "node " + node + " has failed; its log says why"}
	}
	return &term.Error{Kind: f.Kind, Msg: "node " + node + ": " + f.Msg}
}

// unreachable is the error for a node that has certainly not taken the call.
func unreachable(node, format string, args ...any) error {
	return &term.Error{
		Kind: term.NodeUnreachable, Reason: term.ReasonNodeUnreachable,
		Msg:   fmt.Sprintf("node %s ", node) + fmt.Sprintf(format, args...) + "; nothing was done",
		Facts: term.Facts{term.UnreachedNode{Node: node}},
	}
}

// silent is the error for a node that may have taken the call.
func silent(node string, after time.Duration, why string) error {
	return &term.Error{
		Kind: term.NodeSilent, Reason: term.ReasonNodeSilent,
		Msg: fmt.Sprintf("node %s has not answered for %v (%s); whether the call was done is unknown",
			node, after.Round(100*time.Millisecond), why),
		Facts: term.Facts{term.UnreachedNode{Node: node}},
	}
}

// canceled is the error for a call that ended with ctx.
func canceled(ctx context.Context, node string) error {
	msg := "the call was canceled"
	if errors.Is(context.Cause(ctx), term.ErrStopping) {
		msg = "ptyctl is stopping"
	}
	return &term.Error{
		Kind: term.Canceled, Err: context.Cause(ctx),
		Msg: msg + "; node " + node + " was told to end the call, and what it has done by then is not undone",
	}
}

// errClosed ends the calls of a Router that is closed.
var errClosed = &term.Error{Kind: term.Canceled, Msg: "ptyctl is stopping; whether the call was done on its node is unknown"}
