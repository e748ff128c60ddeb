package mcpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"ptyctl/internal/mcpgo"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// logCalls logs each tool call at level debug: one line with the client's request id, the session and the task. With
// these ids the client's log, this log and the audit log can be compared. The line never has the call's arguments or
// its result.
func logCalls(hooks *server.Hooks, log *slog.Logger) {
	var begun sync.Map // time.Time, by the call's *mcp.CallToolRequest
	hooks.AddBeforeCallTool(func(ctx context.Context, _ any, req *mcp.CallToolRequest) {
		if log.Enabled(ctx, slog.LevelDebug) {
			begun.Store(req, time.Now())
		}
	})
	hooks.AddOnError(func(_ context.Context, _ any, _ mcp.MCPMethod, message any, _ error) {
		if req, ok := message.(*mcp.CallToolRequest); ok {
			begun.Delete(req)
		}
	})
	hooks.AddAfterCallTool(func(ctx context.Context, id any, req *mcp.CallToolRequest, result any) {
		at, ok := begun.LoadAndDelete(req)
		if !ok {
			return
		}
		raw, _ := mcpgo.Arguments(*req) // a call that is not an object has none
		r, _ := result.(*mcp.CallToolResult)
		logCall(ctx, log, id, req.Params.Name, raw, r, at.(time.Time))
	})
}

// logCall starts the log line of a call that bypasses mcp-go's hooks. The returned function writes the line with the
// call's result.
func (s *api) logCall(ctx context.Context, id json.RawMessage, tool string, arguments json.RawMessage) (
	done func(*mcp.CallToolResult),
) {
	if !s.log.Enabled(ctx, slog.LevelDebug) {
		return func(*mcp.CallToolResult) {}
	}
	at := time.Now()
	return func(r *mcp.CallToolResult) {
		var request any
		_ = json.Unmarshal(id, &request) // which was read before
		logCall(ctx, s.log, request, tool, arguments, r, at)
	}
}

// logCall writes one line. Ids that the call does not have are left out.
func logCall(
	ctx context.Context,
	log *slog.Logger,
	id any,
	tool string,
	arguments json.RawMessage,
	result *mcp.CallToolResult,
	at time.Time,
) {
	attrs := []slog.Attr{slog.Any("request", id), slog.String("tool", tool)}
	add := func(key, value string) {
		// Absent members are left out, so that a line stays short enough to be read.
		if value != "" {
			attrs = append(attrs, slog.String(key, value[:min(len(value), maxLogged)]))
		}
	}
	said, became := loggedCall(arguments), loggedResult(result)
	add("action", said.Action)
	add("session", cmp.Or(became.session(), said.session()))
	add("task", said.TaskID)
	add("request_id", said.RequestID)
	add("correlation_id", became.CorrelationID)
	add("error_code", cmp.Or(became.ErrorCode, became.Code))
	attrs = append(attrs, slog.Duration("took", time.Since(at).Round(time.Microsecond)))
	log.LogAttrs(ctx, slog.LevelDebug, "call", attrs...)
}

// maxLogged bounds, in bytes, an id from the client in a log line: clients may send ids of any length.
const maxLogged = 100

// callIDs are the ids in a call or its result that the log line shows.
type callIDs struct {
	Action    string `json:"action"`
	SessionID string `json:"session_id"`
	TaskID    string `json:"task_id"`
	RequestID string `json:"request_id"`
	ErrorCode string `json:"error_code"`

	// Of sets of tools that name these so:
	ID            string `json:"id"` // of the session
	Code          string `json:"code"`
	CorrelationID string `json:"correlation_id"`
}

// session returns the session's id, under either of its names.
func (ids callIDs) session() string { return cmp.Or(ids.SessionID, ids.ID) }

// loggedCall returns the ids in a call's arguments. Malformed arguments have no ids.
func loggedCall(arguments json.RawMessage) (ids callIDs) {
	_ = json.Unmarshal(arguments, &ids) // a call that is not an object has none
	return ids
}

// loggedResult returns the ids in a result, which is the JSON text of its first content.
func loggedResult(r *mcp.CallToolResult) (ids callIDs) {
	if r != nil && len(r.Content) > 0 {
		if text, ok := mcp.AsTextContent(r.Content[0]); ok {
			_ = json.Unmarshal([]byte(text.Text), &ids)
		}
	}
	return ids
}
