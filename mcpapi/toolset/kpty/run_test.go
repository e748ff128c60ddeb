package kpty

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// awkward are commands that would hide an end marker typed after them, or print one of
// their own.
var awkward = []struct {
	command, output string
	code            int
	bash            bool // needs bash
	within          bool // some shells print more, for example about jobs
}{
	{command: "echo hello", output: "hello\n"},
	{command: "true"},
	{command: "false", code: 1},
	{command: "echo x # a comment", output: "x\n"},
	{command: "# nothing but a comment"},
	{command: "echo a && echo b", output: "a\nb\n"},
	{command: "false && echo never", code: 1},
	{command: "false || echo saved", output: "saved\n"},
	{command: "false; echo x", output: "x\n"},
	{command: "echo x; false", output: "x\n", code: 1},
	{command: "cat <<EOF\none\n\ttwo $((1+1))\nEOF", output: "one\n\ttwo 2\n"},
	{command: "cat <<'EOF'\n__KR_DONE_a1b2c3d4__\nEOF", output: "__KR_DONE_a1b2c3d4__\n"},
	{command: "cat <<EOF\nnever closed", output: "never closed", within: true},
	{command: "for i in 1 2 3\ndo\n  echo $i\ndone", output: "1\n2\n3\n"},
	{command: "if true; then\necho yes\nfi", output: "yes\n"},
	{command: "echo one\necho two\n\n", output: "one\ntwo\n"},
	{command: "echo __KR_DONE_00000000__", output: "__KR_DONE_00000000__\n"},
	{command: "echo 'command; echo __KR_DONE_a1b2c3d4__'", output: "command; echo __KR_DONE_a1b2c3d4__\n"},
	{command: "echo DONE=0__ DONE_deadbeef=0__ DONE", output: "DONE=0__ DONE_deadbeef=0__ DONE\n"},
	{command: `printf '\036RC=0\037\n'`, output: "RC=0\n"},
	{command: `printf '\036S=abcdefgh\037\nPTYCTL_RC_x=0:END_x\n'`, output: "S=abcdefgh\nPTYCTL_RC_x=0:END_x\n"},
	{command: "printf 'no line end'", output: "no line end"},
	{command: "(exit 7)", code: 7},
	{command: "sh -c 'exit 255'", code: 255},
	{command: "sh -c 'kill -TERM $$'", code: 143, within: true},
	{command: "exec 3>&1; echo to three >&3; exec 3>&-", output: "to three\n"},
	{command: "echo $(echo inner; echo `echo deep`)", output: "inner deep\n"},
	{command: `echo "double 'single' \"escaped\" \\ back"`, output: "double 'single' \"escaped\" \\ back\n"},
	{command: `echo it\'s \$HOME \!x`, output: "it's $HOME !x\n"},
	{command: "echo 'a;b|c&d>e<f*?[x]{1,2}~'", output: "a;b|c&d>e<f*?[x]{1,2}~\n"},
	{command: "echo 100% %s %d", output: "100% %s %d\n"},
	{command: "echo ünïcödé 漢字 🙂", output: "ünïcödé 漢字 🙂\n"},
	{command: "echo 'tab\there'", output: "tab\there\n"},
	{command: "echo oops >&2", output: "oops\n"},
	{command: "f() { return 5; }; f", code: 5},
	{command: "trap 'echo trapped' USR1; kill -USR1 $$; trap - USR1", output: "trapped\n"},
	{command: "sleep 0.1 & wait $!; echo gone", output: "gone\n", within: true},
	{command: "set -- a b; echo $#", output: "2\n"},
	{command: "cat /dev/null | cat; echo ${#HOME} >/dev/null"},
	{command: "no-such-command-here 2>/dev/null", code: 127},
	{command: "read line < /dev/null", code: 1},
	{command: "cd /; pwd", output: "/\n"},
	{command: "pwd", output: "/\n"}, // the same shell runs all commands
	{command: "diff <(echo a) <(echo a) && echo same", output: "same\n", bash: true},
	{command: "[[ abc =~ b ]] && echo ${BASH_VERSION:+bash}", output: "bash\n", bash: true},
	{command: "printf '%s\\n' {1..3}", output: "1\n2\n3\n", bash: true},
}

