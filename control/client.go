package control

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/httpserve"
	"ptyctl/term"
)

// Options identify the caller. The zero value works.
type Options struct {
	Token   string // the server's control_auth_token, if it has one
	Command string // command that connects, for example "attach"; shown in the audit log
	Version string

	// Dir and Variables are the folder and the environment, in the form of os.Environ, for the sessions that the client
	// opens. If Variables is nil, those of the server's process count.
	Dir       string
	Variables []string

	// Dialer connects to the server instead of a socket, for a server in this process that listens in memory. nil: the
	// socket.
	Dialer func(context.Context) (net.Conn, error)
}

// name is the name of the program as the audit log has it.
func (o Options) name() string { return strings.TrimSpace("ptyctl " + o.Command) }

// host is the host name in URLs; the socket makes it irrelevant.
const host = "localhost"

// A Client calls the tools of one ptyctl server. It is safe for concurrent use.
type Client struct {
	mcp   *client.Client
	http  *http.Client    // nil: the server is in this process
	rt    *proofTransport // of http
	token string
	name  string // of the program
}

// Dial connects to the server at a socket. It fails if the server's process belongs to
// another user, before it sends anything.
func Dial(ctx context.Context, path string, o Options) (*Client, error) {
	w := &proofTransport{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if o.Dialer != nil {
				return o.Dialer(ctx)
			}
			return dial(ctx, path)
		},
		MaxIdleConnsPerHost: 8, // waiting reads, and writes at the same time
	}}
	if o.Variables != nil {
		w.environment = httpserve.EncodeEnvironment(o.Dir, o.Variables)
		if len(w.environment) > httpserve.MaxEnvironment {
			return nil, term.Errorf(term.LimitExceeded, "control: the variables for what is opened have %d bytes, and at most %d "+
				"can be sent; name fewer in local.inherit_env", len(w.environment), httpserve.MaxEnvironment)
		}
	}
	h := &http.Client{Transport: w}
	options := []transport.StreamableHTTPCOption{
		transport.WithHTTPBasicClient(h), transport.WithHTTPLogger(slog.New(slog.DiscardHandler)),
	}
	if o.Token != "" {
		options = append(options, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + o.Token}))
	}
	m, err := client.NewStreamableHttpClient("http://"+host+"/mcp", options...)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	c := &Client{mcp: m, http: h, rt: w, token: o.Token, name: o.name()}
	if err := c.start(ctx, o); err != nil {
		return nil, notReached(path, err)
	}
	return c, nil
}

// notReached returns the failure to reach the server at a socket.
func notReached(path string, err error) error {
	kind := term.ConnectFailed
	switch {
	case errors.Is(err, transport.ErrAuthorizationRequired):
		return term.Errorf(term.AuthFailed, "control: %s needs a token; set server.control.control_auth_token as in the "+
			"server's configuration: %w", path, err)
	case errors.Is(err, context.Canceled):
		kind = term.Canceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		kind = term.ConnectTimeout
	case errors.Is(err, fs.ErrPermission):
		kind = term.AccessDenied
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" { // the rest is about the layers above it
		err = op.Err
	}
	return term.Errorf(kind, "control: %s: %w", path, err)
}

// Within returns a client of a server in the same process.
func Within(ctx context.Context, srv *server.MCPServer, o Options) (*Client, error) {
	m, err := client.NewInProcessClient(srv)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	c := &Client{mcp: m}
	return c, c.start(ctx, o)
}

// start begins the MCP session under the name of the command.
func (c *Client) start(ctx context.Context, o Options) error {
	err := c.mcp.Start(ctx)
	if err == nil {
		var hello mcp.InitializeRequest
		hello.Params.ClientInfo = mcp.Implementation{Name: o.name(), Version: o.Version}
		_, err = c.mcp.Initialize(ctx, hello)
	}
	if err != nil {
		c.Close()
	}
	return err
}

