package mcpapi_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
	"ptyctl/term"
)

func TestStructuredContent(t *testing.T) {
	for _, tt := range []struct {
		revision string
		results  identity.Results
		want     bool
	}{
		{"2024-11-05", identity.Full, false},
		{"2025-03-26", identity.Full, false},
		{"2025-06-18", identity.Full, true},
		{"2025-11-25", identity.Full, true},
		{"2025-06-18", identity.Compact, false},
		{"2025-11-25", "", false},
	} {
		t.Run(fmt.Sprintf("%s %v", tt.revision, tt.results), func(t *testing.T) {
			a := mcptest.NewAgent(
				t,
				mcpapi.NewServer(mcpapi.Options{Sessions: session.NewManager(session.Config{}), Results: tt.results}),
				tt.revision,
			)
			for _, r := range []mcptest.Reply{
				a.OK(mcptest.SessionTool, `{"action":"list"}`),
				a.Call(mcptest.SessionTool, `{"action":"<&>"}`),
			} {
				if got := r.Structured != nil; got != tt.want {
					t.Errorf("structured content is %s", r.Structured)
				}
				if tt.want && string(r.Structured) != r.Text {
					t.Errorf("text and structured content differ:\n%s\n%s", r.Text, r.Structured)
				}
			}
		})
	}
}

// A client of a stateless revision says in each request which one it speaks.
func TestStructuredContentStateless(t *testing.T) {
	srv := mcpapi.NewServer(mcpapi.Options{Sessions: session.NewManager(session.Config{}), Results: identity.Full})
	a := mcptest.NewAgent(t, srv, "2025-03-26")
	got := a.Request(
		"tools/call",
		`{"name":"ptyctl_session","arguments":{"action":"list"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`,
	)
	if got.Error != nil {
		t.Fatal(got.Error)
	}
	if r := a.Read(got.Result); r.IsError {
		t.Error(r.Text)
	}
}

// allBytes has every byte value; none may be lost on the way.
var allBytes = func() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}()

func TestBase64BothWays(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: mcptest.Echo}})
	l.Open("")
	data := base64.StdEncoding.EncodeToString(allBytes)

	r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"cat","stdin":"`+data+`","stdin_encoding":"base64"}`)
	if r.Stdout != data || r.StdoutEncoding != "base64" || r.StdoutBytes != 256 {
		t.Errorf("exec: got %q, %q", r.Stdout, r.StdoutEncoding)
	}
	w := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"`+data+`","encoding":"base64"}`)
	if w.BytesWritten == nil || *w.BytesWritten != 256 || w.Cursor != "0" {
		t.Errorf("write: got %s", w.Text)
	}
	var got []byte
	for cursor := "0"; len(got) < 256; {
		r := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"`+cursor+`","timeout_ms":5000,"format":"raw"}`)
		if r.TimedOut {
			t.Fatalf("after %d bytes: %s", len(got), r.Text)
		}
		part := []byte(r.Chunk)
		if r.Encoding == "base64" {
			part, _ = base64.StdEncoding.DecodeString(r.Chunk)
		}
		got, cursor = append(got, part...), r.NextCursor
	}
	if !bytes.Equal(got, allBytes) {
		t.Errorf("read back %q", got)
	}
	r = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"65","max_bytes":3,"encoding":"base64"}`)
	if r.Chunk != "QUJD" || r.Encoding != "base64" || r.NextCursor != "68" {
		t.Errorf("asked for base64, got %s", r.Text)
	}
	l.Fails(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"not base64!","encoding":"base64"}`,
		term.InvalidArgument,
		"data is not valid base64",
	)
	l.Fails(
		mcptest.ExecTool,
		`{"session_id":"$S","cmd":"cat","stdin":"Yf8","stdin_encoding":"base64"}`,
		term.InvalidArgument,
		"stdin is not valid base64",
		"padding",
	)
}

func TestJSONRPCErrors(t *testing.T) {
	l, srv := mcptest.NewServer(t, mcptest.Config{Options: mcpapi.Options{JSONRPCErrors: true}})
	l.Agent = mcptest.NewAgent(t, srv, "")
	for args, want := range map[string]struct {
		code int
		kind term.Kind
	}{
		`{"action":"status","session_id":"nowhere-1"}`: {1010, term.NotFound},
		`{"action":"open"}`:                            {-32602, term.InvalidArgument},
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":1,"username":"u","timeouts":{"connect_timeout_ms":5000}}`: {1001, term.ConnectFailed},
	} {
		got := l.Request("tools/call", l.Params(mcptest.SessionTool, args))
		if got.Result != nil || got.Error == nil || got.Error.Code != want.code || got.Error.Message == "" {
			t.Errorf("%s: %s, %+v", args, got.Result, got.Error)
			continue
		}
		var data mcptest.Reply
		if err := json.Unmarshal(got.Error.Data, &data); err != nil || data.ErrorCode != want.kind ||
			data.Message != got.Error.Message ||
			data.Retryable != want.kind.Retryable() {
			t.Errorf("%s: data is %s", args, got.Error.Data)
		}
	}
	// A call that does not fail has an ordinary result, and so has a command with a nonzero exit code.
	l.Open("")
	if r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"exit 3"}`); *r.ExitCode != 3 {
		t.Errorf("a command that ends badly: %s", r.Text)
	}
}