// run returns output and exit code of every command in every shell, with and without a
// sentinel.
func TestRunAwkward(t *testing.T) {
	a := newAgent(t, setting{})
	for _, shell := range shells(t) {
		for _, sentinel := range []string{"", "DONE", `%s$x'"\ __`} {
			id := a.spawn(shell)
			for _, c := range awkward {
				if c.bash && filepath.Base(shell) != "bash" {
					continue
				}
				arguments := `{"action":"run","session_id":%s,"command":%s,"timeout_ms":20000}`
				values := []any{id, c.command}
				if sentinel != "" {
					arguments, values = strings.Replace(arguments, "}", `,"sentinel":%s}`, 1), append(values, sentinel)
				}
				r := a.call(arguments, values...)
				right := r.Output == c.output || c.within && strings.Contains(r.Output, c.output)
				if !r.OK || !right || !isCode(r.ExitCode, c.code) || r.Running || r.Truncated {
					t.Errorf("%s, sentinel %q: run %q = %s, want output %q and exit_code %d",
						shell, sentinel, c.command, r.text, c.output, c.code)
				}
			}
			// A command that the shell cannot parse ends at once with a status other than 0.
			for _, command := range []string{
				`echo "never closed`, "echo 'never closed", "if true", "echo $(echo x", "for",
				")",
			} {
				r := a.call(`{"action":"run","session_id":%s,"command":%s,"timeout_ms":20000}`, id, command)
				if !r.OK || r.ExitCode == nil || *r.ExitCode == 0 || r.Running {
					t.Errorf("%s: run %q = %s, want its end with a status other than 0", shell, command, r.text)
				}
			}
			if r := a.call(`{"action":"run","session_id":%s,"command":"exit 3"}`, id); r.ErrorCode != ProcessExited ||
				!isCode(r.ExitCode, 3) {
				t.Errorf("%s: run exit 3 = %s, want %s with exit_code 3", shell, r.text, ProcessExited)
			}
		}
	}
}

// A command that ends the shell is a failure with the exit code and the last output.
func TestRunEndsShell(t *testing.T) {
	a := newAgent(t, setting{})
	for command, code := range map[string]int{"echo last words; exit 3": 3, "echo last words; exec sh -c 'exit 4'": 4} {
		id := a.spawn("/bin/sh")
		r := a.call(`{"action":"run","session_id":%s,"command":%s}`, id, command)
		if r.ErrorCode != ProcessExited || !isCode(r.ExitCode, code) || r.Output != "last words\n" {
			t.Errorf("run %q = %s, want %s with exit_code %d and the last words", command, r.text, ProcessExited, code)
		}
		r = a.call(`{"action":"run","session_id":%s,"command":"echo again"}`, id)
		if r.ErrorCode != ProcessExited || !isCode(r.ExitCode, code) || r.Cause != "ALREADY_CLOSED" {
			t.Errorf("run after %q = %s, want %s with exit_code %d", command, r.text, ProcessExited, code)
		}
	}
}

