package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/cluster/internal/natstest"
)

// say calls a tool that may give a result of any form, and returns the text of the result. It replaces each % in the
// arguments with the id.
func (c *caller) say(tool, arguments, id string) (text string, failed bool) {
	c.tb.Helper()
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = tool, json.RawMessage(strings.ReplaceAll(arguments, "%", id))
	answer, err := c.client.CallTool(c.tb.Context(), r)
	if err != nil || len(answer.Content) != 1 {
		c.tb.Fatalf("%s %s: %+v, %v; the node has logged:\n%s", tool, arguments, answer, err, c.log)
	}
	return answer.Content[0].(mcp.TextContent).Text, answer.IsError
}

// says calls a tool until its result has a text, as a program takes a while to print something.
func (c *caller) says(tool, arguments, id, want string) {
	c.tb.Helper()
	text, failed := "", false
	natstest.Eventually(c.tb, fmt.Sprintf("%s %s says %s", tool, arguments, want), func() bool {
		text, failed = c.say(tool, arguments, id)
		return !failed && strings.Contains(text, want)
	})
}

// A setTest is a session of one tool set: opened at one node while another has it, used through two, and closed.
type setTest struct {
	sets, tool, open string
	id               *regexp.Regexp // in the result of open
	steps            []setStep      // at b and c in turn
	end              setStep
	read             setStep // also the answer to a caller that may not know of the session
	list             setStep // the words about a node that does not answer; without a tool: no list
	lost             string  // the answer to read when the node is gone
}

type setStep struct{ tool, arguments, want string }

var setTests = map[string]setTest{
	"pty": {
		sets: `"core","pty"`, tool: "pty_spawn", open: `{"command":"cat","title":"mine"}`,
		id: regexp.MustCompile(`\nID: (pty_[0-9a-f]{8}@a)\n`),
		steps: []setStep{
			{"pty_write", `{"id":"%","data":"typed\\n"}`, "Success: %"},
			{"pty_read", `{"id":"%","pattern":"^typed$"}`, "\n00002| typed\n"},
			{"pty_list", `{}`, "[%] mine\n"},
			{"pty_list", `{}`, "Total: 1 session(s)"},
		},
		end:  setStep{"pty_kill", `{"id":"%"}`, "Killed: % (session retained for log access)"},
		read: setStep{"pty_read", `{"id":"%"}`, "Error: PTY session not found: %"},
		list: setStep{"pty_list", `{}`, "<pty_list>\n(Node a has not answered: its sessions are missing here)\nNo PTY sessions found.\n</pty_list>"},
		lost: "Error: node a ",
	},
	"k_pty": {
		sets: `"core","k_pty"`, tool: "k_pty", open: `{"action":"spawn","shell":"/bin/sh"}`,
		id: regexp.MustCompile(`"session_id":"(sh-[a-z2-7]{8}@a)"`),
		steps: []setStep{
			{"k_pty", `{"action":"run","session_id":"%","command":"echo $((6*7)); (exit 3)"}`, `"output":"42\n","truncated":false,"exit_code":3`},
			{"k_pty", `{"action":"write","session_id":"%","data":"echo typ''ed\r"}`, `"bytes_written":13`},
			// Each byte once, whichever node it is read through.
			{"k_pty", `{"action":"read","session_id":"%"}`, `typed\n`},
			{"k_pty", `{"action":"read","session_id":"%","timeout_ms":0}`, `"timed_out":true`},
			{"k_pty", `{"action":"list"}`, `"session_id":"%"`},
		},
		end:  setStep{"k_pty", `{"action":"kill","session_id":"%"}`, `"ok":true`},
		read: setStep{"k_pty", `{"action":"read","session_id":"%"}`, `"error_code":"PTY_SESSION_NOT_FOUND"`},
		list: setStep{"k_pty", `{"action":"list"}`, `{"ok":true,"sessions":[],"unanswered_nodes":["a"]}`},
		lost: `{"ok":false,"error_code":"PTY_READ_FAILED","message":"node a `,
	},
	"aiterm": {
		sets: `"core","aiterm"`, tool: "pty_open",
		open: `{"argv":["sh","-c","trap 'exit 7' INT; echo up; while :; do sleep 0.1; done"],"env":{"PATH":"/usr/bin:/bin"}}`,
		id:   regexp.MustCompile(`"id":"(sh-[a-z2-7]{8}@a)"`),
		steps: []setStep{
			{"pty_read", `{"id":"%","timeout_ms":10000}`, `"chunks":[{"seq":1,`},
			{"pty_send", `{"id":"%","data":"` + base64.StdEncoding.EncodeToString([]byte("x\r")) + `"}`, `"bytes_written":2`},
			{"pty_resize", `{"id":"%","rows":50,"cols":200}`, `"correlation_id":"call-`},
			{"pty_read", `{"id":"%"}`, `"chunks":[{"seq":1,`},
			{"pty_signal", `{"id":"%","signal":"INT"}`, `"correlation_id":"call-`},
			{"pty_read", `{"id":"%"}`, `"closed":true`},
		},
		end:  setStep{"pty_close", `{"id":"%"}`, `"rc":7`},
		read: setStep{"pty_read", `{"id":"%"}`, `{"code":"ENOTFOUND","message":"no terminal \"%\"`},
		lost: `{"code":"EIO","message":"node a `,
	},
	"r2": {
		sets: `"core","r2"`, tool: "r2_open", open: `{"file":"sample"}`,
		id: regexp.MustCompile(`"session_id":"([a-z0-9.-]+@a)"`),
		steps: []setStep{
			{"r2_cmd", `{"session_id":"%","cmd":"say here"}`, `"output":"here\n"`},
			{"r2_cmdj", `{"session_id":"%","cmd":"ij"}`, `"json":{"argv":["-q0"`},
		},
		end:  setStep{"r2_close", `{"session_id":"%"}`, `"session_id":"%"`},
		read: setStep{"r2_cmd", `{"session_id":"%"}`, `"error_code":"NOT_FOUND"`},
		lost: `{"error_code":"NODE_`,
	},
}

