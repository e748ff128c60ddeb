package tools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools/files"
	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
)

func TestDecodeRefuses(t *testing.T) {
	open := func(more string) string {
		return `{"action":"open","protocol":"ssh","host":"h"` + more + `}`
	}
	io := func(more string) string { return `{"action":"write","session_id":"s"` + more + `}` }
	tests := []struct {
		name  string
		tool  *toolset.Tool
		args  string
		kind  term.Kind // empty: INVALID_ARGUMENT
		field string
		parts []string // of the message
	}{
		{"no arguments", sessionTool, ``, "", "action", []string{"action is missing", "open, close, list"}},
		{"no arguments, no actions", runTool, ``, "", "argv", []string{"argv is missing for ptyctl_run"}},
		{"null", sessionTool, `null`, "", "action", []string{"action is missing"}},
		{"empty", sessionTool, `{}`, "", "action", []string{"action is missing"}},
		{"an array", sessionTool, `[]`, "", "", []string{"the arguments must be a JSON object"}},
		{"a string", sessionTool, `"open"`, "", "", []string{"the arguments must be a JSON object"}},
		{"a number", execTool, `7`, "", "", []string{"the arguments must be a JSON object"}},
		{"half an object", sessionTool, `{"action":"list"`, "", "", []string{"the arguments must be a JSON object"}},
		{"two objects", sessionTool, `{"action":"list"}{}`, "", "", []string{"the arguments must be a JSON object"}},
		{"action of another type", sessionTool, `{"action":5}`, "", "action", []string{"action must be a string", "heartbeat"}},
		{"action null", sessionTool, `{"action":null}`, "", "action", []string{"action is missing"}},
		{"action empty", sessionTool, `{"action":""}`, "", "action", []string{"action is missing"}},
		{"action unknown", sessionTool, `{"action":"openn"}`, "", "action", []string{`action "openn" does not exist`, "open, close"}},
		{"action twice", sessionTool, `{"action":"list","action":"open"}`, "", "action", []string{"action is given twice"}},

		{"unknown field", sessionTool, open(`,"hostname":"x"`), "", "hostname", []string{`unknown field "hostname" for action open`, "it takes action, protocol, task_id", "username"}},
		{"field in capitals", sessionTool, open(`,"Port":22`), "", "Port", []string{`unknown field "Port"`}},
		{"unknown field, no actions", execTool, `{"session_id":"s","command":"ls"}`, "", "command", []string{`unknown field "command" for ptyctl_session_exec`, "cmd"}},
		{"unknown field, nested", sessionTool, open(`,"auth":{"user":"x"}`), "", "auth.user", []string{`unknown field "auth.user"`, "it takes method, password, private_key_pem, passphrase, secret, interactive"}},
		{"endless name", sessionTool, open(`,"` + strings.Repeat("é", 5000) + `":1`), "", strings.Repeat("é", 32) + "...", []string{"unknown field"}},
		{"field of another action", sessionTool, `{"action":"list","session_id":"s"}`, "", "session_id", []string{`field "session_id" belongs to action close`, "not to list"}},
		{"field of another action, io", ioTool, `{"action":"read","session_id":"s","data":"x"}`, "", "data", []string{"belongs to action write, not to read", "until_regex"}},
		{"user beside a host", execTool, `{"host":"web1","username":"alice","cmd":"ls"}`, "", "username", []string{"use host;"}},
		{"a jump", sessionTool, open(`,"jump":"b"`), "", "jump", []string{"use ssh_options.proxy_jump"}},
		{"lines to write", ioTool, io(`,"lines":["a"]`), "", "lines", []string{"lines must be a string"}},
		{"lines to write where there are none", &toolset.Tool{Tool: Part(ioTool.Tool, func(string) bool { return false })},
			io(`,"lines":["a"]`), "", "lines", []string{"use steps", "toolsets"}},
		{"missing field", sessionTool, `{"action":"close"}`, "", "session_id", []string{"session_id is missing for action close", "a correct call: ptyctl_session {"}},
		{"missing because null", sessionTool, `{"action":"close","session_id":null}`, "", "session_id", []string{"session_id is missing"}},
		{"missing task", sessionTool, `{"action":"lock","session_id":"s"}`, "", "task_id", []string{"task_id is missing for action lock"}},
		{"missing signal", sessionTool, `{"action":"signal","session_id":"s"}`, "", "signal", []string{"signal is missing"}},
		{"a key for a signal", sessionTool, `{"action":"signal","session_id":"s","signal":"C-c"}`, "", "signal", []string{`signal "C-c" does not exist: it is a key; use signal "INT"`, `ptyctl_session_io {"action":"write","key":"ctrl_c"}`}},
		{"a key for no signal", sessionTool, `{"action":"signal","session_id":"s","signal":"Ctrl+Z"}`, "", "signal", []string{`it is a key; to type it, call ptyctl_session_io {"action":"write","key":"ctrl_z"}`}},
		{"no signal", sessionTool, `{"action":"signal","session_id":"s","signal":"usr1"}`, "", "signal", []string{`signal "usr1" does not exist; use one of INT, TERM`}},
		{"missing size", configTool, `{"action":"resize","session_id":"s","cols":80}`, "", "rows", []string{"rows is missing"}},
		{"half a surrogate pair", ioTool, io(`,"data":"\ud83d"`), "", "data", []string{`data has \ud83d, which is half`, `\ud83d\ude00`}},
		{"half a surrogate pair, nested", ioTool, io(`,"steps":[{"data":"a\uDE00"}]`), "", "steps[0].data", []string{`steps[0].data has \uDE00`}},
		{"half a surrogate pair, in a list", runTool, `{"argv":["x","\ud83d"]}`, "", "argv", []string{`argv has \ud83d`}},
		{"half a surrogate pair, encoded", runTool, `{"argv":"[\"x\",\"\ud83d\"]"}`, "", "argv", []string{`argv has \ud83d`}},
		{"half a surrogate pair, encoded twice", runTool, `{"argv":"[\"x\",\"\\ud83d\"]"}`, "", "argv", []string{`argv has \ud83d`}},
		{"twice, of another action", sessionTool, `{"session_id":"a","session_id":"b","action":"close"}`, "", "session_id", []string{`a correct call: ptyctl_session {"action":"close"`}},
		{"twice, of read", ioTool, `{"action":"READ","cursor":"0","cursor":"1"}`, "", "cursor", []string{`a correct call: ptyctl_session_io {"action":"read"`}},
		{"twice", sessionTool, open(`,"port":22,"port":23`), "", "port", []string{"port is given twice"}},
		{"twice, once null", sessionTool, open(`,"port":null,"port":23`), "", "port", []string{"port is given twice"}},
		{"twice, escaped", sessionTool, open(`,"port":22,"p\u006frt":23`), "", "port", []string{"port is given twice"}},
		{"twice, nested", sessionTool, open(`,"pty":{"cols":80,"cols":81}`), "", "pty.cols", []string{"pty.cols is given twice"}},

		{"string: fraction", execTool, `{"session_id":"s","stdin":7.5}`, "", "stdin", []string{"stdin must be a string, not a number"}},
		{"string: octal digits", files.Tool, `{"action":"write","path":"p","data":"","mode":644}`, "", "mode", []string{"mode must be a string, not a number"}},
		{"string: object", execTool, `{"session_id":"s","stdin":{"a":1}}`, "", "stdin", []string{"a string, not an object"}},
		{"string: array", execTool, `{"session_id":"s","stdin":["ls"]}`, "", "stdin", []string{"a string, not an array"}},
		{"string: boolean", execTool, `{"session_id":"s","stdin":true}`, "", "stdin", []string{"a string, not a boolean"}},
		{"line: words of a shell", execTool, `{"session_id":"s","cmd":["ls","|","wc"]}`, "", "cmd", []string{"cmd must be one string (argv takes words), not an array"}},
		{"line: two lines", execTool, `{"session_id":"s","cmd":["cd /tmp","ls"]}`, "", "cmd", []string{"cmd must be one string", "not an array"}},
		{"string: empty", ioTool, `{"action":"read","session_id":""}`, "", "session_id", []string{"session_id is empty"}},
		{"string: pin, empty", sessionTool, open(`,"ssh_options":{"host_key_fingerprint":" "}`), "", "ssh_options.host_key_fingerprint", []string{"is empty; leave it out, or give a value"}},
		{"string: place of a file, empty", files.Tool, `{"action":"read","session_id":"","path":"p"}`, "", "session_id", []string{"session_id is empty; leave it out for ptyctl's own machine, or give the id of a session"}},
		{"string: place of a copy, empty", files.Tool, `{"action":"copy","from":{"path":"p"},"to":{"session_id":"","path":"p"}}`, "", "to.session_id", []string{"to.session_id is empty; leave it out for ptyctl's own machine, or give"}},
		{"integer: string", sessionTool, open(`,"port":"ssh"`), "", "port", []string{"port must be a whole number, not a string"}},
		{"integer: hexadecimal", sessionTool, open(`,"port":"0x16"`), "", "port", []string{"port must be a whole number, not a string"}},
		{"integer: less than a millisecond", ioTool, io(`,"until_idle_ms":"1us"`), "", "until_idle_ms", []string{"a whole number, not a string"}},
		{"integer: fraction", sessionTool, open(`,"port":5.5`), "", "port", []string{"port must be a whole number between 1 and 65535"}},
		{"integer: boolean", sessionTool, open(`,"port":true`), "", "port", []string{"port must be a whole number, not a boolean"}},
		{"integer: too small", sessionTool, open(`,"port":-1`), "", "port", []string{"port is -1; it must be between 1 and 65535"}},
		{"integer: too large", sessionTool, open(`,"port":65536`), "", "port", []string{"port is 65536; it must be between 1 and 65535"}},
		{"integer: negative", ioTool, `{"action":"read","session_id":"s","timeout_ms":-1}`, "", "timeout_ms", []string{"timeout_ms is -1; it must be between 0 and"}},
		{"integer: beyond 64 bits", sessionTool, open(`,"port":99999999999999999999`), "", "port", []string{"between 1 and 65535"}},
		{"integer: beyond float64", sessionTool, open(`,"port":1e999`), "", "port", []string{"between 1 and 65535"}},
		{"integer: nested", sessionTool, open(`,"pty":{"cols":10001}`), "", "pty.cols", []string{"pty.cols is 10001; it must be between 1 and 10000"}},
		{"boolean: string", ioTool, io(`,"sensitive":"yes"`), "", "sensitive", []string{"sensitive must be true or false, not a string"}},
		{"boolean: number", ioTool, io(`,"sensitive":2`), "", "sensitive", []string{"sensitive must be true or false, not a number"}},
		{"array: string", execTool, `{"session_id":"s","env":"A=b C=d"}`, "", "env", []string{"env must be an array of strings, not a string"}},
		{"array: object", execTool, `{"session_id":"s","env":{"A":["b"]}}`, "", "env", []string{"env must be an array of strings, not an object"}},
		{"array: object of no pairs", execTool, `{"session_id":"s","argv":{"A":"b"}}`, "", "argv", []string{"argv must be an array of strings, not an object"}},
		{"array: object, twice", execTool, `{"session_id":"s","env":{"A":"b","A":"c"}}`, "", "env", []string{"not an object"}},
		{"pairs: word", runTool, `{"argv":["x"],"limits":["cpu_s"]}`, "", "limits", []string{"limits must be a list of NAME=value, such as cpu_s=1"}},
		{"pairs: of numbers", runTool, `{"argv":["x"],"limits":[1]}`, "", "limits", []string{"limits must be a list of NAME=value"}},
		{"pairs: number", runTool, `{"argv":["x"],"limits":7}`, "", "limits", []string{"limits must be a list of NAME=value"}},
		{"pairs: no number", runTool, `{"argv":["x"],"limits":["cpu_s=long"]}`, "", "limits.cpu_s", []string{"limits.cpu_s must be a whole number, not a string"}},
		{"pairs: no JSON number", runTool, `{"argv":["x"],"limits":["cpu_s=0x10"]}`, "", "limits.cpu_s", []string{"limits.cpu_s must be a whole number"}},
		{"pairs: fraction", runTool, `{"argv":["x"],"limits":["cpu_s=1.5"]}`, "", "limits.cpu_s", []string{"limits.cpu_s must be a whole number"}},
		{"pairs: too small", runTool, `{"argv":["x"],"limits":["memory_bytes=1"]}`, "", "limits.memory_bytes", []string{"it must be between 1048576 and"}},
		{"pairs: twice", runTool, `{"argv":["x"],"limits":["cpu_s=1","cpu_s=2"]}`, "", "limits.cpu_s", []string{"limits.cpu_s is given twice"}},
		{"pairs: unknown", runTool, `{"argv":["x"],"limits":["cpu_s\",\"x=1"]}`, "", `limits.cpu_s","x`, []string{"unknown field"}},
		{"array: of numbers", execTool, `{"session_id":"s","env":["A=b",2]}`, "", "env[1]", []string{"env[1] must be a string, not a number"}},
		{"array: of null", execTool, `{"session_id":"s","env":[null]}`, "", "env[0]", []string{"env[0] must be a string, not null"}},
		{"object: string", sessionTool, open(`,"auth":"agent"`), "", "auth", []string{"auth must be a JSON object"}},
		{"object: array", sessionTool, open(`,"pty":[80,24]`), "", "pty", []string{"pty must be a JSON object"}},
		{"enum", sessionTool, open(`,"auth":{"method":"key"}`), "", "auth.method", []string{`auth.method "key" does not exist; use one of password, private_key, agent, auto`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := decodeAny(tt.tool, json.RawMessage(tt.args))
			var e *term.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if want := max(tt.kind, term.InvalidArgument); e.Kind != want {
				t.Errorf("kind %s, want %s", e.Kind, want)
			}
			if term.FactOf[term.ArgumentFault](e).Field != term.Field(tt.field) {
				t.Errorf("details %+v, want field %q", e.Facts, tt.field)
			}
			for _, p := range tt.parts {
				if !strings.Contains(e.Message(), p) {
					t.Errorf("the message lacks %q: %s", p, e.Message())
				}
			}
			if len(e.Message()) > 2000 {
				t.Errorf("the message has %d bytes", len(e.Message()))
			}
			if e.Kind == term.InvalidArgument &&
				decodeAny(tt.tool, json.RawMessage(term.FactOf[term.ArgumentFault](e).Example)) != nil {
				t.Errorf("the example %q is wrong itself", term.FactOf[term.ArgumentFault](e).Example)
			}
		})
	}
}

