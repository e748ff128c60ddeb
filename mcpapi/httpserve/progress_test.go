package httpserve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/httpserve"
)

// talkative adds a tool that sends n notifications and returns.
func talkative(s *site, n int) {
	s.mcp.Protocol().AddTool(mcp.NewTool("talk"), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range n {
			params := map[string]any{"progressToken": req.Params.Meta.ProgressToken, "progress": i}
			if err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", params); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("said"), nil
	})
}

// The notifications of a call come before its answer, on the same stream, complete and in
// order. Calls without notifications are answered without a stream, before and after
// that.
func TestNotificationsBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin  func(*site) agent
		stream bool // a stream of the session is open at the same time
	}{
		"modern":            {func(s *site) agent { return s.modern("") }, false},
		"legacy":            {func(s *site) agent { return s.initialize("", latest) }, false},
		"legacy, listening": {func(s *site) agent { return s.initialize("", latest) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const calls, most = 40, 100
			s := newSite(t, httpserve.Options{})
			talkative(s, most)
			a := c.begin(s)
			if c.stream {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if status, _ := a.listen(ctx); status != 200 {
					t.Fatalf("status of the stream = %d, want 200", status)
				}
			}
			var running sync.WaitGroup
			for i := range calls {
				running.Go(func() {
					token := fmt.Sprintf("t%d", i)
					m := a.asking("tools/call", `{"name":"talk","arguments":{}}`)
					m.body = strings.Replace(m.body, `"arguments"`, `"PLACE":0,"arguments"`, 1)
					if a.revision == "2026-07-28" {
						m.body = strings.Replace(m.body, `"_meta":{`, `"_meta":{"progressToken":"`+token+`",`, 1)
					} else {
						m.body = strings.Replace(m.body, `"PLACE":0`, `"_meta":{"progressToken":"`+token+`"}`, 1)
					}
					resp, err := s.client.Do(s.request(context.Background(), m))
					if err != nil {
						t.Error(err)
						return
					}
					defer resp.Body.Close()
					if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
						t.Errorf("type of the answer = %s, want a stream", kind)
					}
					readTalk(t, resp.Body, token, most)
				})
			}
			running.Wait()
			resp, err := s.client.Do(
				s.request(context.Background(), a.asking("tools/call", calling("ptyctl_session", `{"action":"list"}`))),
			)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if kind := resp.Header.Get("Content-Type"); kind != "application/json" {
				t.Errorf("type of an answer without notifications = %s, want JSON", kind)
			}
		})
	}
}

// readTalk checks a stream: n notifications with the token, then the answer.
func readTalk(t *testing.T, stream io.Reader, token string, want int) {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	got, answered := 0, false
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var m struct {
			ID     json.RawMessage
			Result json.RawMessage
			Params struct {
				ProgressToken string
				Progress      int
			}
		}
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			t.Errorf("decode event: %v: %s; want JSON", err, data)
			return
		}
		switch {
		case answered:
			t.Errorf("event after the answer = %s, want none", data)
		case m.ID != nil:
			answered = m.Result != nil
		case m.Params.ProgressToken != token || m.Params.Progress != got:
			t.Errorf("notification = %s, want number %d of %s", data, got, token)
		default:
			got++
		}
	}
	if err := lines.Err(); err != nil || got != want || !answered {
		t.Errorf("%d of %d notifications, answered: %v, %v", got, want, answered, err)
	}
}

// A question to the client goes out between the notifications of its call, whether or not
// one came before it.
func TestQuestionAmongNotifications(t *testing.T) {
	for _, first := range []int{0, 1, 3} {
		t.Run(fmt.Sprintf("after %d notifications", first), func(t *testing.T) {
			s := newSite(t, httpserve.Options{Tokens: allTokens})
			s.mcp.Protocol().AddTool(mcp.NewTool("ask"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				srv := server.ServerFromContext(ctx)
				tell := func() error {
					return srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progress": 1})
				}
				for range first {
					if err := tell(); err != nil {
						return nil, err
					}
				}
				schema := map[string]any{"type": "object", "properties": map[string]any{"user": map[string]any{"type": "string"}}}
				r, err := srv.RequestElicitation(
					ctx,
					mcp.ElicitationRequest{Params: mcp.ElicitationParams{Message: "who?", RequestedSchema: schema}},
				)
				if err != nil {
					return nil, err
				}
				if err := tell(); err != nil {
					return nil, err
				}
				return mcp.NewToolResultText(fmt.Sprint(r.Action, r.Content)), nil
			})
			a := s.initialize(writeToken, latest)
			_, stream := s.stream(t.Context(), a.asking("tools/call", `{"name":"ask","arguments":{}}`))
			lines := bufio.NewScanner(stream)
			var got []string
			for lines.Scan() {
				data, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok {
					continue
				}
				var m struct {
					ID     json.RawMessage
					Method string
					Result struct{ Content []struct{ Text string } }
				}
				if err := json.Unmarshal([]byte(data), &m); err != nil {
					t.Fatal(err)
				}
				switch {
				case m.Method == "elicitation/create":
					if r := a.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"user":"admin"}}}`,
						m.ID)); r.status != 202 {
						t.Errorf("answer to the question = %d %s, want it accepted", r.status, r.text)
					}
				case m.Method == "" && len(m.Result.Content) == 1:
					m.Method = m.Result.Content[0].Text
				}
				got = append(got, m.Method)
			}
			want := slices.Repeat([]string{"notifications/progress"}, first)
			want = append(want, "elicitation/create", "notifications/progress", "acceptmap[user:admin]")
			if err := lines.Err(); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v: got %v, want %v", err, got, want)
			}
		})
	}
}