// Close ends the connection. Calls in progress fail.
func (c *Client) Close() {
	_ = c.mcp.Close() // the error cannot be acted on
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

// A ToolError is the result of a call that the server has refused or that has failed.
type ToolError struct {
	Code      string          `json:"error_code"`
	Message   string          `json:"message"`
	Retryable bool            `json:"retryable"`
	Details   json.RawMessage `json:"details"`
}

func (e *ToolError) Error() string { return e.Message }

// Call calls a tool. arguments are encoded as a JSON object; the tool's result is decoded
// into result, which must be a pointer or nil. If the tool failed, the error is a *ToolError.
func (c *Client) Call(ctx context.Context, tool string, arguments, result any) error {
	text, failed, err := c.Raw(ctx, tool, arguments)
	switch {
	case err != nil:
		return err
	case failed:
		return toolError(tool, text)
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fmt.Errorf("control: the result of %s: %w", tool, err)
	}
	return nil
}

// Raw is Call without decoding: it returns the text of the result and whether the tool
// has failed.
func (c *Client) Raw(ctx context.Context, tool string, arguments any) (text json.RawMessage, failed bool, err error) {
	res, err := c.call(ctx, tool, arguments)
	if err != nil {
		return nil, false, err
	}
	if len(res.Content) > 0 {
		if t, ok := mcp.AsTextContent(res.Content[0]); ok {
			return json.RawMessage(t.Text), res.IsError, nil
		}
	}
	return nil, false, fmt.Errorf("control: the result of %s has no text", tool)
}

// Picture calls a tool that returns a picture beside its text, and returns the picture's file,
// which is of the type mime. If the tool failed, the error is a *ToolError.
func (c *Client) Picture(ctx context.Context, tool string, arguments any, mime string) ([]byte, error) {
	res, err := c.call(ctx, tool, arguments)
	if err != nil {
		return nil, err
	}
	for _, content := range res.Content {
		if t, ok := mcp.AsTextContent(content); ok && res.IsError {
			return nil, toolError(tool, []byte(t.Text))
		}
		if i, ok := mcp.AsImageContent(content); ok && i.MIMEType == mime {
			file, err := base64.StdEncoding.DecodeString(i.Data)
			if err != nil {
				return nil, fmt.Errorf("control: the picture of %s: %w", tool, err)
			}
			return file, nil
		}
	}
	return nil, fmt.Errorf("control: the result of %s has no picture of the type %s", tool, mime)
}

func (c *Client) call(ctx context.Context, tool string, arguments any) (*mcp.CallToolResult, error) {
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = tool, arguments
	res, err := c.mcp.CallTool(ctx, req)
	if err != nil {
		return nil, callFailed(ctx, err)
	}
	return res, nil
}

// toolError reads the text of a result that says that a tool has failed.
func toolError(tool string, text []byte) error {
	e := new(ToolError)
	if err := json.Unmarshal(text, e); err != nil || e.Code == "" {
		return fmt.Errorf("control: %s failed with an unknown error: %q", tool, text)
	}
	return e
}

// callFailed returns the failure of a call that has no result.
func callFailed(ctx context.Context, err error) error {
	kind := term.IOError
	switch {
	case ctx.Err() != nil:
		kind = term.Canceled
	case errors.Is(err, mcp.ErrInvalidParams), errors.Is(err, mcp.ErrMethodNotFound):
		kind = term.InvalidArgument
	}
	return term.Errorf(kind, "control: %w", err)
}

// Follow calls changed once when it starts to watch a resource, and then after each
// change of it, until ctx or the connection ends. changed must not block. A client can
// follow one resource.
func (c *Client) Follow(ctx context.Context, uri string, changed func()) error {
	c.mcp.OnNotification(func(n mcp.JSONRPCNotification) {
		switch n.Method {
		case mcp.MethodNotificationSubscriptionsAcknowledged:
			changed()
		case mcp.MethodNotificationResourceUpdated:
			if n.Params.AdditionalFields["uri"] == uri {
				changed()
			}
		}
	})
	if err := c.mcp.Listen(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}}); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	return nil
}

// Stream opens a stream of the server, for example [httpserve.WatchPath]. It ends with ctx, or when it is closed.
func (c *Client) Stream(ctx context.Context, path string) (io.ReadCloser, error) {
	res, err := c.get(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return res.Body, nil
}

// maxPage is the most bytes that Get reads.
const maxPage = 8 << 20

// Get returns a page of the server other than its tools, for example /metrics.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	res, err := c.get(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxPage))
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return body, nil
}

// errWithin is the error of a request that needs a server of another process.
var errWithin = errors.New("the server is in this process, and has no pages")

// get sends a GET request. The status of the response is 200.
func (c *Client) get(ctx context.Context, path string) (*http.Response, error) {
	if c.http == nil {
		return nil, errWithin
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path, nil)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err == nil && res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, fmt.Errorf("%s: %s", req.URL.Path, res.Status)
	}
	return res, err
}
