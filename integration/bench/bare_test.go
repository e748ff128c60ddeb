package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// bareResults names the file with the results of the bare server's tools, by the tools' names.
const bareResults = "PTYCTL_TEST_RESULTS"

// serveBare measures the cost of ptyctl's answers without ptyctl: it runs a plain mcp-go server on stdio and HTTP, with
// tools named as ptyctl's, which answer every call with a copy of one of ptyctl's results.
func serveBare() error {
	text, err := os.ReadFile(os.Getenv(bareResults))
	if err != nil {
		return err
	}
	var results map[string]string
	if err := json.Unmarshal(text, &results); err != nil {
		return err
	}
	srv := server.NewMCPServer("bare", "1", server.WithToolCapabilities(false))
	for name, text := range results {
		srv.AddTool(mcp.NewTool(name), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultStructured(json.RawMessage(text), text), nil
		})
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(srv, server.WithStateful(true)))
	served := make(chan error, 1)
	go func() { served <- http.Serve(ln, mux) }()
	fmt.Fprintf(os.Stderr, "bare: serving MCP at http://%s/mcp\n", ln.Addr())
	err = server.NewStdioServer(srv).Listen(context.Background(), os.Stdin, os.Stdout)
	_ = ln.Close()
	if e := <-served; !errors.Is(e, net.ErrClosed) {
		log.Print(e)
	}
	return err
}
