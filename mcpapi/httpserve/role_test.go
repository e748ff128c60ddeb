package httpserve_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ptyctl/mcpapi/httpserve"
	"ptyctl/term"
)

// Calls that type or change something.
var typing = map[string][]string{
	"ptyctl_session": {
		`{"action":"open","protocol":"ssh","host":"echo"}`, `{"action":"close","session_id":"$S"}`, `{"action":"lock","session_id":"$S","task_id":"t"}`,
		`{"action":"unlock","session_id":"$S","task_id":"t"}`, `{"action":"heartbeat","session_id":"$S","task_id":"t"}`, `{"action":"signal","session_id":"$S","signal":"INT"}`,
	},
	"ptyctl_session_exec": {
		`{"session_id":"$S","cmd":"true"}`, `{"session_id":"$S","exec_id":"e1"}`,
		`{"session_id":"$S","exec_id":"e1","cancel":true}`,
	},
	"ptyctl_session_io": {
		`{"action":"write","session_id":"$S","data":"x"}`,
		`{"action":"write","session_id":"$S","key":"ctrl_c"}`,
	},
	"ptyctl_session_config": {
		`{"action":"resize","session_id":"$S","cols":80,"rows":24}`,
		`{"action":"expect","session_id":"$S","expect":{"profile":"posix"}}`,
	},
}

// Calls that only read.
var looking = map[string][]string{
	"ptyctl_session": {
		`{"action":"list"}`, `{"action":"status","session_id":"$S"}`,
		`{"action":"wait","on":[{"session_id":"$S","cursor":"0"}],"timeout_ms":0}`,
	},
	"ptyctl_session_io": {
		`{"action":"read","session_id":"$S","cursor":"0","timeout_ms":0}`,
		`{"action":"search","session_id":"$S","pattern":"x"}`,
	},
	"ptyctl_session_config": {`{"action":"get","session_id":"$S"}`},
}

// The role read sees the tools that read and can call nothing else, in every revision.
func TestRoleRead(t *testing.T) {
	var seen diary
	s := newSite(t, httpserve.Options{Tokens: allTokens}, &seen)
	id := s.initialize(writeToken, latest).open()
	for name, a := range map[string]agent{"legacy": s.initialize(readToken, latest), "modern": s.modern(readToken)} {
		t.Run(name, func(t *testing.T) {
			var list struct {
				Tools []struct {
					Name        string
					InputSchema struct {
						Properties map[string]struct{ Enum []string }
					}
					OutputSchema json.RawMessage
					Annotations  struct{ ReadOnlyHint *bool }
				}
			}
			r := a.ask("tools/list", "")
			if err := json.Unmarshal(r.Result, &list); err != nil {
				t.Fatal(err)
			}
			actions := make(map[string][]string)
			for _, tool := range list.Tools {
				actions[tool.Name] = tool.InputSchema.Properties["action"].Enum
				if h := tool.Annotations; h.ReadOnlyHint == nil || !*h.ReadOnlyHint {
					t.Errorf("hints of %s = %+v, want read-only", tool.Name, h)
				}
				if tool.OutputSchema == nil {
					t.Errorf("%s has no output schema, want one", tool.Name)
				}
			}
			for tool, want := range map[string][]string{"ptyctl_session": {"list", "status", "wait"}, "ptyctl_session_io": {
				"read",
				"search",
			}, "ptyctl_session_config": {"get"}} {
				if !slices.Equal(actions[tool], want) {
					t.Errorf("%s offers %v, want %v", tool, actions[tool], want)
				}
			}
			if len(list.Tools) != 4 { // including health
				t.Errorf("tools for the role read = %d, want 4", len(list.Tools))
			}
			for _, word := range []string{"password", "write", "ptyctl_session_exec"} {
				if strings.Contains(string(r.Result), word) {
					t.Errorf("the list mentions %s: %s; want no word about typing", word, r.Result)
				}
			}
			for tool, calls := range looking {
				for _, args := range calls {
					if r := a.call(tool, strings.ReplaceAll(args, "$S", id)); r.ErrorCode != "" {
						t.Errorf("call %s %s = %s, want success", tool, args, r.text)
					}
				}
			}
			for tool, calls := range typing {
				for _, args := range calls {
					if r := a.call(tool, strings.ReplaceAll(args, "$S", id)); r.ErrorCode != "POLICY_DENIED" ||
						!strings.Contains(r.Message, "the token reader has the role read") {
						t.Errorf("call %s %s = %s, want POLICY_DENIED", tool, args, r.text)
					}
				}
			}
		})
	}
	if e := seen.of(term.VerbExec); e.Actor.Token != "reader" || e.Session != id ||
		term.KindOf(e.Refused) != term.PolicyDenied {
		t.Errorf("event of the refused exec = %+v, want a refusal with the token", e)
	}
	var all struct{ Tools []json.RawMessage }
	if r := s.initialize(writeToken, latest).ask("tools/list", ""); json.Unmarshal(r.Result, &all) != nil ||
		len(all.Tools) != 5 {
		t.Errorf("tools for the role write = %d, want all", len(all.Tools))
	}
}

