package httpserve

// MCPSessions returns the number of MCP sessions.
func (h *Handler) MCPSessions() int {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	return len(h.sessions.byID)
}

// LimitMCPSessions lowers the most MCP sessions at a time.
func (h *Handler) LimitMCPSessions(most int) { h.sessions.limit(most, len(h.o.Tokens)) }

// MaxMCPSessions is the limit by default.
const MaxMCPSessions = maxSessions

// Limits for which tests wait.
const (
	HeaderTimeout = headerTimeout
	BodyTimeout   = bodyTimeout
	WriteTimeout  = writeTimeout
	IdleTimeout   = idleTimeout
)
