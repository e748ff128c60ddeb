package httpserve

// MCPSessions is how many MCP sessions are kept.
func (h *Handler) MCPSessions() int {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	return len(h.sessions.byID)
}

// The limits that tests wait for.
const (
	HeaderTimeout = headerTimeout
	BodyTimeout   = bodyTimeout
	WriteTimeout  = writeTimeout
	IdleTimeout   = idleTimeout
)
