package lab

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"
)

// A Conversation is a client that sends any lines of text, valid or not.
type Conversation struct {
	*Program
	TB      testing.TB
	Hello   []byte      // the answer to initialize
	answers chan Answer // closed at the end of the output
	lastID  int
}

// An Answer is one line of the program's.
type Answer struct {
	Line  []byte `json:"-"`
	ID    json.RawMessage
	Error *struct {
		Code    int
		Message string
	}
	Result struct {
		IsError bool
		Content []struct{ Text string }
	}
}

// Converse starts ptyctl and shakes hands with it.
func (h *Home) Converse(tb testing.TB, args ...string) *Conversation {
	tb.Helper()
	c := &Conversation{Program: h.Start(tb, args...), TB: tb, answers: make(chan Answer, 1024)}
	go func() { // ends with the output
		defer close(c.answers)
		lines := bufio.NewReader(c.stdout)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			a := Answer{Line: line}
			if err := json.Unmarshal(line, &a); err == nil { // CheckJSONRPC reports lines that are not messages
				c.answers <- a
			}
		}
	}()
	c.Send(
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
			`"capabilities":{},"clientInfo":{"name":"integration","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n",
	)
	a := c.Next()
	if a.Error != nil || string(a.ID) != "0" {
		tb.Fatalf("the handshake failed: %s", a.Line)
	}
	c.Hello = a.Line
	return c
}

// Send writes text as it is.
func (c *Conversation) Send(text string) {
	c.TB.Helper()
	if _, err := io.WriteString(c.Stdin, text); err != nil {
		c.TB.Fatalf("ptyctl reads no more: %v", err)
	}
}

// Request returns the line, without its end, that calls a tool, and the id of its answer. Each %s in arguments is
// replaced by one of values, as JSON.
func (c *Conversation) Request(tool, arguments string, values ...string) (line, id string) {
	encoded := make([]any, len(values))
	for i, v := range values {
		encoded[i] = fmt.Sprintf("%q", v)
	}
	c.sent.Call(c.TB, fmt.Sprintf(arguments, encoded...))
	c.lastID++
	id = fmt.Sprint(c.lastID)
	return fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
		id,
		tool,
		fmt.Sprintf(arguments, encoded...),
	), id
}

// Ask sends a call and returns the id of its answer.
func (c *Conversation) Ask(tool, arguments string, values ...string) string {
	c.TB.Helper()
	line, id := c.Request(tool, arguments, values...)
	c.Send(line + "\n")
	return id
}

// Next returns the next line.
func (c *Conversation) Next() Answer {
	c.TB.Helper()
	select {
	case a, ok := <-c.answers:
		if !ok {
			<-c.Ended
			c.TB.Fatalf("the output ended (%v); the log:\n%s", c.status, Tail(c.Log.String(), 8<<10))
		}
		return a
	case <-time.After(Patience):
		c.TB.Fatalf("no answer within %v; the log:\n%s", Patience, Tail(c.Log.String(), 8<<10))
	}
	return Answer{}
}

// NextResult returns the next line, which must be the answer to id and a tool's result.
func (c *Conversation) NextResult(id string) Result {
	c.TB.Helper()
	a := c.Next()
	if string(a.ID) != id {
		c.TB.Fatalf("got %s, want the answer to %s", Tail(string(a.Line), 1024), id)
	}
	return a.ToolResult(c.TB)
}

// ToolResult reads a tool's result.
func (a Answer) ToolResult(tb testing.TB) Result {
	tb.Helper()
	if a.Error != nil || len(a.Result.Content) != 1 {
		tb.Fatalf("got %s, want a tool's result", Tail(string(a.Line), 1024))
	}
	r := Result{Text: a.Result.Content[0].Text}
	if err := json.Unmarshal([]byte(r.Text), &r); err != nil {
		tb.Fatalf("the result %q: %v", r.Text, err)
	}
	return r
}

// Open opens a session on s.
func (c *Conversation) Open(s *SSHD) string {
	c.TB.Helper()
	r := c.NextResult(c.Ask(ToolSession, fmt.Sprintf(OpenSSH, fmt.Sprint(s.Port), "%s"), s.User))
	if r.State != "open" {
		c.TB.Fatalf("open: %s", r.Text)
	}
	return r.SessionID
}

// Drain closes the input and returns the answers that still come, by id.
func (c *Conversation) Drain() map[string]Answer {
	c.TB.Helper()
	c.Stdin.Close()
	rest := make(map[string]Answer)
	for a := range c.answers {
		rest[string(a.ID)] = a
	}
	c.CheckEnd()
	return rest
}
