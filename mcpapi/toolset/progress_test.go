package toolset_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"ptyctl/internal/bufpipe"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/stdio"
	"ptyctl/session"
	"ptyctl/term"
)

// A pipe is a terminal with its far side in the test.
type pipe struct{ net.Conn }

func (pipe) Resize(int, int) error { return nil }

// A told is a line of the server: a notification of progress, or an answer.
type line struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Token    any `json:"progressToken"`
		Progress float64
		Message  *string
	}
	Result struct{ Content []struct{ Text string } }
}

// newSlow makes a server with terminals that take twelve seconds to connect, and returns the far end of the first.
func newSlow(t *testing.T) (*mcpapi.Server, net.Conn) {
	t.Helper()
	near, far := bufpipe.New(0)
	m := session.NewManager(session.Config{Dialers: map[string]term.Dialer{
		"ssh": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			time.Sleep(12 * time.Second)
			return pipe{near}, nil
		},
	}})
	t.Cleanup(func() { m.Close(context.Background()) })
	return mcpapi.NewServer(mcpapi.Options{Sessions: m}), far
}

// checkProgress makes an open and a read that wait, each through send, which returns all that the server says until and
// with the answer.
func checkProgress(t *testing.T, far net.Conn, send func(args string, token string) []line) {
	t.Helper()
	lines := send(`"name":"ptyctl_session","arguments":{"action":"open","protocol":"ssh","host":"h"}`, `"tok"`)
	id := checkLines(t, lines, "tok", "5 connecting: waiting for 5s", "10 connecting: waiting for 10s")
	go func() {
		time.Sleep(7 * time.Second)
		_, _ = far.Write([]byte("abc"))
	}()
	lines = send(
		fmt.Sprintf(
			`"name":"ptyctl_session_io","arguments":{"action":"read","session_id":%q,"until_regex":"never","timeout_ms":12000}`,
			id,
		),
		`7`,
	)
	checkLines(
		t,
		lines,
		"7",
		"5 the read on "+id+": waiting for 5s, 0 bytes have come",
		"10 the read on "+id+": waiting for 10s, 3 bytes have come",
	)
	// A call sends no progress if the client did not ask for it, or if the call ends soon.
	checkLines(
		t,
		send(
			fmt.Sprintf(
				`"name":"ptyctl_session_io","arguments":{"action":"read","session_id":%q,"until_regex":"never","timeout_ms":12000}`,
				id,
			),
			``,
		),
		"",
	)
	checkLines(
		t,
		send(
			fmt.Sprintf(
				`"name":"ptyctl_session_io","arguments":{"action":"read","session_id":%q,"until_regex":"never","timeout_ms":4000}`,
				id,
			),
			`8`,
		),
		"8",
	)
}

// checkLines checks that the last line is the answer, and all before it progress; it returns the answer's session.
func checkLines(t *testing.T, lines []line, token string, want ...string) (session string) {
	t.Helper()
	var got []string
	for i, l := range lines {
		last := i == len(lines)-1
		if last != (l.Method == "") ||
			!last && (l.Method != "notifications/progress" || fmt.Sprint(l.Params.Token) != token) {
			t.Errorf("line %d of %d is %+v", i+1, len(lines), l)
		}
		if !last {
			got = append(got, fmt.Sprintf("%v %s", l.Params.Progress, *l.Params.Message))
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("told:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var r mcptest.Reply
	if err := json.Unmarshal([]byte(lines[len(lines)-1].Result.Content[0].Text), &r); err != nil {
		t.Fatal(err)
	}
	return r.SessionID
}

func toolCall(args, token string) string {
	if token != "" {
		args += `,"_meta":{"progressToken":` + token + `}`
	}
	return `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + args + `}}`
}

func TestProgressOnStdio(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, far := newSlow(t)
		in, inFar := bufpipe.New(0)
		served := make(chan struct{})
		go func() {
			defer close(served)
			if err := stdio.Serve(t.Context(), srv, inFar, inFar, stdio.Options{}); err != nil {
				t.Error(err)
			}
			inFar.Close()
		}()
		out := bufio.NewScanner(in)
		fmt.Fprintln(in, mcptest.InitializeLine)
		out.Scan()
		fmt.Fprintln(in, mcptest.InitializedLine)
		checkProgress(t, far, func(args, token string) (lines []line) {
			fmt.Fprintln(in, toolCall(args, token))
			for out.Scan() {
				var l line
				if err := json.Unmarshal(out.Bytes(), &l); err != nil {
					t.Fatal(err)
				}
				if lines = append(lines, l); l.Method == "" {
					return lines
				}
			}
			t.Fatal("no answer")
			return nil
		})
		in.Close()
		<-served
	})
}

func TestProgressOnHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, far := newSlow(t)
		l := bufpipe.Listen("ptyctl:80", 0)
		web := &http.Server{
			Handler:           server.NewStreamableHTTPServer(srv.Protocol().MCPServer, server.WithStateful(true)),
			ReadHeaderTimeout: time.Second,
		}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = web.Serve(l)
		}()
		client := &http.Client{Transport: &http.Transport{DialContext: l.DialContext}}
		id := ""
		post := func(body string) *http.Response {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://ptyctl/mcp", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			req.Header.Set("Mcp-Session-Id", id)
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		res := post(mcptest.InitializeLine)
		id = res.Header.Get("Mcp-Session-Id")
		res.Body.Close()
		post(mcptest.InitializedLine).Body.Close()
		checkProgress(t, far, func(args, token string) (lines []line) {
			res := post(toolCall(args, token))
			defer res.Body.Close()
			for s := bufio.NewScanner(res.Body); s.Scan(); {
				data, event := strings.CutPrefix(s.Text(), "data: ")
				if !event && !strings.HasPrefix(data, "{") {
					continue
				}
				var l line
				if err := json.Unmarshal([]byte(data), &l); err != nil {
					t.Fatal(err)
				}
				lines = append(lines, l)
			}
			return lines
		})
		client.CloseIdleConnections()
		web.Close()
		<-served
	})
}