// A read-only handler is read-only for every token. The server behind it may also have
// handlers that are not.
func TestReadOnly(t *testing.T) {
	s := newSite(t, httpserve.Options{Tokens: allTokens, ReadOnly: true, Transport: "socket"})
	if r := s.initialize(writeToken, latest).call("ptyctl_session",
		`{"action":"open","protocol":"ssh","host":"echo"}`); r.ErrorCode != "POLICY_DENIED" {
		t.Errorf("open = %s, want a refusal", r.text)
	}
	ln, err := httpserve.Listen("127.0.0.1:0", true)
	if err != nil {
		t.Fatal(err)
	}
	open := httpserve.New(s.mcp, httpserve.Options{})
	defer open.Close()
	ln.Close()
}

// Isolated tokens do not learn about each other's sessions from any call.
func TestIsolate(t *testing.T) {
	s := newSite(t, httpserve.Options{Tokens: allTokens, Isolate: true})
	mine, theirs := s.initialize(writeToken, latest), s.initialize(otherToken, latest)
	id := mine.open()
	theirs.open()

	missing := theirs.call("ptyctl_session", `{"action":"status","session_id":"echo-nothere1"}`)
	for _, calls := range []map[string][]string{looking, typing} {
		for tool, list := range calls {
			for _, args := range list {
				if !strings.Contains(args, "$S") {
					continue
				}
				r := theirs.call(tool, strings.ReplaceAll(args, "$S", id))
				message := strings.TrimPrefix(strings.ReplaceAll(r.Message, id, "echo-nothere1"), "on[0].session_id: ")
				if r.ErrorCode != "NOT_FOUND" || message != missing.Message {
					t.Errorf("call %s %s = %s, want NOT_FOUND", tool, args, r.text)
				}
			}
		}
	}
	for _, a := range []agent{mine, theirs} {
		if r := a.call("ptyctl_session", `{"action":"list"}`); r.Count != 1 {
			t.Errorf("list = %s, want no foreign session", r.text)
		}
	}
	if r := mine.call("ptyctl_session", `{"action":"status","session_id":"`+id+`"}`); r.ErrorCode != "" {
		t.Errorf("read of the token's own session = %s, want success", r.text)
	}

	// Another connection with the same token sees the same sessions, because they do not
	// depend on an MCP session.
	if r := s.modern(writeToken).call("ptyctl_session", `{"action":"status","session_id":"`+id+`"}`); r.ErrorCode != "" {
		t.Errorf("read on another connection = %s, want success", r.text)
	}

	// A request_id belongs to its token, too: it never returns the result of another token's
	// call.
	const same = `{"action":"open","protocol":"ssh","host":"echo","request_id":"r1"}`
	first, again, other := mine.call(
		"ptyctl_session",
		same,
	), mine.call(
		"ptyctl_session",
		same,
	), theirs.call(
		"ptyctl_session",
		same,
	)
	if first.SessionID != again.SessionID || other.SessionID == first.SessionID {
		t.Errorf("open = %s, repeated %s, by another token %s; want the same only for the first two", first.SessionID,
			again.SessionID, other.SessionID)
	}

	const console = `{"action":"open","protocol":"ssh","host":"echo","session_type":"console","device_id":"router-1"}`
	if r := mine.call("ptyctl_session", console); r.ErrorCode != "" {
		t.Fatalf("open of a console = %s, want success", r.text)
	}
	if r := mine.call("ptyctl_session", console); r.Existing == "" {
		t.Errorf("second open of the token's own console = %s, want its session", r.text)
	}
	if r := theirs.call("ptyctl_session", console); r.ErrorCode != "LOCKED" || r.SessionID != "" ||
		strings.Contains(r.text, "writer") {
		t.Errorf("open of another token's console = %s, want a refusal without its session", r.text)
	}
}

// Without isolation all tokens see the same sessions.
func TestTokensShareSessions(t *testing.T) {
	s := newSite(t, httpserve.Options{Tokens: allTokens})
	id := s.initialize(writeToken, latest).open()
	if r := s.initialize(otherToken, latest).call("ptyctl_session_io",
		`{"action":"write","session_id":"`+id+`","data":"x","until_regex":"x"}`); r.Chunk != "x" {
		t.Errorf("write to another token's session = %s, want success", r.text)
	}
}
