package mcpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/internal/inorder"
	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/peers"
	"ptyctl/mcpapi/subscribe"
	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
)

// ServePeer answers a call that another node has passed on, and returns the result of the MCP method as JSON. The
// transport has verified which node passes it on; ServePeer checks the caller's rights once more. It sends nothing to
// the client after it has returned.
func (s *Server) ServePeer(ctx context.Context, call peers.Call, client peers.Client) (json.RawMessage, error) {
	if call.Files != nil {
		return s.api.lendings.Serve(ctx, call.Caller.Node, call.Files)
	}
	session, err := newServedSession(call.Client, client)
	if err != nil {
		return nil, err
	}
	defer session.close()
	if len(call.Rules) > maxRules {
		return nil, term.Errorf(term.InvalidArgument, "the digest of the rules of node %s has %d bytes", call.Caller.Node, len(call.Rules))
	}
	entry := newEntryGate(ctx, call.Caller.Node, client)
	defer entry.over()
	ctx = term.WithEntryGate(context.WithValue(ctx, servedKey{}, served{part: call.Part}), entry.gate)
	ctx = identity.WithCaller(ctx, identity.Caller{
		Transport: call.Caller.Transport, Token: call.Caller.Token, Issuer: call.Caller.Issuer, Shim: call.Caller.Shim,
		ReadOnly: call.Caller.ReadOnly, Isolated: call.Caller.Isolated, Results: identity.Results(call.Caller.Results),
		Node: call.Caller.Node, Rules: call.Rules,
	})
	if call.Ordered {
		turn := inorder.Elsewhere(func() { client.Notify(peers.NotePassed, json.RawMessage("{}")) })
		defer turn.Over()
		ctx = inorder.With(ctx, turn)
	}
	if call.Lend != "" {
		ctx = toolset.WithLender(ctx, s.api.lender(call.Lend, client))
	}
	if call.Lent != nil {
		if ctx, err = s.api.borrowed(ctx, *call.Lent); err != nil {
			return nil, err
		}
	}
	if call.Watch && !subscribe.Known(ctx, s.sessions, call.URI) { // it would wait for as long as the client wants
		return nil, term.Errorf(term.NotFound, "there is no such session")
	}
	ctx = s.protocol.WithContext(ctx, session)
	if c, ok := simpleCall(call); ok {
		result, ok, err := s.api.answerRead(ctx, servedID, c)
		switch {
		case !ok:
		case err != nil:
			return nil, term.Errorf(term.InvalidArgument, "%s", err.Error())
		default:
			if text, ok := mcpgo.EncodeResult(withoutMeta(result)); ok {
				return text, nil
			}
			return resultOf(mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, Result: result})
		}
	}
	return s.handle(ctx, call)
}

// servedID is the id of a call of another node, in messages that only this process sees.
var servedID = json.RawMessage("1")

// simpleCall returns the same as mcpgo.ReadCall of paramsOf, without encoding the text between. It reports false for a
// call that must be a message.
func simpleCall(call peers.Call) (c mcpgo.Call, ok bool) {
	if call.Tool == "" || call.Trip != nil || call.Client.Stateless {
		return c, false
	}
	c.Name = call.Tool
	if len(call.Arguments) > 0 && string(call.Arguments) != "null" {
		c.Arguments = call.Arguments
	}
	if call.Progress {
		c.Progress = servedProgress
	}
	return c, true
}

// servedProgress is the progress token of a call of another node; its client's own is known there.
const servedProgress = float64(1)

// handle has a call answered as the message of a client.
func (s *Server) handle(ctx context.Context, call peers.Call) (json.RawMessage, error) {
	params, method, err := paramsOf(call)
	if err != nil {
		return nil, err
	}
	if method == mcp.MethodToolsCall && s.protocol.Answer != nil {
		if answer, ok := s.protocol.Answer(ctx, servedID, params); ok {
			return resultOf(answer)
		}
	}
	message, err := json.Marshal(request1{JSONRPC: mcp.JSONRPC_VERSION, ID: servedID, Method: string(method), Params: params})
	if err != nil {
		return nil, err
	}
	return resultOf(s.protocol.HandleMessage(ctx, message))
}

