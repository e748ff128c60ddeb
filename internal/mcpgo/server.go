package mcpgo

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/internal/inorder"
)

// A Server is mcp-go's server, with the functions of mcpapi that replace parts of it. The transports take it from
// mcpapi.Server, so that an importer of mcpapi meets no type of mcp-go.
type Server struct {
	*server.MCPServer

	// Answer answers a tools/call with the parameters params, which are valid JSON. It reports false, and has done
	// nothing, for the calls that it leaves to mcp-go. nil: it leaves all.
	Answer func(ctx context.Context, id, params json.RawMessage) (answer mcp.JSONRPCMessage, ok bool)

	// About returns what a tools/call with the parameters params, which are valid JSON, is about. nil: calls keep no order.
	About func(params json.RawMessage) []inorder.Subject

	// NoTool returns the error about a tool that the caller is not offered, or "" for mcp-go's words. nil: those.
	NoTool func(ctx context.Context, name string) string
}

// Protocol returns the server itself, for a transport.
func (s *Server) Protocol() *Server { return s }

// Queue returns a queue for the calls of one client; nil if calls keep no order.
func (s *Server) Queue() *inorder.Queue {
	if s.About == nil {
		return nil
	}
	return inorder.New(s.About)
}

// HandleMessage answers a message as mcp-go does, with the error of NoTool about an unknown tool.
func (s *Server) HandleMessage(ctx context.Context, message json.RawMessage) mcp.JSONRPCMessage {
	answer := s.MCPServer.HandleMessage(ctx, message)
	if name, ok := UnknownTool(answer); ok {
		if text := s.Unknown(ctx, name); text != "" {
			return Error(mcp.INVALID_PARAMS, text)
		}
	}
	return answer
}

// Unknown calls NoTool; it returns "" if NoTool is nil. Without a name, it asks for one.
func (s *Server) Unknown(ctx context.Context, name string) string {
	if name == "" {
		return noToolName
	}
	if s.NoTool == nil {
		return ""
	}
	return s.NoTool(ctx, name)
}

// A stdioSession is the session of one request of a client on stdio.
type stdioSession interface {
	server.ClientSession

	// Lasting returns the session that lasts as long as the client. It waits for no room in its queue.
	Lasting() server.ClientSession
}

// OnStdio reports whether s is the session of a client on stdio, which is on this machine.
func OnStdio(s server.ClientSession) bool {
	_, ok := s.(stdioSession)
	return ok
}

// Lasting returns the session that lasts as long as the client, if s is that of one request on stdio, and s otherwise.
func Lasting(s server.ClientSession) server.ClientSession {
	if r, ok := s.(stdioSession); ok {
		return r.Lasting()
	}
	return s
}
