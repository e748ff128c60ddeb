package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"
)

// A conversation is a client that sends what it likes: lines of text.
type conversation struct {
	*program
	t       testing.TB
	hello   []byte      // the answer to initialize
	answers chan answer // closed at the end of the output
	lastID  int
}

// An answer is one line of the program's.
type answer struct {
	line  []byte
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

// converse starts ptyctl and shakes hands with it.
func (h *home) converse(tb testing.TB, args ...string) *conversation {
	tb.Helper()
	c := &conversation{program: h.start(tb, args...), t: tb, answers: make(chan answer, 1024)}
	go func() { // ends with the output
		defer close(c.answers)
		lines := bufio.NewReader(c.stdout)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			a := answer{line: line}
			if err := json.Unmarshal(line, &a); err == nil { // checkJSONRPC reports what is no message
				c.answers <- a
			}
		}
	}()
	c.send(
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"integration","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n",
	)
	a := c.next()
	if a.Error != nil || string(a.ID) != "0" {
		tb.Fatalf("the handshake failed: %s", a.line)
	}
	c.hello = a.line
	return c
}

// send writes text as it is.
func (c *conversation) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.stdin, text); err != nil {
		c.t.Fatalf("ptyctl reads no more: %v", err)
	}
}

// request returns the line, without its end, that calls a tool, and the id of its answer. Each %s in arguments stands
// for one of values, as JSON.
func (c *conversation) request(tool, arguments string, values ...string) (line, id string) {
	encoded := make([]any, len(values))
	for i, v := range values {
		encoded[i] = fmt.Sprintf("%q", v)
	}
	c.told.Call(c.t, fmt.Sprintf(arguments, encoded...))
	c.lastID++
	id = fmt.Sprint(c.lastID)
	return fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
		id,
		tool,
		fmt.Sprintf(arguments, encoded...),
	), id
}

// ask sends a call and returns the id of its answer.
func (c *conversation) ask(tool, arguments string, values ...string) string {
	c.t.Helper()
	line, id := c.request(tool, arguments, values...)
	c.send(line + "\n")
	return id
}

// next returns the next line.
func (c *conversation) next() answer {
	c.t.Helper()
	select {
	case a, ok := <-c.answers:
		if !ok {
			<-c.ended
			c.t.Fatalf("the output ended (%v); the log:\n%s", c.status, tail(c.log.String(), 8<<10))
		}
		return a
	case <-time.After(patience):
		c.t.Fatalf("no answer within %v; the log:\n%s", patience, tail(c.log.String(), 8<<10))
	}
	return answer{}
}

// nextResult returns the next line, which must be the answer to id and a tool's result.
func (c *conversation) nextResult(id string) result {
	c.t.Helper()
	a := c.next()
	if string(a.ID) != id {
		c.t.Fatalf("got %s, want the answer to %s", tail(string(a.line), 1024), id)
	}
	return a.result(c.t)
}

// result reads a tool's result.
func (a answer) result(tb testing.TB) result {
	tb.Helper()
	if a.Error != nil || len(a.Result.Content) != 1 {
		tb.Fatalf("got %s, want a tool's result", tail(string(a.line), 1024))
	}
	r := result{text: a.Result.Content[0].Text}
	if err := json.Unmarshal([]byte(r.text), &r); err != nil {
		tb.Fatalf("the result %q: %v", r.text, err)
	}
	return r
}

// open opens a session on s.
func (c *conversation) open(s *sshd) string {
	c.t.Helper()
	r := c.nextResult(c.ask(toolSession, fmt.Sprintf(openSSH, fmt.Sprint(s.port), "%s"), s.user))
	if r.State != "open" {
		c.t.Fatalf("open: %s", r.text)
	}
	return r.SessionID
}

// drain closes the input and returns the answers that still come, by id.
func (c *conversation) drain() map[string]answer {
	c.t.Helper()
	c.stdin.Close()
	rest := make(map[string]answer)
	for a := range c.answers {
		rest[string(a.ID)] = a
	}
	c.checkEnd()
	return rest
}
