package httpserve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A call's notifications come all, in order, and before its answer, however many and however fast.
func TestNotesComeBeforeTheAnswer(t *testing.T) {
	const notifications, calls = 300, 20
	srv := server.NewMCPServer("test", "1")
	srv.AddTool(mcp.NewTool("tell"), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range r.GetInt("n", 0) {
			if err := srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": "t", "progress": i}); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("told"), nil
	})
	site := httptest.NewServer(New(srv, Options{}))
	defer site.Close()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			session, meta := "", `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`
			if revision == "2025-11-25" {
				answer := post(t, site.URL, "", revision, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
				answer.Body.Close()
				session, meta = answer.Header.Get(server.HeaderKeySessionID), ""
				post(t, site.URL, session, revision, `{"jsonrpc":"2.0","method":"notifications/initialized"}`).Body.Close()
			}
			var wg sync.WaitGroup
			for range calls {
				for _, n := range []int{0, 1, 3, notifications} {
					wg.Go(func() {
						answer := post(t, site.URL, session, revision, fmt.Sprintf(
							`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tell","arguments":{"n":%d},"_meta":{%s"progressToken":"t"}}}`, n, meta))
						defer answer.Body.Close()
						if got := told(t, answer); got != n {
							t.Errorf("%d notifications came before the answer, want %d", got, n)
						}
					})
				}
			}
			wg.Wait()
		})
	}
}

// told returns how many notifications of a response come in order, and fails the test if its last message is not the answer.
func told(t *testing.T, answer *http.Response) (n int) {
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok && !strings.HasPrefix(lines.Text(), "{") { // not an event, nor an answer by itself
			continue
		}
		if !ok {
			text = lines.Text()
		}
		var message struct {
			ID     *int
			Params struct{ Progress int }
		}
		if err := json.Unmarshal([]byte(text), &message); err != nil {
			t.Errorf("%v: %s", err, text)
		}
		switch {
		case message.ID != nil:
			for lines.Scan() {
				if lines.Text() != "" {
					t.Errorf("after the answer comes %s", lines.Text())
				}
			}
			return n
		case message.Params.Progress != n:
			t.Errorf("notification %d comes as number %d", message.Params.Progress, n)
		}
		n++
	}
	t.Errorf("no answer after %d notifications (%v)", n, lines.Err())
	return n
}

func post(t *testing.T, site, session, revision, body string) *http.Response {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site+Path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return &http.Response{Body: http.NoBody}
	}
	for name, value := range map[string]string{
		"Content-Type": jsonType, "Accept": jsonType + ", " + eventType, server.HeaderKeySessionID: session, mcp.HeaderProtocolVersion: revision,
		"Mcp-Method": "tools/call", "Mcp-Name": "tell",
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return &http.Response{Body: http.NoBody}
	}
	return answer
}