func TestRunTimeout(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("bash")
	r := a.call(`{"action":"run","session_id":%s,"command":"echo partial; sleep 60","timeout_ms":3000}`, id)
	if r.ErrorCode != Timeout ||
		r.Output != "partial\n" && r.Output != "partial\n^C" && !strings.HasPrefix(r.Output, "partial\n^C") {
		t.Errorf("run beyond its timeout = %s, want %s, output partial", r.text, Timeout)
	}
	stopped := r.Stopped != nil && *r.Stopped
	// The result comes 150 ms after the deadline, and on a busy machine bash may not have its prompt by then.
	for end := time.Now().Add(30 * time.Second); ; {
		r := a.call(`{"action":"run","session_id":%s,"command":"echo ready"}`, id)
		if !stopped && r.ErrorCode == WriteFailed && time.Now().Before(end) {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if r.ErrorCode != "" || r.Output != "ready\n" {
			t.Errorf("run after the timeout (stopped: %t) = %s, want output ready", stopped, r.text)
		}
		break
	}
	r = a.call(
		`{"action":"run","session_id":%s,"command":"trap '' INT QUIT; echo deaf; while :; do sleep 0.1; done","timeout_ms":500}`,
		id,
	)
	// A call returns earlier, where bash has been so slow that the deadline is not yet over.
	for r.ExitReason == "running" {
		r = a.call(`{"action":"run","session_id":%s,"exec_id":%s}`, id, r.ExecID)
	}
	if r.ErrorCode != Timeout || !strings.Contains(r.Output, "deaf\n") || r.Stopped == nil || *r.Stopped ||
		!strings.Contains(r.Message, "kill") {
		t.Errorf("run of a command that ignores ctrl-c = %s, want %s, not stopped", r.text, Timeout)
	}
}

// A command that asks a question returns at once and continues after the answer. A long
// command returns at the end of the call's time.
func TestRunGoesOn(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("bash")
	r := a.ok(
		`{"action":"run","session_id":%s,"command":"printf 'Password: '; stty -echo; read p; stty echo; echo; echo got ${#p}; (exit 6)"}`,
		id,
	)
	if !r.Running || r.ExecID == "" || r.Waiting == nil || r.Waiting.Kind != "password" || r.ExitCode != nil {
		t.Fatalf("run at a password prompt = %s, want running with waiting_for password", r.text)
	}
	if busy := a.call(`{"action":"run","session_id":%s,"command":"echo no"}`, id); busy.ErrorCode != WriteFailed ||
		busy.Cause != "BUSY" ||
		busy.Waiting == nil ||
		!strings.Contains(busy.Message, "password") {
		t.Errorf("second run = %s, want %s with waiting_for password", busy.text, WriteFailed)
	}
	a.ok(`{"action":"write","session_id":%s,"data":"secret-answer-1138\n","sensitive":true}`, id)
	if r = a.ok(`{"action":"run","session_id":%s,"exec_id":%s}`, id, r.ExecID); r.Running || !isCode(r.ExitCode, 6) ||
		!strings.Contains(r.Output, "got 18") {
		t.Errorf("run after the answer = %s, want exit_code 6 and got 18", r.text)
	}
	if r := a.call(`{"action":"run","session_id":%s,"exec_id":"exec-none"}`, id); r.ErrorCode != InvalidArgument ||
		r.Field != "exec_id" {
		t.Errorf("run with an unknown exec_id = %s, want %s for exec_id", r.text, InvalidArgument)
	}

	short := setting{}
	short.options.MaxWait = 300 * time.Millisecond
	a = newAgent(t, short)
	id = a.spawn("/bin/sh")
	r = a.ok(`{"action":"run","session_id":%s,"command":"echo one; sleep 1; echo two"}`, id)
	if !r.Running || r.ExecID == "" {
		t.Fatalf("run beyond the call's time = %s, want running with an exec_id", r.text)
	}
	for deadline := time.Now().Add(20 * time.Second); r.Running && time.Now().Before(deadline); {
		r = a.ok(`{"action":"run","session_id":%s,"exec_id":%s}`, id, r.ExecID)
	}
	if r.Output != "one\ntwo\n" || !isCode(r.ExitCode, 0) {
		t.Errorf("run continued by exec_id = %s, want both lines and exit_code 0", r.text)
	}
}

// Output that is too long for an answer is cut in the middle. The exec_id returns all of
// it.
func TestRunMuch(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/sh")
	r := a.ok(
		`{"action":"run","session_id":%s,"command":"i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done"}`,
		id,
	)
	if !r.Truncated || r.Omitted == 0 || len(r.Output) > outputBytes+100 || r.ExecID == "" ||
		!strings.HasPrefix(r.Output, "line 0\n") ||
		!strings.HasSuffix(r.Output, "line 2999\n") {
		t.Fatalf("run with 3000 lines = %.300s, want first and last lines, and an exec_id", r.text)
	}
	r = a.ok(`{"action":"run","session_id":%s,"exec_id":%s,"max_bytes":100000}`, id, r.ExecID)
	var want strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if r.Truncated || r.Output != want.String() || !isCode(r.ExitCode, 0) {
		t.Errorf("run by exec_id with max_bytes = %.300s, want all 3000 lines", r.text)
	}
}

// Output is clean by default and unchanged with format raw.
func TestFormat(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/sh")
	command := `printf '\033[31mred\033[0m \033]0;title\007x\n'`
	if r := a.ok(`{"action":"run","session_id":%s,"command":%s}`, id, command); r.Output != "red x\n" {
		t.Errorf("clean output of %s = %s, want red x", command, r.text)
	}
	if r := a.ok(`{"action":"run","session_id":%s,"command":%s,"format":"raw"}`, id,
		command); r.Output != "\x1b[31mred\x1b[0m \x1b]0;title\ax\n" {
		t.Errorf("raw output of %s = %s, want its escape sequences", command, r.text)
	}
	if r := a.ok(`{"action":"run","session_id":%s,"command":"printf '\\377\\n'","format":"raw"}`,
		id); r.Encoding != "base64" ||
		r.Output != "/wo=" {
		t.Errorf("raw output of bytes that are not UTF-8 = %s, want base64 /wo=", r.text)
	}
}

func TestSentinelRefused(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/sh")
	for _, sentinel := range []string{"", " ", "a\nb", "\x1b[2J", strings.Repeat("x", maxSentinel+1)} {
		if r := a.call(`{"action":"run","session_id":%s,"command":"echo x","sentinel":%s}`, id,
			sentinel); r.ErrorCode != InvalidArgument ||
			r.Field != "sentinel" ||
			r.Example == "" {
			t.Errorf("run with sentinel %q = %s, want %s for sentinel", sentinel, r.text, InvalidArgument)
		}
	}
	one, _ := sentinelMarker("X")
	if two, end := sentinelMarker("X"); one == two || end != "__" || !strings.HasPrefix(two, "X_") ||
		len(two) != len("X_01234567=") {
		t.Errorf("markers of X = %s and %s with end %s, want two that differ, and the end __", one, two, end)
	}
}

// A flood exceeds the buffer. run returns its start and end, counts the lost bytes, and
// still finds the exit code.
func TestRunFlood(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/sh")
	for range 3 {
		r := a.ok(`{"action":"run","session_id":%s,"command":"seq 300000; (exit 4)"}`, id)
		if !isCode(r.ExitCode, 4) || !r.Truncated || !strings.HasSuffix(r.Output, "\n299999\n300000\n") || r.Running {
			t.Errorf("run of seq 300000 = %.200s ... %s, want truncated output up to 300000 and exit_code 4",
				r.text, r.text[max(0, len(r.text)-200):])
		}
	}
}

// In cmd.exe the sentinel is ignored, and a warning says so.
func TestSentinelInCmd(t *testing.T) {
	for program, want := range map[string]bool{
		`C:\Windows\System32\cmd.exe`: true, "CMD.EXE": true, "cmd": true,
		`C:\bin\pwsh.exe`: false, "/bin/sh": false, "/opt/cmd/sh": false,
	} {
		if isCmd(program) != want {
			t.Errorf("isCmd(%q) = %v, want %v", program, !want, want)
		}
	}
	a := newAgent(t, setting{sessions: session.Config{Dialers: map[string]term.Dialer{
		"local": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			return newWindow(), nil
		},
	}}})
	id := a.spawn("cmd.exe")
	r := a.ok(`{"action":"run","session_id":%s,"command":"ver","sentinel":"DONE","timeout_ms":20000}`, id)
	if r.Output != "Windows\n" || !isCode(r.ExitCode, 0) || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "sentinel") {
		t.Errorf("run with a sentinel in cmd.exe = %s, want exit_code 0 and a warning", r.text)
	}
}

