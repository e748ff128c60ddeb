package integration

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"ptyctl/internal/leaktest"
)

// confide registers what a tool is told in confidence: every text in auth but the method's name, the data of sensitive
// writes, answers to a login's questions. It returns the session that the call names. What else is typed is no secret,
// and its echo may be shown.
func (p *program) confide(arguments string) (session string) {
	p.t.Helper()
	var call struct {
		Session   string          `json:"session_id"`
		Auth      json.RawMessage `json:"auth"`
		Data      json.RawMessage `json:"data"`
		Encoding  json.RawMessage `json:"encoding"`
		Sensitive json.RawMessage `json:"sensitive"`
	}
	// What is wrong with the arguments is for ptyctl to say.
	_ = json.Unmarshal([]byte(arguments), &call)
	var auth map[string]any
	_ = json.Unmarshal(call.Auth, &auth)
	for name, value := range auth {
		if text, ok := value.(string); ok && name != "method" {
			leaktest.Auth(p.t, text, "", "")
		}
	}
	p.mu.Lock()
	asked := p.asked[call.Session]
	p.mu.Unlock()
	var data string
	_ = json.Unmarshal(call.Data, &data)
	if string(call.Encoding) == `"base64"` {
		decoded, _ := base64.StdEncoding.DecodeString(data)
		data = string(decoded)
	}
	if asked || string(call.Sensitive) == "true" {
		leaktest.Typed(p.t, strings.TrimRight(data, "\r\n"))
	}
	return call.Session
}

// noteQuestion notes whether the login of a session waits for an answer, as a result says.
func (p *program) noteQuestion(session string, r result) {
	if r.State == "" || session == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		p.asked = make(map[string]bool)
	}
	p.asked[session] = r.State == "authenticating"
}