// resultOf returns the result that an answer has, in JSON, or its error.
func resultOf(answer mcp.JSONRPCMessage) (json.RawMessage, error) {
	line, err := mcpgo.EncodeAnswer(servedID, bare(answer))
	if err != nil {
		return nil, err
	}
	result, failure := jsonrpc.Want{Name: "result"}, jsonrpc.Want{Name: "error"}
	switch err := jsonrpc.Pick(line, &result, &failure); {
	case err != nil:
		return nil, err
	case failure.Value != nil:
		var e mcp.JSONRPCErrorDetails
		if err := json.Unmarshal(failure.Value, &e); err != nil {
			return nil, err
		}
		return nil, term.Errorf(term.InvalidArgument, "%s", e.Message)
	}
	return result.Value, nil
}

// bare removes the metadata that mcp-go adds to a tool's result for clients of the newest revision: the entry node adds
// its own. No tool of ptyctl sets it. Without it the result is written and read in a fifth of the time.
func bare(answer mcp.JSONRPCMessage) mcp.JSONRPCMessage {
	response, ok := answer.(mcp.JSONRPCResponse)
	if !ok {
		return answer
	}
	if r, ok := response.Result.(*mcp.CallToolResult); ok {
		response.Result = withoutMeta(r)
	}
	return response
}

// withoutMeta is bare for a result.
func withoutMeta(r *mcp.CallToolResult) *mcp.CallToolResult {
	if r.Meta == nil {
		return r
	}
	plain := *r
	plain.Meta = nil
	return &plain
}

// request1 is the message of a request.
type request1 struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// watchRevision is the revision of MCP in which a request watches resources.
const watchRevision = "2026-07-28"

// listened are the notifications that a subscriptions/listen asks for.
type listened struct {
	Resources []string `json:"resourceSubscriptions"`
}

