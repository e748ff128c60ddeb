package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ptyctl/mcpapi/tools/files"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/session/output"
)

func TestHostMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, host string
		want          bool
	}{
		{"web1", "web1", true},
		{"WEB1", "web1", true},
		{"web", "web1", false},
		{"web1", "web1.example.net", false},
		{"web*", "web1", true},
		{"web*", "myweb1", false},
		{"*.example.net", "web1.example.net", true},
		{"*.example.net", "example.net", false},
		{"*web*", "myweb1", true},
		{"*web*", "mail", false},
		{"*", "anything", true},
		{"**", "anything", true},
		{"a*b", "axb", false},
		{"10.0.*", "10.0.3.4", true},
		{"*a", "a", true},
		{"a*", "a", true},
	} {
		if got := hostMatches(c.pattern, c.host); got != c.want {
			t.Errorf("%q and %q: %v", c.pattern, c.host, got)
		}
	}
}

func TestStreamOut(t *testing.T) {
	// More than the engine keeps of the start of a stream, so that a rune lies across the seam of its two parts.
	long := strings.Repeat("é", 40_000)
	tests := []struct {
		name     string
		in       session.Output
		text     string
		encoding string
		cut      *omitted
	}{
		{"nothing", session.Output{}, "", "", nil},
		{"text", session.Output{Head: []byte("abc"), Total: 3, TailStart: 3}, "abc", "", nil},
		{"in two parts", session.Output{Head: []byte("ab"), Tail: []byte("c"), Total: 3, TailStart: 2}, "abc", "", nil},
		{"a rune across the seam", session.Output{Head: []byte(long[:65_537]), Tail: []byte(long[65_537:]), Total: 80_000, TailStart: 65_537}, long, "", nil},
		{"cut", session.Output{Head: []byte("ab"), Tail: []byte("yz"), Total: 26, TailStart: 24}, "ab\n[... 22 bytes left out ...]\nyz", "", &omitted{At: 2, Bytes: 22, Cursor: "2"}},
		{"bytes", session.Output{Head: []byte("a\xff"), Total: 2, TailStart: 2}, "Yf8=", "base64", nil},
		{"bytes, cut", session.Output{Head: []byte("a\xff"), Tail: []byte("b"), Total: 9, TailStart: 8}, "Yf9i", "base64", &omitted{At: 2, Bytes: 6, Cursor: "2"}},
		{"NUL is text", session.Output{Head: []byte("a\x00"), Total: 2, TailStart: 2}, "a\x00", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, raw := range []bool{true, false} {
				text, encoding, cut, removed := streamOut(session.ExecResult{}, tt.in, raw)
				if text != tt.text || encoding != tt.encoding || !reflect.DeepEqual(cut, tt.cut) ||
					removed != (session.Sanitized{}) {
					t.Errorf("raw %v: got %.100q, %q, %+v, %+v; want %.100q, %q, %+v",
						raw, text, encoding, cut, removed, tt.text, tt.encoding, tt.cut)
				}
			}
		})
	}
}

// Bytes that are left out and no longer held are counted, in the text too.
func TestStreamOutLost(t *testing.T) {
	st := output.NewStream(1000, nil, nil)
	_, _ = st.Write(bytes.Repeat([]byte("a\n"), 50_000))
	o := st.Excerpt(20)
	text, _, cut, _ := streamOut(session.ExecResult{}, o, false)
	lost := 100_000 - 1000 - 64<<10
	want := fmt.Sprintf("a\na\na\na\na\n\n[... 99980 bytes left out, %d of them no longer held ...]\na\na\na\na\na\n", lost)
	if text != want || *cut != (omitted{At: 10, Bytes: 99_980, Lost: int64(lost), Cursor: "10"}) {
		t.Errorf("a long stream is %q, %+v; want %q, and %d lost", text, *cut, want, lost)
	}
	f := &session.Filtered{Text: []byte("a\n"), Matches: 3, Shown: 1, Full: true, Next: 70_000}
	if _, _, cut, _ = linesOut(f, o); cut.Lost != 99_000-70_000 {
		t.Errorf("after the lines that match %+v is left out, want %d lost", *cut, 99_000-70_000)
	}
}

func TestReach(t *testing.T) {
	for _, tt := range []struct{ wrote, same string }{
		{`"protocol":"ssh","host":"alice@web1:2222"`, `"protocol":"ssh","host":"web1","username":"alice","port":2222`},
		{`"host":"ssh://alice@web1"`, `"protocol":"ssh","host":"web1","username":"alice"`},
		{`"host":"telnet://sw1:2323"`, `"protocol":"telnet","host":"sw1","port":2323`},
		{`"protocol":"telnet","host":"telnet://sw1:23","port":23`, `"protocol":"telnet","host":"sw1","port":23`},
		{`"protocol":"ssh","host":"[::1]"`, `"protocol":"ssh","host":"::1"`},
		{`"protocol":"ssh","host":"[::1]:2222"`, `"protocol":"ssh","host":"::1","port":2222`},
		{`"protocol":"ssh","host":"alice@web1","username":"alice"`, `"protocol":"ssh","host":"web1","username":"alice"`},
	} {
		got, want := decoded(t, sessionTool, `{"action":"open",`+tt.wrote+`}`), decoded(t, sessionTool,
			`{"action":"open",`+tt.same+`}`)
		if err := got.(*sessionArgs).reach(sessionTool.Checker("open")); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %+v, %v, want that of %s", tt.wrote, got, err, tt.same)
		}
	}
	for wrote, part := range map[string]string{
		`"protocol":"ssh","host":"alice@web1","username":"bob"`: "host says username alice, and username says bob",
		`"protocol":"ssh","host":"web1:22","port":23`:           "host says port 22, and port says 23",
		`"protocol":"ssh","host":"telnet://sw1"`:                "host says protocol telnet, and protocol says ssh",
		`"protocol":"ssh","host":"web1:ssh"`:                    `its port is "ssh"`,
		`"protocol":"ssh","host":"ssh://alice:hunter2@web1"`:    "auth.password",
		`"protocol":"telnet","host":"admin:hunter2@sw1"`:        "holds a password",
		`"host":"web1"`: "protocol is missing",
	} {
		in := decoded(t, sessionTool, `{"action":"open",`+wrote+`}`).(*sessionArgs)
		err := in.reach(sessionTool.Checker("open"))
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want an error with %q", wrote, err, part)
		}
	}
}

