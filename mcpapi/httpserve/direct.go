package httpserve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"ptyctl/internal/mcpgo"
)

// directFor is how long the calls of a session may bypass mcp-go's HTTP handler. The
// handler must see a call from time to time: it counts a session as idle otherwise, and
// it sends its queued notifications with the answers to such calls.
const directFor = time.Second

// A partner is the client of an MCP session, as mcp-go's HTTP handler created it.
type partner struct {
	session clientSession
	heard   time.Time // the last call through that handler
}

// partner returns the client if its calls may bypass mcp-go's HTTP handler, and nil
// otherwise. A client that can be asked during a call must go through the handler, which
// matches its answers to questions. A nil mcpSession has no partner.
func (m *mcpSession) partner() clientSession {
	if m == nil {
		return nil
	}
	p := m.heard.Load()
	if p == nil || time.Since(p.heard) > directFor {
		return nil
	}
	if c := p.session.GetClientCapabilities(); c.Elicitation != nil || c.Sampling != nil || c.Roots != nil {
		return nil
	}
	return p.session
}

// answerCall runs a tool call and writes its answer. mcp-go's HTTP handler would parse
// the message twice more and watch for notifications, which callSession sends itself;
// that is a third of the time of a short call.
func (h *Handler) answerCall(ctx context.Context, w *answer, s clientSession, id json.RawMessage, body []byte) {
	response := h.srv.HandleMessage(h.srv.WithContext(ctx, &callSession{clientSession: s, w: w}), body)
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errShutdown) {
		return
	}
	line, err := mcpgo.EncodeAnswer(id, response)
	if err != nil {
		h.o.Logger.Error("an answer cannot be written as JSON", "error", err)
		w.refuse(
			refuse(
				http.StatusInternalServerError,
				"the answer cannot be written as JSON; the server's log has the details",
			),
		)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(line) // a client that has gone needs no answer
}
