package httpserve

// MCPSessions returns the number of MCP sessions.
func (h *Handler) MCPSessions() int {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	return len(h.sessions.byID)
}

// Limits for which tests wait.
const (
	HeaderTimeout = headerTimeout
	BodyTimeout   = bodyTimeout
	WriteTimeout  = writeTimeout
	IdleTimeout   = idleTimeout
)
