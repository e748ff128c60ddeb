package mcpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/term"
)

// structuredSince is the first protocol revision that knows structuredContent.
const structuredSince = "2025-06-18"

// result makes the answer of a call: one JSON object, as text, and again as structured content for clients that
// know it.
func (s *api) result(ctx context.Context, v any, isError bool) (*mcp.CallToolResult, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	r := &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(string(text))}, IsError: isError}
	if s.structured(ctx) {
		r.StructuredContent = jsonrpc.Object(text)
	}
	return r, nil
}

// structured reports whether the client gets structured content.
func (s *api) structured(ctx context.Context) bool {
	return s.o.Structured && jsonrpc.Revision(ctx) >= structuredSince
}

// A failure is the wire form of an error that the caller can act on.
type failure struct {
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

// fail turns an error into a result. It is the only place that does.
func (s *api) fail(ctx context.Context, err error) (*mcp.CallToolResult, error) {
	f := failure{ErrorCode: term.KindOf(err)}
	f.Retryable = f.ErrorCode.Retryable()
	var e *term.Error
	if errors.As(err, &e) {
		f.Message = Message(e)
		if d := DetailsOf(e); d != nil || e.Session != "" {
			f.Details = &errorDetails{SessionID: e.Session, Details: d}
		}
	}
	if f.ErrorCode == term.Internal && (e == nil || e.Msg == "") {
		s.log.Error("internal error", "error", err)
		f.Message = "a fault in ptyctl; its log has the cause. Other sessions are not affected"
	}
	if slot := jsonrpc.ErrorSlotFrom(ctx); s.o.JSONRPCErrors && slot != nil {
		slot.Put(f.rpcError())
	}
	return s.result(ctx, f, true)
}
