package httpserve_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/httpserve"
)

// BenchmarkGuards compares a call through the guards with the same call to mcp-go's own
// handler, in turns.
func BenchmarkGuards(b *testing.B) {
	for name, size := range map[string]int{"trivial": 2, "64KiB": 64 << 10} {
		b.Run(name, func(b *testing.B) {
			s := newSite(b, httpserve.Options{Tokens: allTokens, RateLimit: 1_000_000})
			text := strings.Repeat("x", size)
			s.mcp.Protocol().AddTool(mcp.NewTool("say"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText(text), nil
			})
			bare := httptest.NewServer(server.NewStreamableHTTPServer(s.mcp.Protocol().MCPServer))
			defer bare.Close()
			a := s.modern(writeToken)
			call := func(host string) time.Duration {
				req := s.request(b.Context(), a.asking("tools/call", calling("say", "{}")))
				req.URL.Host, req.Host = host, host
				begin := time.Now()
				resp, err := s.client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				took := time.Since(begin)
				if err != nil || resp.StatusCode != http.StatusOK || n < int64(size) {
					b.Fatalf("answer = %s, %d bytes, %v; want a whole answer", resp.Status, n, err)
				}
				return took
			}
			var guarded, plain time.Duration
			for i := 0; b.Loop(); i++ { // the first of a pair is slower, so the order alternates
				if i%2 == 0 {
					guarded += call(s.host)
				}
				plain += call(bare.Listener.Addr().String())
				if i%2 == 1 {
					guarded += call(s.host)
				}
			}
			b.ReportMetric(float64(guarded)/float64(plain), "x-bare")
		})
	}
}
