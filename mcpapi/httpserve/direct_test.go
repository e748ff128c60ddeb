package httpserve_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/mcpapi/httpserve"
)

// exactID is an id that mcp-go's HTTP handler returns in another form, without the escape.
const exactID = `"\u00e9"`

// exactly sends a request with that id and reports whether it comes back unchanged.
func (a agent) exactly(tool, args string) (r reply, exact bool) {
	a.t.Helper()
	m := a.asking("tools/call", calling(tool, args))
	m.body = strings.Replace(m.body, `"id":2`, `"id":`+exactID, 1)
	r = a.send(m)
	return r, strings.Contains(r.text, `"id":`+exactID+",")
}

// The answer to a call is the same whether or not it bypasses mcp-go's HTTP handler.
func TestDirectCalls(t *testing.T) {
	s := newSite(t, httpserve.Options{Tokens: allTokens, Isolate: true})
	a := s.initialize(writeToken, latest)
	id := a.open() // mcp-go's handler sees this call
	for args, says := range map[string]string{
		`{"action":"status","session_id":"` + id + `"}`: `"structuredContent":{"action":"status"`,
		`{"action":"status","session_id":"none"}`:       `NOT_FOUND`,
		`{"action":"<&>"}`:                              `INVALID_ARGUMENT`,
	} {
		r, direct := a.exactly("ptyctl_session", args)
		if !direct || r.status != http.StatusOK || r.header.Get("Content-Type") != "application/json" ||
			!strings.Contains(r.text, says) {
			t.Errorf("call %s: direct %t, status %d, %s; want the same answer both ways", args, direct, r.status, r.text)
		}
	}
	const unknown = "tool 'none' not found; tools/list shows the tools"
	if r, direct := a.exactly("none", `{}`); !direct || r.Error == nil || r.Error.Code != -32602 ||
		r.Error.Message != unknown {
		t.Errorf("call of an unknown tool: direct %t, %s; want an error: %s", direct, r.text, unknown)
	}
	first := s.initialize(writeToken, latest) // its first call goes through mcp-go's handler
	if r := first.ask("tools/call", calling("none", `{}`)); r.Error == nil || r.Error.Code != -32602 ||
		r.Error.Message != unknown {
		t.Errorf("first call, of an unknown tool: %s; want an error: %s", r.text, unknown)
	}
	m := a.message
	m.body = `{"jsonrpc":"2.0","method":"tools/call","params":` + calling("ptyctl_session", `{"action":"list"}`) + `}`
	if r := a.send(m); r.status != http.StatusAccepted {
		t.Errorf("call without an id = %d %s, want it accepted without an answer", r.status, r.text)
	}
	for name, change := range map[string]func(*message){
		"another token's": func(m *message) { m.token = otherToken },
		"a forged one":    func(m *message) { m.session += "x" },
	} {
		m := a.asking("tools/call", calling("ptyctl_session", `{"action":"list"}`))
		change(&m)
		if r := a.send(m); r.status != http.StatusNotFound {
			t.Errorf("call in the %s session = %d %s, want a refusal", name, r.status, r.text)
		}
	}
	a.method = http.MethodDelete
	if r := a.send(a.message); r.status != http.StatusOK {
		t.Fatalf("DELETE = %d %s, want success", r.status, r.text)
	}
	a.method = ""
	s.refused(
		a.ask("tools/call", calling("ptyctl_session", `{"action":"list"}`)),
		http.StatusNotFound,
		"no such MCP session",
	)
}

// A call in progress can be canceled, and its notifications come on its own stream.
func TestDirectCallsThatWait(t *testing.T) {
	s := newSite(t, httpserve.Options{})
	talkative(s, 3)
	a := s.initialize("", latest)
	id := a.open()
	m := a.asking("tools/call", `{"_meta":{"progressToken":"t"},"name":"talk","arguments":{}}`)
	status, stream := s.stream(t.Context(), m)
	if status != http.StatusOK {
		t.Fatalf("status of the stream = %d, want %d", status, http.StatusOK)
	}
	readTalk(t, stream, "t", 3)

	done := make(chan reply, 1)
	go func() {
		r, _ := a.exactly(
			"ptyctl_session_io",
			`{"action":"read","session_id":"`+id+`","until_regex":"never","timeout_ms":60000}`,
		)
		done <- r
	}()
	for s.sessions.List()[0].Readers == 0 {
		time.Sleep(time.Millisecond)
	}
	if r := a.post(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`,
		exactID)); r.status != http.StatusAccepted {
		t.Errorf("cancellation = %d %s, want it accepted", r.status, r.text)
	}
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the call goes on")
	}
	if n := s.sessions.List()[0].Readers; n != 0 {
		t.Errorf("waiting reads after the cancellation = %d, want 0", n)
	}
}

// A session in use does not expire, even if most of its calls bypass mcp-go's handler.
func TestDirectCallsKeepTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newBubbleSite(t, httpserve.Options{IdleTTL: time.Minute})
		a := s.initialize("", latest)
		direct := 0
		for range 500 {
			time.Sleep(300 * time.Millisecond)
			r, exact := a.exactly("ptyctl_session", `{"action":"list"}`)
			if r.status != http.StatusOK {
				t.Fatalf("call in a session in use: %d %s, want success", r.status, r.text)
			}
			if exact {
				direct++
			}
		}
		if direct != 375 { // three of four: the fourth comes more than a second after the last one that the handler has seen
			t.Errorf("direct answers = %d of 500, want 375", direct)
		}
		time.Sleep(3 * time.Minute)
		s.refused(a.ask("tools/call", calling("ptyctl_session", `{"action":"list"}`)), http.StatusNotFound, "unused")
		s.sessions.Close(context.Background())
		s.stop()
		s.client.CloseIdleConnections()
	})
}
