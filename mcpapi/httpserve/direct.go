package httpserve

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"ptyctl/mcpapi"
)

// directFor is how long calls of a session are answered without mcp-go's HTTP handler hearing of them. It must hear now and
// then: sessions that it has not heard of for long are idle, and what it wants to tell a client waits for such a call.
const directFor = time.Second

// A partner is the client of an MCP session, as mcp-go's HTTP handler knows it.
type partner struct {
	session clientSession
	heard   time.Time // when that handler has last had a call of it
}

// partner returns the client whose call can be answered without that handler, or nil. A client that can be asked something
// during a call is asked, and its answer found, by way of it. A nil mcpSession has no partner.
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

// answerCall runs a tool call and writes its answer. mcp-go's HTTP handler would take the message apart twice more, and
// watch for notifications that a callSession sends by itself: a third of what a short call costs.
func (h *Handler) answerCall(ctx context.Context, w *answer, s clientSession, id json.RawMessage, body []byte) {
	response := h.srv.HandleMessage(h.srv.WithContext(ctx, &callSession{clientSession: s, w: w}), body)
	if ctx.Err() != nil {
		return
	}
	line, err := mcpapi.EncodeAnswer(id, response)
	if err != nil {
		h.o.Logger.Error("an answer cannot be written as JSON", "error", err)
		w.refuse(
			refuse(http.StatusInternalServerError, "the answer cannot be written as JSON; the server's log has the details"),
		)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(line) // a client that is gone needs no answer
}