// TestSets: the sessions of each tool set can be used at any node as at their own. Other callers do not know of them,
// and when their node is gone the set says so in its own form.
func TestSets(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range setTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := natstest.Start(t, 1)[0].URL
			conf := fmt.Sprintf("[server]\ntoolsets = [%s]\n[toolsets.r2]\nprogram = %q\n", test.sets, self)
			a := serve(t, conf+httpLines(t, "a", url))
			all := []*served{a, serve(t, conf+httpLines(t, "b", url, entry)), serve(t, conf+httpLines(t, "c", url, entry))}
			ops, other := make([]*caller, len(all)), make([]*caller, len(all))
			for i, n := range all {
				ops[i], other[i] = n.dial(t, opsToken), n.dial(t, otherToken)
			}
			begin := func(at *caller) (id string) {
				t.Helper()
				text, failed := at.say(test.tool, test.open, "")
				found := test.id.FindStringSubmatch(text)
				if failed || found == nil {
					t.Fatalf("%s = %s, want an id like %v", test.tool, text, test.id)
				}
				return found[1]
			}
			id := begin(ops[1])
			want := func(s setStep) string { return strings.ReplaceAll(s.want, "%", id) }
			for i, s := range test.steps {
				ops[1+i%2].says(s.tool, s.arguments, id, want(s))
			}
			bare := strings.TrimSuffix(id, "@a")
			for i, c := range ops { // an id that was cut belongs to no session, and one with an unknown node says so
				if text, failed := c.say(test.read.tool, test.read.arguments, bare); !failed ||
					!strings.Contains(text, strings.ReplaceAll(test.read.want, "%", bare)) {
					t.Errorf("read of %s at %s = %s, want %s", bare, "abc"[i:i+1], text, test.read.want)
				}
				text, failed := c.say(test.read.tool, test.read.arguments, bare+"@d")
				if !failed || !strings.Contains(text, "node d ") || !strings.Contains(text, "nothing was done") {
					t.Errorf("read of %s at %s = %s, want that node d is away", bare+"@d", "abc"[i:i+1], text)
				}
			}
			for i, c := range other {
				if text, failed := c.say(test.read.tool, test.read.arguments, id); !failed || !strings.Contains(text, want(test.read)) {
					t.Errorf("another caller's read at %s = %s, want %s", "abc"[i:i+1], text, want(test.read))
				}
				if test.list.tool == "" {
					continue
				}
				if text, _ := c.say(test.list.tool, test.list.arguments, ""); strings.Contains(text, id) {
					t.Errorf("another caller's list at %s = %s", "abc"[i:i+1], text)
				}
			}
			ops[2].says(test.end.tool, test.end.arguments, id, want(test.end))

			id = begin(ops[0])
			first := test.steps[0]
			ops[1].says(first.tool, first.arguments, id, want(first))
			a.kill()
			for i, c := range ops[1:] {
				natstest.Eventually(t, "the error of a session that is lost", func() bool {
					text, failed := c.say(test.read.tool, test.read.arguments, id)
					if !failed || !strings.HasPrefix(text, test.lost) {
						t.Fatalf("read at %s after the kill = %s, want %s", "bc"[i:i+1], text, test.lost)
					}
					return strings.Contains(text, "nothing was done")
				})
				if text, failed := c.say(test.tool, test.open, ""); !failed || !strings.Contains(text, "nothing was done") {
					t.Errorf("%s at %s after the kill = %s, want that no node takes it", test.tool, "bc"[i:i+1], text)
				}
				if test.list.tool == "" {
					continue
				}
				if text, _ := c.say(test.list.tool, test.list.arguments, ""); text != test.list.want {
					t.Errorf("list at %s after the kill = %s, want %s", "bc"[i:i+1], text, test.list.want)
				}
			}
		})
	}
}
