package lab

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/term"
)

// OpenTelnet opens a session on a server and returns its id. more is a list of members that begins with a comma, or
// nothing.
func (c Tools) OpenTelnet(tb testing.TB, s *TelnetServer, more string) (id string, opened Result) {
	tb.Helper()
	r := c.Call(
		tb,
		ToolSession,
		fmt.Sprintf(`{"action":"open","protocol":"telnet","host":%q,"port":%d%s}`, s.host(), s.Port, more),
	)
	if r.State != "open" || r.SessionID == "" || r.Cursor != "0" {
		tb.Fatalf("open: %s", r.Text)
	}
	return r.SessionID, r
}

// LoginTelnet answers the server's questions, reading from the first byte on.
func (c Tools) LoginTelnet(tb testing.TB, s *TelnetServer, id string) {
	tb.Helper()
	cursor := "0"
	for _, step := range []struct{ asked, answer string }{{s.Login, s.User}, {`Password: $`, s.Password}} {
		if step.answer == "" {
			continue
		}
		r := c.Call(
			tb,
			ToolIO,
			`{"action":"read","session_id":%s,"cursor":%s,"until_regex":%s,"timeout_ms":50000}`,
			id,
			cursor,
			step.asked,
		)
		if !r.Matched {
			tb.Fatalf("%s does not ask %s: %s", s.Name, step.asked, r.Text)
		}
		cursor = r.NextCursor
		c.Call(
			tb,
			ToolIO,
			`{"action":"write","session_id":%s,"data":%s,"sensitive":%s}`,
			id,
			step.answer+"\r",
			step.answer == s.Password,
		)
	}
	r := c.Call(
		tb,
		ToolIO,
		`{"action":"read","session_id":%s,"cursor":%s,"until_regex":%s,"timeout_ms":50000}`,
		id,
		cursor,
		s.Prompt,
	)
	if !r.Matched || strings.Contains(r.Chunk, s.Password) {
		tb.Fatalf("no prompt of %s: %s", s.Name, r.Text)
	}
}

// Target is the server for a client that has no wishes.
func (s *TelnetServer) Target() term.Target {
	return term.Target{Protocol: "telnet", Host: s.host(), Port: s.Port}
}
