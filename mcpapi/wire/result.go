package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/mcpgo"
	"ptyctl/term"
)

// structuredSince is the first protocol revision that knows structuredContent.
const structuredSince = "2025-06-18"

// An Encoder makes the results of calls.
type Encoder struct {
	Structured    bool // send structuredContent to clients that know it
	JSONRPCErrors bool // failures are JSON-RPC errors, where the transport can send them; see rpcerror.go
	Log           *slog.Logger
}

// Result makes the result of a call: one JSON object, as text, and again as structured content for clients that know
// it.
func (e *Encoder) Result(ctx context.Context, v any) (*mcp.CallToolResult, error) {
	return e.object(ctx, v, false)
}

func (e *Encoder) object(ctx context.Context, v any, isError bool) (*mcp.CallToolResult, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	// A terminal's output is full of <, > and &; escaped, each would cost a model six characters.
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	// The encoder ends a value with a newline, which would be a part of the text.
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	r := &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(string(text))}, IsError: isError}
	if e.StructuredFor(ctx) {
		r.StructuredContent = mcpgo.Object(text)
	}
	return r, nil
}

// StructuredFor reports whether the client gets structured content.
func (e *Encoder) StructuredFor(ctx context.Context) bool {
	return e.Structured && mcpgo.Revision(ctx) >= structuredSince
}

// An Answer is the result of a call, in the form that the contract of another program asks for.
type Answer struct {
	Text       string
	Structured json.RawMessage // the same for clients that know it; needed if the tool has an Output, and only then
	IsError    bool
}

// Answer makes the result of a call from an Answer.
func (e *Encoder) Answer(ctx context.Context, a Answer) (*mcp.CallToolResult, error) {
	r := &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(a.Text)}, IsError: a.IsError}
	if a.Structured != nil && e.StructuredFor(ctx) {
		structured, err := mcpgo.NewObject(a.Structured)
		if err != nil {
			return nil, err
		}
		r.StructuredContent = structured
	}
	return r, nil
}

// A Failure is the wire form of an error that the caller can act on.
type Failure struct {
	ErrorCode term.Kind     `json:"error_code" is:"listed"`
	Message   string        `json:"message" is:"listed"`
	Retryable bool          `json:"retryable" is:"listed"`
	Details   *errorDetails `json:"details,omitempty" is:"listed"`
}

// errorDetails are Details, and the session the error is about.
type errorDetails struct {
	SessionID string `json:"session_id,omitempty"`
	*Details
}

// Failure turns an error into a result. It is the only place that does.
func (e *Encoder) Failure(ctx context.Context, err error) (*mcp.CallToolResult, error) {
	f := Failure{ErrorCode: term.KindOf(err)}
	// By the kind alone, so that a client can rely on it without reading the text.
	f.Retryable = f.ErrorCode.Retryable()
	var known *term.Error
	if errors.As(err, &known) {
		f.Message = WordsFor(ctx)(known)
		if d := DetailsOf(known); d != nil || known.Session != "" {
			f.Details = &errorDetails{SessionID: known.Session, Details: d}
		}
	}
	// An error without words of its own may hold anything, also a secret: the client learns that there was a
	// fault, and the log which.
	if f.ErrorCode == term.Internal && (known == nil || known.Msg == "") {
		e.Log.Error("internal error", "error", err)
		f.Message = "a fault in ptyctl; its log has the cause. Other sessions are not affected"
	}
	// Beside the result and not in place of it: a transport without a slot still has an answer to send.
	if slot := mcpgo.ErrorSlotFrom(ctx); e.JSONRPCErrors && slot != nil {
		slot.Put(f.rpcError())
	}
	return e.object(ctx, f, true)
}