// paramsOf returns the parameters of a call as its client would send them to this node.
func paramsOf(call peers.Call) (params json.RawMessage, method mcp.MCPMethod, err error) {
	p := struct {
		Name      string          `json:"name,omitempty"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
		URI       string          `json:"uri,omitempty"`
		Meta      map[string]any  `json:"_meta,omitempty"`
		State     string          `json:"requestState,omitempty"`
		Responses json.RawMessage `json:"inputResponses,omitempty"`

		Notifications *listened `json:"notifications,omitempty"`
	}{Name: call.Tool, Arguments: call.Arguments, URI: call.URI, Meta: make(map[string]any)}
	if call.Progress {
		p.Meta["progressToken"] = servedProgress
	}
	if call.Client.Stateless {
		p.Meta[mcp.MetaKeyProtocolVersion] = call.Client.Revision
		p.Meta[mcp.MetaKeyClientInfo] = mcp.Implementation{Name: call.Client.Name, Version: call.Client.Version}
		p.Meta[mcp.MetaKeyClientCapabilities] = call.Client.Capabilities
	}
	if call.Trip != nil {
		trip := struct {
			State     string          `json:"requestState"`
			Responses json.RawMessage `json:"inputResponses"`
		}{}
		if err := json.Unmarshal(call.Trip, &trip); err != nil {
			return nil, "", fmt.Errorf("the answer to a question that another node has passed on: %w", err)
		}
		p.State, p.Responses = trip.State, trip.Responses
	}
	switch {
	case call.Tool != "":
		method = mcp.MethodToolsCall
	case call.Watch: // which only the newest revision has as one request
		method = mcp.MethodSubscriptionsListen
		p.URI, p.Notifications = "", &listened{Resources: []string{call.URI}}
		p.Meta[mcp.MetaKeyProtocolVersion] = watchRevision
		p.Meta[mcp.MetaKeyClientInfo] = mcp.Implementation{Name: call.Client.Name, Version: call.Client.Version}
		p.Meta[mcp.MetaKeyClientCapabilities] = json.RawMessage("{}")
	default:
		method = mcp.MethodResourcesRead
	}
	params, err = json.Marshal(p)
	return params, method, err
}

// served describes a call that another node has passed on.
type served struct {
	part bool // the result is for another node, which joins it with its own
}

type servedKey struct{}

// isServed reports whether another node has passed the call of ctx on, so that it must not be passed on once more.
func isServed(ctx context.Context) bool {
	_, ok := ctx.Value(servedKey{}).(served)
	return ok
}

// isPart reports whether the result of the call is for another node, which joins it with its own.
func isPart(ctx context.Context) bool {
	s, _ := ctx.Value(servedKey{}).(served)
	return s.part
}

// servedQueue is how many notifications of one call may wait to be sent to the other node.
const servedQueue = 16

// A servedSession is the client of one call that another node has passed on, as mcp-go sees it.
type servedSession struct {
	program      peers.Program
	capabilities mcp.ClientCapabilities
	client       peers.Client

	first   sync.Once // starts sending, and makes notices and done, unless the call is over
	notices chan mcp.JSONRPCNotification
	sending sync.WaitGroup
	done    chan struct{}
}

// newServedSession passes notifications on until close.
func newServedSession(p peers.Program, client peers.Client) (*servedSession, error) {
	s := &servedSession{program: p, client: client}
	if len(p.Capabilities) > 0 && string(p.Capabilities) != "{}" {
		if err := json.Unmarshal(p.Capabilities, &s.capabilities); err != nil {
			return nil, fmt.Errorf("the capabilities of a client that another node has passed on: %w", err)
		}
	}
	return s, nil
}

// send passes notifications on until close.
func (s *servedSession) send() {
	for {
		select {
		case n := <-s.notices:
			if params, err := json.Marshal(n.Params); err == nil {
				s.client.Notify(n.Method, params)
			}
		case <-s.done:
			return
		}
	}
}

// close stops passing on notifications. It drops those that still wait: the answer that follows contains them all.
func (s *servedSession) close() {
	s.first.Do(func() {})
	if s.done != nil {
		close(s.done)
	}
	s.sending.Wait()
}

// NotificationChannel implements server.ClientSession. Most calls have no notification, and need no goroutine and no
// queue for them.
func (s *servedSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	s.first.Do(func() {
		s.notices, s.done = make(chan mcp.JSONRPCNotification, servedQueue), make(chan struct{})
		s.sending.Go(s.send)
	})
	if s.notices == nil { // the call is over
		return make(chan mcp.JSONRPCNotification, 1)
	}
	return s.notices
}

// The methods of server.ClientSession and its extensions. The session ends with the call, so nothing can be set.
func (s *servedSession) SessionID() string                             { return "" }
func (s *servedSession) Initialize()                                   {}
func (s *servedSession) Initialized() bool                             { return true }
func (s *servedSession) SetClientInfo(mcp.Implementation)              {}
func (s *servedSession) GetClientCapabilities() mcp.ClientCapabilities { return s.capabilities }
func (s *servedSession) SetClientCapabilities(mcp.ClientCapabilities)  {}
func (s *servedSession) ProtocolVersion() string                       { return s.program.Revision }
func (s *servedSession) SetProtocolVersion(string)                     {}

func (s *servedSession) GetClientInfo() mcp.Implementation {
	return mcp.Implementation{Name: s.program.Name, Version: s.program.Version}
}

// RequestElicitation implements server.SessionWithElicitation.
func (s *servedSession) RequestElicitation(
	ctx context.Context, req mcp.ElicitationRequest,
) (*mcp.ElicitationResult, error) {
	params, err := json.Marshal(req.Params)
	if err != nil {
		return nil, err
	}
	raw, err := s.client.Ask(ctx, peers.MethodElicit, params)
	if err != nil {
		return nil, err
	}
	result := new(mcp.ElicitationResult)
	err = json.Unmarshal(raw, result)
	return result, err
}

var (
	_ server.SessionWithClientInfo      = (*servedSession)(nil)
	_ server.SessionWithProtocolVersion = (*servedSession)(nil)
	_ server.SessionWithElicitation     = (*servedSession)(nil)
)
