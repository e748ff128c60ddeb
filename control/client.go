package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Options say who calls. The zero value works.
type Options struct {
	Token   string // the server's control_auth_token, if it wants one
	Command string // that connects, as "attach": the server's records show it
	Version string
}

// host stands in URLs for the socket's other end.
const host = "localhost"

// A Client calls the tools of one ptyctl. Any goroutine may use it.
type Client struct {
	mcp   *client.Client
	http  *http.Client // nil: the server is in this process
	way   *way         // of http
	token string
}

// Dial connects to the server of a socket, if that is this user's process.
func Dial(ctx context.Context, path string, o Options) (*Client, error) {
	w := &way{Transport: &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, path) },
		MaxIdleConnsPerHost: 8, // reads that wait, and writes beside them
	}}
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
	c := &Client{mcp: m, http: h, way: w, token: o.Token}
	if err := c.start(ctx, o); errors.Is(err, transport.ErrAuthorizationRequired) {
		return nil, fmt.Errorf(
			"control: %s wants a token; give it as server.control.control_auth_token, in the configuration that the server was started with: %w",
			path,
			err,
		)
	} else if err != nil {
		return nil, fmt.Errorf("control: %s: %w", path, err)
	}
	return c, nil
}

// Within returns a client of a server in this process.
func Within(ctx context.Context, srv *server.MCPServer, o Options) (*Client, error) {
	m, err := client.NewInProcessClient(srv)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	c := &Client{mcp: m}
	return c, c.start(ctx, o)
}

func (c *Client) start(ctx context.Context, o Options) error {
	err := c.mcp.Start(ctx)
	if err == nil {
		var hello mcp.InitializeRequest
		hello.Params.ClientInfo = mcp.Implementation{Name: strings.TrimSpace("ptyctl " + o.Command), Version: o.Version}
		_, err = c.mcp.Initialize(ctx, hello)
	}
	if err != nil {
		c.Close()
	}
	return err
}

// Close ends the connection. Calls under way fail.
func (c *Client) Close() {
	_ = c.mcp.Close() // what the other end thinks of it is no matter
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

// A ToolError is a call that the server has refused, or that failed: what the tool's result says of it.
type ToolError struct {
	Code      string          `json:"error_code"`
	Message   string          `json:"message"`
	Retryable bool            `json:"retryable"`
	Details   json.RawMessage `json:"details"`
}

func (e *ToolError) Error() string { return e.Message }

// Call calls a tool. arguments become a JSON object; result, which may be nil, is filled from the tool's. If the call
// failed, the error is a *ToolError.
func (c *Client) Call(ctx context.Context, tool string, arguments, result any) error {
	text, failed, err := c.Raw(ctx, tool, arguments)
	switch {
	case err != nil:
		return err
	case failed:
		e := new(ToolError)
		if err := json.Unmarshal(text, e); err != nil || e.Code == "" {
			return fmt.Errorf("control: %s failed with %q", tool, text)
		}
		return e
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fmt.Errorf("control: the result of %s: %w", tool, err)
	}
	return nil
}

// Raw is Call for a result that is passed on as it is.
func (c *Client) Raw(ctx context.Context, tool string, arguments any) (text json.RawMessage, failed bool, err error) {
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = tool, arguments
	res, err := c.mcp.CallTool(ctx, req)
	if err != nil {
		return nil, false, fmt.Errorf("control: %w", err)
	}
	if len(res.Content) == 1 {
		if t, ok := mcp.AsTextContent(res.Content[0]); ok {
			return json.RawMessage(t.Text), res.IsError, nil
		}
	}
	return nil, false, fmt.Errorf("control: the result of %s has no text", tool)
}

// Follow calls changed when it has begun to look, and then whenever what the server shows of one of its resources is no
// longer as it was, until ctx or the connection ends. changed must not wait for anything. A client follows one resource.
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

// maxPage bounds what Get reads.
const maxPage = 8 << 20

// Get reads a page of the server beside its tools, such as /metrics.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path, nil)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxPage))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, res.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return body, nil
}