// A window imitates cmd.exe for one command: it shows a prompt, and it answers the typed
// line with the output that a real one would print.
type window struct {
	io.Reader
	out *io.PipeWriter
}

func newWindow() *window {
	r, w := io.Pipe()
	go w.Write([]byte("C:\\>")) // blocks until it is read
	return &window{r, w}
}

var nonceOf = regexp.MustCompile(`S\^=(\w+)`)

func (w *window) Write(p []byte) (int, error) {
	if m := nonceOf.FindSubmatch(p); m != nil {
		go fmt.Fprintf(w.out, "%s\nS=%s\r\nWindows\r\nPTYCTL_RC_%s=0:END_%s\r\n\r\nC:\\>", p, m[1], m[1], m[1])
	}
	return len(p), nil
}

func (w *window) Resize(int, int) error { return nil }
func (w *window) Close() error          { return w.out.Close() }

func (w *window) Describe() term.Description {
	return term.Description{PTY: true, Process: &term.Process{PID: 1, Argv: []string{"cmd.exe"}}}
}

// A program that shows the shell's own prompt receives the line. No marker comes back, so
// run must not report an exit code.
func TestRunAtAnotherPrompt(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/sh")
	a.ok(`{"action":"run","session_id":%s,"command":"true"}`, id)
	a.ok(`{"action":"talk","session_id":%s,"command":"while printf '%%s' \"$PS1\"; read x; do :; done","idle_ms":300}`, id)
	r := a.ok(`{"action":"run","session_id":%s,"command":"echo hello","timeout_ms":30000}`, id)
	if !r.Running || r.ExecID == "" || r.ExitCode != nil || r.Waiting == nil || r.Waiting.Kind != "prompt" ||
		strings.Contains(r.Output, "hello") {
		t.Fatalf("run in another program = %s, want running with waiting_for prompt", r.text)
	}
	a.ok(`{"action":"write","session_id":%s,"data":"\u0003"}`, id)
	if r := a.ok(`{"action":"run","session_id":%s,"exec_id":%s}`, id, r.ExecID); r.Running || r.ExitCode != nil ||
		r.ExitReason == "" {
		t.Errorf("run after ctrl-c = %s, want no exit code and a reason", r.text)
	}
	if r := a.ok(`{"action":"run","session_id":%s,"command":"echo again"}`, id); r.Output != "again\n" ||
		!isCode(r.ExitCode, 0) {
		t.Errorf("run of echo again = %s, want output again and exit_code 0", r.text)
	}
}
