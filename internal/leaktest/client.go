package leaktest

import (
	"encoding/base64"
	"encoding/json"
	"sync"
	"testing"
)

// A Client registers what an MCP client tells the tools in confidence: every text in auth but the method's name, the data
// of sensitive writes, the answers to a login's questions. What else it types is no secret: its echo may be shown. Its
// zero value is ready, for any number of goroutines.
type Client struct {
	mu    sync.Mutex      // guards asked
	asked map[string]bool // the sessions whose login waits for an answer
}

// Call is to be called with the arguments of each call of a tool. It returns the session that they name.
func (c *Client) Call(tb testing.TB, arguments string) (session string) {
	tb.Helper()
	// Each member by itself, because a test may give any of them a wrong type: that is for the tool to refuse.
	var call map[string]json.RawMessage
	_ = json.Unmarshal([]byte(arguments), &call)
	var auth map[string]json.RawMessage
	_ = json.Unmarshal(call["auth"], &auth)
	for name, value := range auth {
		if name != "method" {
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

// Result is to be called with the result of each call of a tool, and the session that the call named.
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

// text is a JSON string's text, and "" of anything else.
func text(value json.RawMessage) string {
	var s string
	_ = json.Unmarshal(value, &s)
	return s
}
