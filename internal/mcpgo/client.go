package mcpgo

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// ClientFromContext returns the name and version of the current request's client, and the protocol revision in
// effect, for example "2025-11-25". They come from initialize, or, since revision 2026-07-28, from the request's own
// _meta. Each is empty if the client did not send it; the server verifies none of them.
func ClientFromContext(ctx context.Context) (name, version, protocol string) {
	protocol = Revision(ctx)
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientInfo == nil {
			return "", "", protocol
		}
		return info.ClientInfo.Name, info.ClientInfo.Version, protocol
	}
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		client := s.GetClientInfo()
		return client.Name, client.Version, protocol
	}
	return "", "", protocol
}

// Revision returns the protocol revision in effect for the current request, for example "2025-11-25", or "" if it is
// not known. A legacy request cannot change by its _meta the revision that initialize has settled.
func Revision(ctx context.Context) string {
	if server.IsModernRequest(ctx) {
		return server.RequestProtocolInfoFromContext(ctx).ProtocolVersion
	}
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithProtocolVersion); ok {
		return s.ProtocolVersion()
	}
	return ""
}

// Capabilities returns the capabilities that the client of the current request has declared: in initialize, or, since
// revision 2026-07-28, in the request itself.
func Capabilities(ctx context.Context) mcp.ClientCapabilities {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientCapabilities == nil {
			return mcp.ClientCapabilities{}
		}
		return *info.ClientCapabilities
	}
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		return s.GetClientCapabilities()
	}
	return mcp.ClientCapabilities{}
}
