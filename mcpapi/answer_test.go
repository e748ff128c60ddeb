package mcpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/stdio"
	"ptyctl/session"
)

// A call that is answered without mcp-go, and one that mcp-go answers, get the same answer.
func TestDirectAnswers(t *testing.T) {
	srv := mcpapi.NewServer(mcpapi.Options{Sessions: session.NewManager(session.Config{}), Results: identity.Full})
	for _, tt := range []struct {
		params string
		direct bool
	}{
		{`{"name":"ptyctl_session","arguments":{"action":"list"}}`, true},
		{`{"name":"ptyctl_session","arguments":{"action":"list"},"_meta":{"progressToken":1.5,"other":{}}}`, true},
		{`{"name":"ptyctl_session","arguments":{"action":"list"},"_meta":null}`, true},
		{`{"name":"ptyctl_session","arguments":null}`, true},
		{`{"name":"ptyctl_session"}`, true},
		{`{"name":"ptyctl_session","arguments":[1]}`, true},
		{`{"name":"ptyctl_s\u0065ssion","arguments":{"action":"status","session_id":"none"}}`, true},
		{`{"name":"none","arguments":{}}`, false},
		{`{"name":7}`, false},
		{`{"Name":"ptyctl_session"}`, false},
		{`{"name":"ptyctl_session","name":"ptyctl_session"}`, false},
		{`{"name":"ptyctl_session","_meta":[]}`, false},
		{`{"name":"ptyctl_session","requestState":"x"}`, false},
		{`{"name":"ptyctl_session","_meta":{"` + mcp.MetaKeyProtocolVersion + `":"2026-07-28"}}`, false},
		{`[]`, false},
		{``, false},
	} {
		answer, ok := srv.Protocol().Answer(t.Context(), json.RawMessage(`1`), json.RawMessage(tt.params))
		if ok != tt.direct {
			t.Errorf("Answer(%s) is direct: %v, want %v", tt.params, ok, tt.direct)
		}
		if !ok {
			continue
		}
		got, err := mcpgo.EncodeAnswer(json.RawMessage(`1`), answer)
		if err != nil {
			t.Fatal(err)
		}
		message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + tt.params + `}`
		want, err := mcpgo.EncodeAnswer(json.RawMessage(`1`), srv.Protocol().HandleMessage(t.Context(), json.RawMessage(message)))
		if err != nil || string(got) != string(want) {
			t.Errorf("Answer(%s) = %s, want mcp-go's: %s (%v)", tt.params, got, want, err)
		}
	}
}

// The cost of a call from line to line: through the stdio transport, with a tool that does almost nothing.
func BenchmarkCall(b *testing.B) {
	srv := mcpapi.NewServer(mcpapi.Options{Sessions: session.NewManager(session.Config{}), Results: identity.Full})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- stdio.Serve(context.Background(), srv, inR, outW, stdio.Options{}) }()
	answers := bufio.NewReaderSize(outR, 1<<20)
	round := func(line []byte) {
		if _, err := inW.Write(line); err != nil {
			b.Fatal(err)
		}
		if _, err := answers.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	round([]byte(mcptest.InitializeLine + "\n"))
	call := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ptyctl_session_exec",` +
		`"arguments":{"session_id":"none-12345678","cmd":"uname -a","timeout_ms":5000,"env":["A=b"]},"_meta":{"progressToken":1}}}` + "\n")
	b.ReportAllocs()
	for b.Loop() {
		round(call)
	}
	inW.Close()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