// decodeAny checks a call as a handler does.
func decodeAny(tool *toolset.Tool, args json.RawMessage) error {
	a, err := tool.ActionOf(args)
	if err != nil {
		return err
	}
	_, err = tool.Decode(args, a.Name)
	return err
}

func TestDecodeAllowed(t *testing.T) {
	tests := []struct {
		tool  *toolset.Tool
		args  string
		want  []string // of the details' Allowed, in part
		never []string
	}{
		{sessionTool, `{"action":"lock","session_id":"s","x":1}`, []string{"action", "session_id", "task_id", "lock_ttl_ms"}, []string{"host", "force"}},
		{sessionTool, `{"action":"open","protocol":"ssh","host":"h","pty":{"x":1}}`, []string{"enabled", "cols", "rows", "term"}, []string{"action", "host"}},
		{sessionTool, `{"action":"signal","session_id":"s","signal":"SIGFOO"}`, []string{"INT", "TERM"}, nil},
		{sessionTool, `{"action":"nothing"}`, []string{"open", "signal"}, nil},
	}
	for _, tt := range tests {
		var e *term.Error
		if err := decodeAny(tt.tool, json.RawMessage(tt.args)); !errors.As(err, &e) {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		for _, w := range tt.want {
			if !slices.Contains(term.FactOf[term.ArgumentFault](e).Allowed, w) {
				t.Errorf("%s: allowed %q lacks %q", tt.args, term.FactOf[term.ArgumentFault](e).Allowed, w)
			}
		}
		for _, n := range tt.never {
			if slices.Contains(term.FactOf[term.ArgumentFault](e).Allowed, n) {
				t.Errorf("%s: allowed %q has %q", tt.args, term.FactOf[term.ArgumentFault](e).Allowed, n)
			}
		}
	}
}

func TestDecodeTakes(t *testing.T) {
	in, err := sessionTool.Decode(
		json.RawMessage(` {"action" : "open", "protocol":"ssh", "host":"h\u0031", "port":22.0, "username":null,
		"auth":{"method":null,"password":"p\"\\<>\u2028","interactive":false}, "pty":{"enabled":true,"cols":1e2},
		"timeouts":{"connect_timeout_ms":5.0}, "ssh_options":{"extra_args":["-J","b"]}, "device_id":null, "session_id":null,
		"expect":{"pager_regexes":[]}, "lock_ttl_ms":7 } `),
		"open",
	)
	if err != nil {
		t.Fatal(err)
	}
	open := in.(*sessionArgs)
	if open.Host != "h1" || open.Port != 22 || open.Username != "" || open.Auth.Password.Reveal() != "p\"\\<>\u2028" ||
		!isFalse(open.Auth.Interactive) || open.PTY.Cols != 100 || open.Timeouts.Connect != 5 || open.LockTTL != 7 ||
		!slices.Equal(open.SSH.ExtraArgs, []string{"-J", "b"}) {
		t.Errorf("decoded %+v", open)
	}
	if open.Expect.Errors != nil || open.Expect.Pagers == nil {
		t.Error("a list that is absent and one that is empty are not the same")
	}

	in, err = ioTool.Decode(json.RawMessage(`{"action":"write","session_id":"s","data":"","timeout_ms":0}`), "write")
	if err != nil {
		t.Fatal(err)
	}
	write := in.(*ioArgs)
	if write.Data == nil || write.TimeoutMS == nil || write.IncludeMatch != nil {
		t.Error("what is given as empty or 0 must not look absent")
	}
}

// manyMembers is a call with n members that are null, each of another name.
func manyMembers(n int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"action":"list"`)
	for i := range n {
		fmt.Fprintf(&b, `,"%d":null`, i)
	}
	b.WriteString("}")
	return json.RawMessage(b.String())
}

func TestDecodeManyMembers(t *testing.T) {
	if err := decodeAny(sessionTool, manyMembers(60_000)); err != nil {
		t.Error(err)
	}
}

// BenchmarkDecodeManyMembers compares the time for an object with very many members with that for half as many: if each
// pair were compared, the ratio would be 4.
func BenchmarkDecodeManyMembers(b *testing.B) {
	whole, half := manyMembers(60_000), manyMembers(30_000)
	var took [2]time.Duration
	for b.Loop() {
		for i, args := range []json.RawMessage{whole, half} {
			began := time.Now()
			if err := decodeAny(sessionTool, args); err != nil {
				b.Fatal(err)
			}
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(float64(took[0])/float64(took[1]), "x-of-half")
}

func FuzzDecode(f *testing.F) {
	for i, tool := range All() {
		for _, a := range tool.Actions {
			f.Add(i, []byte(a.Example))
		}
	}
	for _, s := range []string{
		`{"action":"open","host":null,"auth":{"password":{}}}`,
		`{"action":"read","timeout_ms":1e3,"input_hints":{"wait_for_regexes":[null]}}`, `{"":[[[{}]]]}`, `null`, ` `,
	} {
		f.Add(0, []byte(s))
		f.Add(2, []byte(s))
	}
	f.Fuzz(func(t *testing.T, n int, args []byte) {
		all := All()
		tool := all[uint(n)%uint(len(all))]
		a, err := tool.ActionOf(args)
		if err == nil {
			if _, err = tool.Decode(args, a.Name); err == nil {
				return
			}
		}
		var e *term.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s took %q, and then: %v", tool.Name, args, err)
		}
		if e.Facts == nil || e.Msg == "" {
			t.Errorf("%q: a refusal without details or message: %+v", args, e)
		}
	})
}

// Forms of arguments that can mean one thing alone are read as that.
func TestUnderstood(t *testing.T) {
	const open, write = `"action":"open","protocol":"ssh","host":"h"`, `"action":"write","session_id":"s"`
	for _, tt := range []struct {
		tool        *toolset.Tool
		wrote, same string
	}{
		{sessionTool, `{` + open + `,"port":"22"}`, `{` + open + `,"port":22}`},
		{sessionTool, `{` + open + `,"port":" 22.0 "}`, `{` + open + `,"port":22}`},
		{sessionTool, `{` + open + `,"port":0,"username":"","argv":[],"env":{},"limits":{"cpu_s":0}}`, `{` + open + `}`},
		{sessionTool, `{` + open + `,"port":"","acquire_lock":"","auth":"","telnet":{"mode":"","tls":{"enabled":false}}}`, `{` + open + `}`},
		{sessionTool, `{` + open + `,"session_id":"","signal":null,"take_over":false,"state":""}`, `{` + open + `}`},
		{sessionTool, `{"action":"OPEN","protocol":"SSH","host":"h"}`, `{` + open + `}`},
		{sessionTool, `{` + open + `,"ssh_options":{"host_key_policy":"accept-new"}}`, `{` + open + `,"ssh_options":{"host_key_policy":"accept_new"}}`},
		{sessionTool, `{` + open + `,"auth":{"method":"PrivateKey","password":1138}}`, `{` + open + `,"auth":{"method":"private_key","password":"1138"}}`},
		{sessionTool, `{` + open + `,"pty":"{\"cols\":\"80\"}"}`, `{` + open + `,"pty":{"cols":80}}`},
		{sessionTool, `{` + open + `,"expect":{"profile":"Cisco-IOS"}}`, `{` + open + `,"expect":{"profile":"cisco_ios"}}`},
		{sessionTool, `{` + open + `,"timeouts":{"connect_timeout_ms":"5s"}}`, `{` + open + `,"timeouts":{"connect_timeout_ms":5000}}`},
		{sessionTool, `{"action":"open","protocol":"local","argv":"bash","env":{"A":"b c","N":8080,"E":""}}`, `{"action":"open","protocol":"local","argv":["bash"],"env":["A=b c","N=8080","E="]}`},
		{sessionTool, `"{\"action\":\"list\",\"state\":\"Open\"}"`, `{"action":"list","state":"open"}`},
		{sessionTool, `{"action":"signal","session_id":"s","signal":"SIGINT"}`, `{"action":"signal","session_id":"s","signal":"INT"}`},
		{sessionTool, `{"action":"signal","session_id":"s","signal":"sigterm"}`, `{"action":"signal","session_id":"s","signal":"TERM"}`},
		{sessionTool, `{"action":"signal","session_id":"s","signal":"kill"}`, `{"action":"signal","session_id":"s","signal":"KILL"}`},
		{sessionTool, `{"action":"signal","session_id":"s","signal":2}`, `{"action":"signal","session_id":"s","signal":"INT"}`},
		{sessionTool, `{"action":"lock","session_id":7,"task_id":1}`, `{"action":"lock","session_id":"7","task_id":"1"}`},

		{execTool, `{"session_id":"s","cmd":["ls","-l"]}`, `{"session_id":"s","argv":["ls","-l"]}`},
		{execTool, `{"session_id":"s","cmd":"ls","argv":[],"exec_id":"","timeout_ms":0,"env":[],"lane":"","cwd":""}`, `{"session_id":"s","cmd":"ls"}`},
		{execTool, `{"session_id":"s","cmd":"ls","lane":"Terminal","class":"Bash","queue":"True"}`, `{"session_id":"s","cmd":"ls","lane":"terminal","class":"posix","queue":true}`},
		{execTool, `{"session_id":"s","cmd":"ls","stdin_encoding":"UTF8","env":"A=b"}`, `{"session_id":"s","cmd":"ls","stdin_encoding":"utf-8","env":["A=b"]}`},
		{execTool, `{"session_id":"s","cmd":"ls","env":"[\"A=b c\"]"}`, `{"session_id":"s","cmd":"ls","env":["A=b c"]}`},
		{execTool, `{"session_id":"s","cmd":"ls","timeout_ms":"30s","wait_ms":"1m"}`, `{"session_id":"s","cmd":"ls","timeout_ms":30000,"wait_ms":60000}`},
		{execTool, `{"session_id":"s","cmd":7}`, `{"session_id":"s","cmd":"7"}`},

		{ioTool, `{"action":"read","session_id":"s","cursor":0}`, `{"action":"read","session_id":"s","cursor":"0"}`},
		{ioTool, `{"action":"Read","session_id":"s","cursor":12.0,"data":"","key":""}`, `{"action":"read","session_id":"s","cursor":"12"}`},
		{ioTool, `{"action":"read","session_id":"s","format":"CLEAN","mode":"TAIL","max_lines":"5"}`, `{"action":"read","session_id":"s","format":"clean","mode":"tail","max_lines":5}`},
		{ioTool, `{` + write + `,"data":1,"sensitive":"false","paste":0}`, `{` + write + `,"data":"1"}`},
		{ioTool, `{` + write + `,"key":"Ctrl-C","until_regex":""}`, `{` + write + `,"key":"ctrl_c"}`},
		{ioTool, `{` + write + `,"key":"\u0003"}`, `{` + write + `,"key":"ctrl_c"}`},
		{ioTool, `{` + write + `,"key":"\\x1b[A"}`, `{` + write + `,"key":"arrow_up"}`},

		{configTool, `{"action":"resize","session_id":"s","cols":"120","rows":40.0}`, `{"action":"resize","session_id":"s","cols":120,"rows":40}`},
		{runTool, `{"argv":["env"],"env":{"A":true},"timeout_ms":0,"limits":{}}`, `{"argv":["env"],"env":["A=true"]}`},
		{runTool, `{"argv":["x"],"limits":["cpu_s=1","processes=20","open_files="]}`, `{"argv":["x"],"limits":{"cpu_s":1,"processes":20}}`},
		{runTool, `{"argv":["x"],"limits":"cpu_s=1"}`, `{"argv":["x"],"limits":{"cpu_s":1}}`},
		{runTool, `{"argv":["x"],"limits":"[\"cpu_s=1\"]"}`, `{"argv":["x"],"limits":{"cpu_s":1}}`},
		{runTool, `{"argv":["x"],"limits":[]}`, `{"argv":["x"]}`},
		{files.Tool, `{"action":"read","path":"p","offset":"0","encoding":"UTF-8"}`, `{"action":"read","path":"p","encoding":"utf-8"}`},
	} {
		got, want := decoded(t, tt.tool, tt.wrote), decoded(t, tt.tool, tt.same)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s = %+v, want that of %s: %+v", tt.tool.Name, tt.wrote, got, tt.same, want)
		}
	}
}

func decoded(t *testing.T, tool *toolset.Tool, args string) any {
	t.Helper()
	return decodedBy(t, tool.Tool, args)
}

func decodedBy(t *testing.T, tool *schema.Tool, args string) any {
	t.Helper()
	a, given, err := tool.Split(json.RawMessage(args))
	if err != nil {
		t.Fatalf("%s %s: %v", tool.Name, args, err)
	}
	in, err := tool.Checker(a.Name).Decode(given)
	if err != nil {
		t.Fatalf("%s %s: %v", tool.Name, args, err)
	}
	return in
}

// Arguments of clients that have no way to leave one out.
type filler string

const (
	nulls      filler = "null for each argument"
	deepNulls  filler = "null for each argument that is no object"
	zeroValues filler = "the zero value for each argument"
	firstOnes  filler = "the first value for each enumeration, and the zero value for each other argument"
)

// firm are the first values that are no default, and count, by the tool and action that take them.
var firm = map[string]string{
	execTool.Name: `"format":"clean"`, runTool.Name: `"format":"clean"`, ioTool.Name + " read": `"format":"clean"`,
	ioTool.Name + " write": `"format":"clean"`, ioTool.Name + " search": `"format":"clean"`,
	sessionTool.Name + " open": `"ssh_options":{"host_key_policy":"strict"}`,
}

// A client that gives every argument of the schema can call each action, with the same result as one that leaves them
// out.
func TestEveryArgument(t *testing.T) {
	for _, tool := range All() {
		tables := []*schema.Tool{tool.Tool}
		if r := tool.ForReading(); r != nil {
			tables = append(tables, r)
		}
		for _, table := range tables {
			for _, a := range table.Actions {
				for _, example := range []string{a.Example, cmp.Or(a.Local, a.Example)} {
					for _, with := range []filler{nulls, deepNulls, zeroValues, firstOnes} {
						args := every(t, table.InputSchema(), json.RawMessage(example), with)
						like := example
						if m := firm[strings.TrimSpace(table.Name+" "+a.Name)]; m != "" && with == firstOnes && example != a.Local {
							like = strings.TrimSuffix(example, "}") + "," + m + "}"
						}
						got, want := decodedBy(t, table, args), decodedBy(t, table, like)
						if in, ok := got.(*ioArgs); ok && (with == zeroValues || with == firstOnes) && a.Name == "write" {
							in.Data = want.(*ioArgs).Data // an empty text is one
						}
						if !reflect.DeepEqual(got, want) {
							t.Errorf("%s with %s: %s = %+v, want that of the example: %+v", table.Name, with, args, got, want)
						}
					}
				}
			}
		}
	}
}

// every returns the example, filled with every other property of the schema.
func every(t *testing.T, schema, example json.RawMessage, with filler) string {
	t.Helper()
	var s struct {
		Properties map[string]json.RawMessage
	}
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	if len(example) > 0 {
		if err := json.Unmarshal(example, &given); err != nil {
			t.Fatal(err)
		}
	}
	zeros := map[string]string{"string": `""`, "integer": "0", "boolean": "false", "array": "[]"}
	for name, property := range s.Properties {
		var p struct {
			Type  string
			Enum  []string
			Items json.RawMessage
		}
		if err := json.Unmarshal(property, &p); err != nil {
			t.Fatal(err)
		}
		value, has := given[name]
		switch {
		case has && p.Type == "array" && value[1] == '{':
			var objects []json.RawMessage
			if err := json.Unmarshal(value, &objects); err != nil {
				t.Fatal(err)
			}
			for i := range objects {
				objects[i] = json.RawMessage(every(t, p.Items, objects[i], with))
			}
			given[name], _ = json.Marshal(objects) // of valid JSON
		case has && p.Type != "object":
		case p.Type == "object" && (has || with != nulls):
			given[name] = json.RawMessage(every(t, property, value, with))
		case with == firstOnes && p.Enum != nil:
			given[name], _ = json.Marshal(p.Enum[0])
		case with == zeroValues || with == firstOnes:
			given[name] = json.RawMessage(zeros[p.Type])
		default:
			given[name] = json.RawMessage("null")
		}
	}
	text, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
