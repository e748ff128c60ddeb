package daemon

import (
	"bytes"
	"encoding/json"
	"sync"

	"ptyctl/mcpapi/jsonrpc"
)

// A request is one of the client that has no answer yet.
type request struct {
	id   json.RawMessage
	call bool // of a tool
}

// pending has the requests without an answer: when the daemon is lost, they must get one.
type pending struct {
	mu   sync.Mutex // guards the following
	open map[string]request
	lost bool // the daemon has gone: no answer comes any more
}

// ask notes the requests of a line of the client, and returns those that must be answered here because the daemon is
// lost.
func (p *pending) ask(line []byte) (unanswered []request, lost bool) {
	asked, cancelled := requestsOf(line)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost {
		return asked, true
	}
	for _, r := range asked {
		if key, ok := jsonrpc.IDKey(r.id); ok {
			p.open[key] = r
		}
	}
	if cancelled != "" {
		delete(p.open, cancelled)
	}
	return nil, false
}

// settle notes the answers in a line of the daemon.
func (p *pending) settle(line []byte) {
	for _, id := range answersOf(line) {
		if key, ok := jsonrpc.IDKey(id); ok {
			p.mu.Lock()
			delete(p.open, key)
			p.mu.Unlock()
		}
	}
}

// lose returns the requests that will get no answer, and makes ask return all later ones.
func (p *pending) lose() []request {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = true
	all := make([]request, 0, len(p.open))
	for _, r := range p.open {
		all = append(all, r)
	}
	p.open = nil
	return all
}

// isLost reports whether lose was called.
func (p *pending) isLost() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// plainStart begins each answer of the daemon.
const plainStart = `{"jsonrpc":"2.0","id":`

// requestsOf returns the requests in a line of the client, and the key of a request that it cancels. It need not be
// valid: the daemon refuses it then.
func requestsOf(line []byte) (asked []request, cancelled string) {
	line = bytes.TrimLeft(line, jsonrpc.Space)
	if len(line) > 0 && line[0] == '[' && jsonrpc.Valid(line) {
		for _, e := range jsonrpc.Elements(line) {
			some, _ := requestsOf(e)
			asked = append(asked, some...)
		}
		return asked, ""
	}
	var f jsonrpc.IDFinder
	_, _ = f.Write(line) // it never fails
	if id := f.ID(); id != nil {
		return []request{{id, bytes.Contains(line, []byte(`"tools/call"`))}}, ""
	}
	if bytes.Contains(line, []byte(`"notifications/cancelled"`)) {
		var n struct {
			Params struct {
				ID json.RawMessage `json:"requestId"`
			} `json:"params"`
		}
		if json.Unmarshal(line, &n) == nil {
			cancelled, _ = jsonrpc.IDKey(n.Params.ID)
		}
	}
	return nil, cancelled
}

// answersOf returns the ids of the requests that a line of the daemon answers.
func answersOf(line []byte) []json.RawMessage {
	// Nearly every line: not read as a whole, because an answer may be long.
	if rest, ok := bytes.CutPrefix(line, []byte(plainStart)); ok {
		if n := idLength(rest); n > 0 {
			after := rest[n:]
			if bytes.HasPrefix(after, []byte(`,"result"`)) || bytes.HasPrefix(after, []byte(`,"error"`)) {
				return []json.RawMessage{rest[:n:n]}
			}
		}
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 || !jsonrpc.Valid(line) {
		return nil
	}
	switch line[0] {
	case '[':
		var ids []json.RawMessage
		for _, e := range jsonrpc.Elements(line) {
			ids = append(ids, answersOf(e)...)
		}
		return ids
	case '{':
		id, method := jsonrpc.Want{Name: "id"}, jsonrpc.Want{Name: "method"}
		if jsonrpc.Pick(line, &id, &method) == nil && method.Value == nil && id.Value != nil {
			return []json.RawMessage{id.Value}
		}
	}
	return nil
}

// idLength returns the length of the id that text begins with; 0: it is not complete.
func idLength(text []byte) int {
	if len(text) == 0 || text[0] != '"' {
		return max(bytes.IndexByte(text, ','), 0)
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}
