package httpserve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ptyctl/mcpapi/httpserve"
)

// batchOf returns messages as one.
func batchOf(messages ...string) string { return "[" + strings.Join(messages, ",\n") + "]" }

func toolCall(id, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}`, id, params)
}

// batch sends messages as one and returns the answers by their ids.
func (a agent) batch(messages ...string) (answers map[string]reply) {
	a.t.Helper()
	r := a.post(batchOf(messages...))
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(r.text), &list); r.status != http.StatusOK || err != nil ||
		r.header.Get("Content-Type") != "application/json" {
		a.t.Fatalf("answer to a batch = %d %s %s, want an array", r.status, r.header.Get("Content-Type"), r.text)
	}
	answers = make(map[string]reply)
	for _, text := range list {
		one := reply{text: string(text)}
		if err := json.Unmarshal(text, &one); err != nil {
			a.t.Fatal(err)
		}
		if fmt.Sprint(one.ID) == "<nil>" {
			one.ID = fmt.Sprint("null ", len(answers))
		}
		answers[fmt.Sprint(one.ID)] = one
	}
	return answers
}

// In the revision that has batches, their answers are one array.
func TestBatch(t *testing.T) {
	s := newSite(t, httpserve.Options{Tokens: allTokens})
	talkative(s, 3)
	a := s.initialize(writeToken, "2025-03-26")
	const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	for _, open := range []string{"first", "direct"} { // the second calls bypass mcp-go's handler
		answers := a.batch(listTools, initialized,
			toolCall(`"o"`, calling("ptyctl_session", `{"action":"open","protocol":"ssh","host":"echo"}`)),
			toolCall("9007199254740993", `{"_meta":{"progressToken":"t"},"name":"talk","arguments":{}}`),
			toolCall("4", calling("none", `{}`)), `7`, `[]`,
			`{"jsonrpc":"2.0","id":5,"method":"initialize","params":{}}`,
			`{"jsonrpc":"2.0","id":6,"method":"subscriptions/listen","params":{`+modernMeta+`}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{`+modernMeta+`}}`)
		if len(answers) != 9 {
			t.Errorf("%d answers, want 9: %v", len(answers), answers)
		}
		if r := a.result(answers["o"]); r.SessionID == "" {
			t.Errorf("%s open = %s, want a session", open, r.text)
		}
		if r := answers["1"]; r.Error != nil || !strings.Contains(r.text, "ptyctl_session_io") {
			t.Errorf("tools/list = %s, want the tools", r.text)
		}
		talk := answers["9.007199254740992e+15"]
		if talk.Error != nil || !strings.Contains(talk.text, `"id":9007199254740993,`) ||
			strings.Contains(talk.text, "progress") {
			t.Errorf("a call that reports progress = %s, want its answer alone", talk.text)
		}
		for id, advice := range map[string]string{
			"4": "tool 'none' not found", "5": "initialize must not be part of a batch", "6": "subscriptions/listen must not",
			"7": "2026-07-28 must not be part of a batch",
		} {
			if r := answers[id]; r.Error == nil || !strings.Contains(r.Error.Message, advice) {
				t.Errorf("answer to %s = %s, want an error that says %q", id, r.text, advice)
			}
		}
	}
	if r := a.post(batchOf(initialized, initialized)); r.status != http.StatusAccepted || r.text != "" {
		t.Errorf("a batch of notifications = %d %s, want it accepted", r.status, r.text)
	}
	s.refused(a.post(`[]`), http.StatusBadRequest, "empty")
	r := a.post(batchOf(listTools, `{`))
	s.refused(r, http.StatusBadRequest, "valid JSON")
	if r.Error != nil && r.Error.Code != -32700 {
		t.Errorf("code of a broken batch = %d, want -32700", r.Error.Code)
	}
	if r := a.ask("tools/list", ""); r.status != http.StatusOK {
		t.Errorf("request after the batches = %d %s, want success", r.status, r.text)
	}
}

// Writes into one terminal are typed in the order in which the batch has them.
func TestBatchInOrder(t *testing.T) {
	s := newSite(t, httpserve.Options{Tokens: allTokens})
	a := s.initialize(writeToken, "2025-03-26")
	opened := a.result(a.batch(toolCall("1", calling("ptyctl_session", `{"action":"open","protocol":"ssh","host":"echo"}`)))["1"])
	var want strings.Builder
	for round := range 10 {
		var writes []string
		for i := range 20 {
			text := fmt.Sprintf("%d.%d ", round, i)
			want.WriteString(text)
			writes = append(writes, toolCall(fmt.Sprint(i), calling("ptyctl_session_io",
				fmt.Sprintf(`{"action":"write","session_id":%q,"data":%q}`, opened.SessionID, text))))
		}
		a.batch(writes...)
	}
	read := a.result(a.batch(toolCall("1", calling("ptyctl_session_io", fmt.Sprintf(
		`{"action":"read","session_id":%q,"cursor":"0","until_regex":"9[.]19 ","timeout_ms":20000}`, opened.SessionID))))["1"])
	if !strings.Contains(read.text, want.String()) {
		t.Errorf("the terminal has %q, want %q", read.text, want.String())
	}
}

// A batch gets no client more than its messages would by themselves.
func TestBatchIsBounded(t *testing.T) {
	s := newSite(t, httpserve.Options{Tokens: allTokens, MaxCalls: 12, RateLimit: 1, Isolate: true})
	reader, other := s.initialize(readToken, "2025-03-26"), s.initialize(otherToken, "2025-03-26")
	write := toolCall("1", calling("ptyctl_session", `{"action":"open","protocol":"ssh","host":"echo"}`))
	if r := reader.result(reader.batch(write)["1"]); r.ErrorCode != "POLICY_DENIED" {
		t.Errorf("open with a token to read = %s, want POLICY_DENIED", r.text)
	}
	forged := other
	forged.session = reader.session
	s.refused(forged.post(batchOf(listTools)), http.StatusNotFound, "no such MCP session")
	many := make([]string, 13)
	for i := range many {
		many[i] = strings.Replace(listTools, `"id":1`, fmt.Sprintf(`"id":%d`, i), 1)
	}
	s.refused(other.post(batchOf(many...)), http.StatusBadRequest, "at most 12 messages")
	refused := 0
	for _, r := range other.batch(many[:12]...) {
		if r.Error != nil && strings.Contains(r.Error.Message, "server.http.rate_limit") {
			refused++
		}
	}
	if refused < 4 { // of 5 in a burst, all have been counted
		t.Errorf("%d of 12 messages were over the rate limit, want at least 4", refused)
	}
}

// Other revisions have no batches: the error names the one that has, and the one in effect.
func TestBatchOfOtherRevisions(t *testing.T) {
	s := newSite(t, httpserve.Options{})
	for _, revision := range []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"} {
		a := s.modern("")
		if revision != "2026-07-28" {
			a = s.initialize("", revision)
		}
		r := a.post(batchOf(listTools))
		s.refused(r, http.StatusBadRequest,
			"batches exist only in protocol revision 2025-03-26, and the one in effect is "+revision)
		if r.Error != nil && (r.Error.Code != -32600 || r.ID != nil) {
			t.Errorf("%s: %s, want code -32600 and no id", revision, r.text)
		}
	}
}
