package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/term"
)

// structuredSince is the first protocol revision that knows structuredContent.
const structuredSince = "2025-06-18"

// An Encoder makes the results of calls.
type Encoder struct {
	Results       identity.Results // for callers that ask for no form; empty: compact
	JSONRPCErrors bool             // failures are JSON-RPC errors, if the transport can send them; see rpcerror.go
	Log           *slog.Logger
}

// ResultsFor returns the form of the results that a caller gets.
func (e *Encoder) ResultsFor(ctx context.Context) identity.Results {
	return cmp.Or(identity.FromContext(ctx).Results, e.Results, identity.Compact)
}

// A Pictured is a value with a picture beside the text of its result.
type Pictured interface {
	// Picture returns a PNG file; nil: no picture.
	Picture() []byte
}

// An Excerpted is a value that may have a long text, such as the content of a file.
type Excerpted interface {
	// Excerpt returns the value with each long text as jsonrpc.Excerpt cuts it.
	Excerpt() any
}

// Excerpt makes a result with its long texts cut, for the record of the call, which parses it and keeps no more of
// them. It returns nil if the record needs the text itself. Parsing a MiB of text took a sixth of the time of reading
// it from a host (BenchmarkContent).
func (e *Encoder) Excerpt(ctx context.Context, v any) *mcp.CallToolResult {
	long, ok := v.(Excerpted)
	if !ok || e.ResultsFor(ctx) == identity.Text { // which has no parts
		return nil
	}
	r, err := e.result(ctx, long.Excerpt())
	if err != nil {
		return nil
	}
	return r
}

// Result makes the result of a call: one JSON object or a text, in the form that the caller gets, and a picture if v
// is Pictured.
func (e *Encoder) Result(ctx context.Context, v any) (*mcp.CallToolResult, error) {
	r, err := e.result(ctx, v)
	if p, ok := v.(Pictured); ok && err == nil {
		if png := p.Picture(); png != nil {
			r.Content = append(r.Content, mcp.NewImageContent(base64.StdEncoding.EncodeToString(png), "image/png"))
		}
	}
	return r, err
}

func (e *Encoder) result(ctx context.Context, v any) (*mcp.CallToolResult, error) {
	switch e.ResultsFor(ctx) {
	case identity.Full:
		return e.Full(ctx, v)
	case identity.Text:
		return plain(Text(v))
	default:
		return plain(Compact(v))
	}
}

// Full makes the result of a call with every field, as text, and again as structured content for clients that know
// it.
func (e *Encoder) Full(ctx context.Context, v any) (*mcp.CallToolResult, error) {
	var b bytes.Buffer
	if err := encode(&b, v); err != nil {
		return nil, err
	}
	r, err := plain(b.Bytes(), nil)
	if e.KnowsStructured(ctx) {
		r.StructuredContent = mcpgo.Object(b.Bytes())
	}
	return r, err
}

// plain makes a result of a text alone, which must not change after that.
func plain(text []byte, err error) (*mcp.CallToolResult, error) {
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(jsonrpc.Text(text))}}, nil
}

// StructuredFor reports whether the client gets structured content from ptyctl's own tools.
func (e *Encoder) StructuredFor(ctx context.Context) bool {
	return e.ResultsFor(ctx) == identity.Full && e.KnowsStructured(ctx)
}

// KnowsStructured reports whether the client's revision of the protocol has structured content.
func (e *Encoder) KnowsStructured(ctx context.Context) bool {
	return mcpgo.Revision(ctx) >= structuredSince
}

// An Answer is the result of a call, in the form that the contract of another program asks for.
type Answer struct {
	Text       string
	Structured json.RawMessage // the same for clients that know it; needed if the tool has an Output, and only then
	IsError    bool
}

// A Shown is a value that clients get as an Answer, while a node that joins it with its own gets its JSON.
type Shown interface{ Answer() Answer }

// Answer makes the result of a call from an Answer.
func (e *Encoder) Answer(ctx context.Context, a Answer) (*mcp.CallToolResult, error) {
	r := &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(a.Text)}, IsError: a.IsError}
	if a.Structured != nil && e.KnowsStructured(ctx) {
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
	Message   string        `json:"message" is:"listed" compact:"keep"`
	Retryable bool          `json:"retryable" is:"listed" compact:"keep"`
	Details   *errorDetails `json:"details,omitempty" is:"listed"`
}

// errorDetails are Details, and the session the error is about.
type errorDetails struct {
	SessionID string `json:"session_id,omitempty"`
	*Details
}

// failureCompact is the compact form of Failure. It is a separate type without a Compact method.
type failureCompact Failure

// Compact leaves out details that the message repeats.
func (f Failure) Compact() any {
	c := failureCompact(f)
	if f.Details == nil || f.Details.Details == nil {
		return c
	}
	d := *f.Details.Details
	if strings.Contains(f.Message, strings.Join(d.Allowed, ", ")) {
		d.Allowed = nil
	}
	if strings.Contains(f.Message, strings.Join(d.KnownHosts, ", ")) {
		d.KnownHosts = nil
	}
	c.Details = &errorDetails{f.Details.SessionID, &d}
	return c
}

// NewFailure returns the wire form of an error, which a result may hold as a member.
func NewFailure(ctx context.Context, err error) Failure {
	f := Failure{ErrorCode: term.KindOf(err)}
	// By the kind alone, so that a client can rely on it without reading the text.
	f.Retryable = f.ErrorCode.Retryable()
	known, ok := errors.AsType[*term.Error](err)
	if ok {
		f.Message = WordsFor(ctx)(known)
		if d := DetailsOf(known); d != nil || known.Session != "" {
			f.Details = &errorDetails{SessionID: known.Session, Details: d}
		}
	}
	// An error without its own message may hold anything, even a secret: the client learns that there was a fault, and
	// the log which.
	if faulty(f.ErrorCode, known) {
		f.Message = "a fault in ptyctl; its log has the cause. Other sessions are not affected"
	}
	return f
}

// faulty reports whether an error is a fault without its own message.
func faulty(kind term.Kind, known *term.Error) bool {
	return kind == term.Internal && (known == nil || known.Msg == "")
}

// Failure turns an error into a result. It is the only place that does.
func (e *Encoder) Failure(ctx context.Context, err error) (*mcp.CallToolResult, error) {
	f := NewFailure(ctx, err)
	if known, _ := errors.AsType[*term.Error](err); faulty(f.ErrorCode, known) {
		e.Log.Error("internal error", "error", err)
	}
	// This is in addition to the result: a transport without a slot still has an answer to send.
	if slot := mcpgo.ErrorSlotFrom(ctx); e.JSONRPCErrors && slot != nil {
		slot.Put(f.rpcError())
	}
	r, bad := e.failure(ctx, f)
	if bad == nil {
		r.IsError = true
	}
	return r, bad
}

// failure makes the result of a failure.
func (e *Encoder) failure(ctx context.Context, f Failure) (*mcp.CallToolResult, error) {
	switch e.ResultsFor(ctx) {
	case identity.Full:
		return e.Full(ctx, f)
	case identity.Text:
		return plain(textOfFailure(f))
	default:
		return plain(Compact(f))
	}
}