// An unknown name is answered with the argument that is meant.
func TestInstead(t *testing.T) {
	for _, tt := range []struct {
		tool       *toolset.Tool
		args, part string
	}{
		{execTool, `{"session_id":"s","command":"ls"}`, "use cmd; "},
		{execTool, `{"sessionId":"s","cmd":"ls"}`, "use session_id; "},
		{execTool, `{"session":"s","cmd":"ls"}`, "use session_id; "},
		{execTool, `{"session_id":"s","cmd":"ls","timeout":30}`, "use timeout_ms (milliseconds); "},
		{execTool, `{"session_id":"s","cmd":"ls","workdir":"/"}`, "use cwd; "},
		{execTool, `{"session_id":"s","cmd":"ls","input":"x"}`, "use stdin; "},
		{execTool, `{"session_id":"s","cmd":"ls","profile":"frr"}`, "use expect.profile, a member of expect; "},
		{ioTool, `{"action":"write","session_id":"s","input":"x"}`, "use data; "},
		{ioTool, `{"action":"write","session_id":"s","text":"x"}`, "use data; "},
		{ioTool, `{"action":"read","session_id":"s","lines":5}`, "use max_lines; "},
		{ioTool, `{"action":"search","session_id":"s","query":"x"}`, "use pattern; "},
		{sessionTool, `{"action":"open","protocol":"ssh","hostname":"h"}`, "use host; "},
		{sessionTool, `{"action":"open","protocol":"ssh","host":"h","user":"u"}`, "use username; "},
		{sessionTool, `{"action":"open","protocol":"ssh","host":"h","usrename":"u"}`, "use username; "},
		{sessionTool, `{"action":"open","protocol":"ssh","host":"h","password":"x"}`, "use auth.password, a member of auth; "},
		{sessionTool, `{"action":"open","protocol":"ssh","host":"h","auth":{"user":"u"}}`, "use username, which is beside auth; "},
		{sessionTool, `{"action":"open","protocol":"ssh","host":"h","auth":{"pasword":"x"}}`, "use auth.password; "},
		{configTool, `{"action":"resize","session_id":"s","width":80,"rows":24}`, "use cols; "},
		{files.Tool, `{"action":"read","filename":"p"}`, "use path; "},
		{runTool, `{"command":"ls"}`, "use argv; "},
		{runTool, `{"argv":["ls"],"verbose":true}`, `"verbose" for ptyctl_run; it takes`},
	} {
		if err := decodeAny(tt.tool, json.RawMessage(tt.args)); err == nil || !strings.Contains(err.Error(), tt.part) {
			t.Errorf("%s %s: %v, want an error with %q", tt.tool.Name, tt.args, err, tt.part)
		}
	}
}

func TestChangesShell(t *testing.T) {
	for line, want := range map[string]string{
		"cd /tmp": "cd", " cd": "cd", "cd /tmp && export A=b": "cd", "export A='b; c'": "export", ". ~/.profile": ".",
		"source venv/bin/activate": "source", "alias ll='ls -l'": "alias", "set -e": "set", "umask 022": "umask",
		"ulimit -n 4096": "ulimit", "A=b": "A=b", "cd /tmp\nexport A=b\n": "cd", "pushd /": "pushd",
		"cd /tmp && ls": "", "cd /tmp; pwd": "", "export": "", "export -p": "", "alias": "", "set": "", "set -o": "",
		"umask": "", "ulimit -a": "", "ulimit -n": "", "A=b env": "", "cdrecord": "", "ls": "", "": "",
		"cd $(mktemp -d) | cat": "", "export A=$(cat f)": "", "source f > log": "",
	} {
		if got := changesShell(line); got != want {
			t.Errorf("changesShell(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestWantsTerminal(t *testing.T) {
	for text, want := range map[string]bool{
		"sudo: a terminal is required to read the password; either use the -S option": true,
		"su: must be run from a terminal":                                             true, "the input device is not a TTY": true, "not a tty\n": true,
		"Pseudo-terminal will not be allocated because stdin is not a terminal.": true,
		"passwd: Authentication token manipulation error":                        true, "top: failed tty get": true,
		"TERM environment variable not set.": true, "Error opening terminal: unknown.": true,
		"open: /dev/tty: No such device or address": true, "sudo: sorry, you must have a tty to run sudo": true,
		"no such file": false, "terminal": false, "cat: /dev/ttyUSB0: No such file": false, "pretty": false,
	} {
		if got := wantsTerminal(session.ExecResult{Stderr: session.Output{
			Head: []byte(text), Total: int64(len(text)),
			TailStart: int64(len(text)),
		}}); got != want {
			t.Errorf("wantsTerminal(%q) = %v, want %v", text, got, want)
		}
	}
}
