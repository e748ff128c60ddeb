package leaktest

import (
	"encoding/base64"
	"encoding/json"
	"sync"
	"testing"
)

// A Client registers the secrets that an MCP client sends to the tools: every text in
// auth except the method's name, the data of sensitive writes, and the answers to a
// login's questions. Other input is not a secret, because its echo may be shown. The zero
// value is ready, for any number of goroutines.
type Client struct {
	mu    sync.Mutex      // guards asked
	asked map[string]bool // sessions with a login that waits for an answer
}

// Call must be called with the arguments of each tool call. It returns the session in
// them.
func (c *Client) Call(tb testing.TB, arguments string) (session string) {
	tb.Helper()
	// Each member is parsed separately, because a test may give any of them a wrong type.
	var call map[string]json.RawMessage
	_ = json.Unmarshal([]byte(arguments), &call)
	var auth map[string]json.RawMessage
	_ = json.Unmarshal(call["auth"], &auth)
	for name, value := range auth {
		if name != "method" && name != "secret" { // the name of one
			Auth(tb, text(value), "", "")
		}
	}
	session = text(call["session_id"])
	c.mu.Lock()
	asked := c.asked[session]
	c.mu.Unlock()
	if asked || string(call["sensitive"]) == "true" {
		data := text(call["data"])
		if text(call["encoding"]) == "base64" {
			decoded, _ := base64.StdEncoding.DecodeString(data)
			data = string(decoded)
		}
		Typed(tb, data)
	}
	return session
}

// Result must be called with the result of each tool call, and the session of the call.
func (c *Client) Result(session, result string) {
	var r struct {
		Session string `json:"session_id"`
		State   string `json:"state"`
		Prompt  struct {
			Kind string `json:"kind"`
		} `json:"prompt"`
	}
	if err := json.Unmarshal([]byte(result), &r); err != nil || r.State == "" {
		return
	}
	if r.Session != "" {
		session = r.Session
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		c.asked = make(map[string]bool)
	}
	c.asked[session] = r.State == "authenticating" && r.Prompt.Kind != "host_key"
}

// text returns the text of a JSON string, or "" for any other value.
func text(value json.RawMessage) string {
	var s string
	_ = json.Unmarshal(value, &s)
	return s
}
