package kpty

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// kinds returns all kinds of package term. It reads them from the source, so that a new
// kind must get a code here.
func kinds(t *testing.T) (all []term.Kind) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "..", "term", "error.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "Kind" {
				text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, term.Kind(text))
			}
		}
		return true
	})
	if len(all) < 20 {
		t.Fatalf("found only the kinds %v in term/error.go, want at least 20", all)
	}
	return all
}

// Every kind has a code of the contract in every action, and a message that names no
// other tool.
func TestCodes(t *testing.T) {
	contract := map[Code]bool{
		SessionNotFound: true,
		SpawnFailed:     true,
		Timeout:         true,
		ProcessExited:   true,
		WriteFailed:     true,
		ReadFailed:      true,
		AccessDenied:    true,
		InvalidArgument: true,
	}
	seen := map[Code]bool{}
	for _, kind := range kinds(t) {
		for _, action := range []string{"", "spawn", "write", "read", "run", "talk", "resize", "kill", "list", "help"} {
			f := newFailure(&term.Error{Kind: kind, Session: "x", Msg: "it happened"}, action)
			if !contract[f.ErrorCode] || f.Message == "" || f.Cause != kind || f.OK {
				t.Errorf("failure for %s in %s = %+v, want a code of the contract, a message and the cause", kind, action, f)
			}
			seen[f.ErrorCode] = true
		}
	}
	if len(seen) != len(contract) {
		t.Errorf("codes in use = %v, want all of %v", seen, contract)
	}
	for action, want := range map[string]Code{
		"spawn": SpawnFailed, "read": ReadFailed, "write": WriteFailed,
		"run": WriteFailed,
	} {
		for _, err := range []error{
			&term.Error{Kind: term.IOError, Msg: "x"}, &term.Error{Kind: term.LimitExceeded},
			errors.New("boom"),
		} {
			if got := newFailure(err, action); got.ErrorCode != want {
				t.Errorf("code for %v in %s = %s, want %s", err, action, got.ErrorCode, want)
			}
		}
	}
	if f := newFailure(errors.New("a secret cause"), "run"); strings.Contains(f.Message, "secret") ||
		f.Cause != term.Internal {
		t.Errorf("failure for an unknown error = %+v, want cause %s and none of the error's text", f, term.Internal)
	}
}

func TestInvalid(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/sh")
	for arguments, field := range map[string]string{
		`{}`:                                   "action",
		`{"action":"dance"}`:                   "action",
		`{"action":"write","data":"x"}`:        "session_id",
		`{"action":"write","session_id":"$S"}`: "data",
		`{"action":"write","session_id":"$S","data":""}`:                       "data",
		`{"action":"run","session_id":"$S"}`:                                   "command",
		`{"action":"run","session_id":"$S","command":"  "}`:                    "command",
		`{"action":"run","session_id":"$S","command":"x","timeout_ms":0}`:      "timeout_ms",
		`{"action":"run","session_id":"$S","command":"x","exec_id":"exec-1"}`:  "exec_id",
		`{"action":"run","session_id":"$S","exec_id":"exec-1","timeout_ms":5}`: "exec_id",
		`{"action":"resize","session_id":"$S","cols":80}`:                      "rows",
		`{"action":"resize","session_id":"$S","cols":0,"rows":1}`:              "cols",
		`{"action":"spawn","cols":"80"}`:                                       "cols",
		`{"action":"spawn","command":"x"}`:                                     "command",
		`{"action":"read","session_id":"$S","format":"html"}`:                  "format",
		`{"action":"read","session_id":"$S","timeout_ms":-1}`:                  "timeout_ms",
		`{"action":"list","agent_id":7}`:                                       "agent_id",
		`{"action":"list","more":1}`:                                           "more",
		`{"action":"talk","session_id":"$S"}`:                                  "command",
		`{"action":"read","session_id":"$S","session_id":"$S"}`:                "session_id",
	} {
		r := a.call("%s", rawJSON(strings.ReplaceAll(arguments, "$S", id)))
		if r.ErrorCode != InvalidArgument || r.Field != field || r.Retryable || r.Example == "" ||
			!strings.Contains(r.Message, field) {
			t.Errorf("call %s = %s, want %s for the field %s", arguments, r.text, InvalidArgument, field)
		}
	}
	if r := a.call(`{"action":"run","session_id":%s,"command":%s}`, id, "echo "+strings.Repeat("x",
		9000)); r.ErrorCode != InvalidArgument ||
		!strings.Contains(r.Message, "file") {
		t.Errorf("run of a line that is too long for a terminal = %s, want %s", r.text, InvalidArgument)
	}
	if r := a.call(`{"action":"run","session_id":%s,"command":"echo \u0000"}`, id); r.ErrorCode != InvalidArgument {
		t.Errorf("run of a line with NUL = %s, want %s", r.text, InvalidArgument)
	}
}

// A rawJSON is an argument of agent.call that is JSON already.
type rawJSON string

func TestNotFound(t *testing.T) {
	a := newAgent(t, setting{})
	for _, rest := range []string{
		`"write","data":"x"`, `"read"`, `"run","command":"x"`, `"talk","command":"x"`,
		`"resize","cols":1,"rows":1`, `"kill"`,
	} {
		if r := a.call(`{"session_id":"bash-none","action":%s`, rawJSON(rest+"}")); r.ErrorCode != SessionNotFound ||
			!strings.Contains(r.Message, "bash-none") ||
			!strings.Contains(r.Message, "spawn") {
			t.Errorf("%s of an unknown session = %s, want %s", rest, r.text, SessionNotFound)
		}
	}
}

func TestSpawnFailed(t *testing.T) {
	a := newAgent(t, setting{sessions: session.Config{MaxSessions: 1}})
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ rest, says string }{
		{`"shell":"no-such-shell"`, "path of a program"},
		{`"shell":"/no/such/shell"`, "path of a program"},
		{`"shell":` + strconv.Quote(plain), "path of a program"},
		{`"shell":"bash -l"`, "without arguments"},
		{`"cwd":"/no/such/folder"`, "working directory"},
		{`"cwd":` + strconv.Quote(plain), "working directory"},
	} {
		if r := a.call(`{"action":"spawn",` + c.rest + `}`); r.ErrorCode != SpawnFailed ||
			!strings.Contains(r.Message, c.says) ||
			strings.Contains(r.Message, "argv") {
			t.Errorf("spawn with %s = %s, want %s with %q", c.rest, r.text, SpawnFailed, c.says)
		}
	}
	a.spawn("/bin/sh")
	if r := a.call(`{"action":"spawn"}`); r.ErrorCode != SpawnFailed || r.Cause != term.LimitExceeded ||
		!strings.Contains(r.Message, "kill") ||
		!r.Retryable {
		t.Errorf("spawn beyond the limit = %s, want %s, retryable", r.text, SpawnFailed)
	}
}

func TestProcessExited(t *testing.T) {
	a := newAgent(t, setting{})
	for _, rest := range []string{
		`"write","data":"x"`, `"run","command":"x"`, `"talk","command":"x"`,
		`"resize","cols":1,"rows":1`,
	} {
		id := a.spawn("/bin/sh")
		a.ok(`{"action":"write","session_id":%s,"data":"echo last wo''rds; exit 7\n"}`, id)
		a.ended(id)
		r := a.call(`{"session_id":%s,"action":%s`, id, rawJSON(rest+"}"))
		if r.ErrorCode != ProcessExited || !isCode(r.ExitCode, 7) || !strings.Contains(r.Output, "last words") ||
			r.Retryable ||
			!strings.Contains(r.Message, "spawn") {
			t.Errorf("%s after exit 7 = %s, want %s with the last words and exit_code 7", rest, r.text, ProcessExited)
		}
		// The failure has returned the rest of the output.
		if r := a.call(`{"action":"read","session_id":%s}`, id); r.ErrorCode != ProcessExited || !isCode(r.ExitCode, 7) {
			t.Errorf("read after the failed %s = %s, want %s with exit_code 7", rest, r.text, ProcessExited)
		}
	}
	id := a.spawn("/bin/sh")
	a.ok(`{"action":"write","session_id":%s,"data":"kill -9 $$\n"}`, id)
	a.ended(id)
	if r := a.call(`{"action":"run","session_id":%s,"command":"x"}`, id); r.ErrorCode != ProcessExited ||
		!strings.Contains(r.text, `"exit_signal":"KILL"`) {
		t.Errorf("run after kill -9 = %s, want %s with exit_signal KILL", r.text, ProcessExited)
	}
}

func (a *agent) ended(id string) {
	a.tb.Helper()
	s, err := a.manager.Get(id)
	if err != nil {
		a.tb.Fatal(err)
	}
	select {
	case <-s.Ended():
	case <-time.After(20 * time.Second):
		a.tb.Fatalf("session %s still runs after 20s, want its end", id)
	}
}

// A write fails if the program does not read its input.
func TestWriteFailed(t *testing.T) {
	a := newAgent(t, setting{sessions: session.Config{WriteTimeout: 300 * time.Millisecond}})
	id := a.spawn("/bin/sh")
	a.ok(`{"action":"write","session_id":%s,"data":"stty raw -echo; echo de''af; sleep 60\n"}`, id)
	a.until(id, "deaf")
	r := a.call(`{"action":"write","session_id":%s,"data":%s}`, id, strings.Repeat("x", 300_000))
	if r.ErrorCode != WriteFailed || r.Bytes == nil || *r.Bytes >= 300_000 || !strings.Contains(r.Message, "kill") {
		t.Errorf("write of 300000 bytes = %.300s, want %s with bytes_written", r.text, WriteFailed)
	}
	if r := a.call(`{"action":"run","session_id":%s,"command":"x","timeout_ms":500}`, id); r.ErrorCode != WriteFailed &&
		r.ErrorCode != Timeout {
		t.Errorf("run in a blocked terminal = %s, want %s or %s", r.text, WriteFailed, Timeout)
	}
}

// A broken is a terminal that can no longer be read after fail is closed.
type broken struct{ fail chan struct{} }

func (b *broken) Read([]byte) (int, error) {
	<-b.fail
	return 0, &term.Error{Kind: term.IOError, Msg: "the line is cut"}
}
func (b *broken) Write(p []byte) (int, error) { return len(p), nil }
func (b *broken) Resize(int, int) error       { return io.ErrClosedPipe }

func (b *broken) Close() error {
	select {
	case <-b.fail:
	default:
		close(b.fail)
	}
	return nil
}

func TestReadFailed(t *testing.T) {
	a := newAgent(t, setting{sessions: session.Config{MaxReads: 1}})
	one, two := a.spawn("/bin/cat"), a.spawn("/bin/cat")
	_, waits := a.start(
		"tools/call",
		fmt.Sprintf(`{"name":"k_pty","arguments":{"action":"read","session_id":%q,"timeout_ms":20000}}`, one),
	)
	s, err := a.manager.Get(one)
	if err != nil {
		t.Fatal(err)
	}
	for s.Info().Readers == 0 {
		time.Sleep(time.Millisecond)
	}
	for deadline := time.Now().Add(40 * time.Second); ; {
		r := a.call(`{"action":"read","session_id":%s,"timeout_ms":100}`, two)
		if r.ErrorCode == ReadFailed && r.Cause == term.LimitExceeded && strings.Contains(r.Message, "timeout_ms 0") &&
			r.Retryable {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("second waiting read = %s, want %s by the limit", r.text, ReadFailed)
		}
	}
	if r := a.ok(`{"action":"read","session_id":%s,"timeout_ms":0}`, two); !r.TimedOut {
		t.Errorf("read with timeout_ms 0 = %s, want timed_out", r.text)
	}
	a.ok(`{"action":"write","session_id":%s,"data":"x\n"}`, one)
	if r := a.reply(<-waits); !strings.Contains(r.Output, "x") {
		t.Errorf("waiting read = %s, want output x", r.text)
	}

	line := &broken{fail: make(chan struct{})}
	b := newAgent(t, setting{sessions: session.Config{Dialers: map[string]term.Dialer{
		"local": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			return line, nil
		},
	}}})
	id := b.ok(`{"action":"spawn","shell":"x"}`).SessionID
	if r := b.call(`{"action":"resize","session_id":%s,"cols":5,"rows":5}`, id); r.ErrorCode != WriteFailed ||
		r.Cause != term.IOError {
		t.Errorf("resize of a broken terminal = %s, want %s with cause %s", r.text, WriteFailed, term.IOError)
	}
	close(line.fail)
	b.ended(id)
	if r := b.call(`{"action":"read","session_id":%s}`, id); r.ErrorCode != ReadFailed ||
		!strings.Contains(r.Message, "the line is cut") {
		t.Errorf("read of a broken terminal = %s, want %s with the cause", r.text, ReadFailed)
	}
}

func TestAccessDenied(t *testing.T) {
	gate := func(_ context.Context, a term.Action) (term.Ruling, error) {
		if strings.Contains(a.Command, "forbidden") || strings.Contains(string(a.Data), "forbidden") {
			return term.Ruling{}, &term.Error{
				Kind:  term.PolicyDenied,
				Msg:   "the rule no-forbidden denies it",
				Facts: term.Facts{term.Denial{Rule: "no-forbidden"}},
			}
		}
		return term.Ruling{}, nil
	}
	a := newAgent(t, setting{sessions: session.Config{Gate: gate}})
	id := a.spawn("/bin/sh")
	for _, rest := range []string{
		`"write","data":"forbidden"`, `"run","command":"forbidden"`,
		`"talk","command":"forbidden"`,
	} {
		if r := a.call(`{"session_id":%s,"action":%s`, id, rawJSON(rest+"}")); r.ErrorCode != AccessDenied ||
			!strings.Contains(r.Message, "no-forbidden") {
			t.Errorf("%s against the policy = %s, want %s with the rule", rest, r.text, AccessDenied)
		}
	}
	if r := a.call(`{"action":"spawn","shell":"/forbidden"}`); r.ErrorCode != AccessDenied {
		t.Errorf("spawn against the policy = %s, want %s", r.text, AccessDenied)
	}
	s, err := a.manager.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lock(term.WithActor(t.Context(), term.Actor{Task: "deploy"}), time.Minute); err != nil {
		t.Fatal(err)
	}
	for _, rest := range []string{
		`"write","data":"x"`, `"run","command":"x"`, `"talk","command":"x"`,
		`"resize","cols":9,"rows":9`, `"kill"`,
	} {
		if r := a.call(`{"session_id":%s,"action":%s`, id, rawJSON(rest+"}")); r.ErrorCode != AccessDenied ||
			r.Cause != term.Locked ||
			!strings.Contains(r.Message, "another client") ||
			strings.Contains(r.Message, "deploy") {
			t.Errorf("%s in a locked session = %s, want %s without the holder's task", rest, r.text, AccessDenied)
		}
	}
	a.ok(`{"action":"read","session_id":%s}`, id)

	reads := setting{}
	reads.options.ReadOnly = true
	b := newAgent(t, reads)
	for _, arguments := range []string{
		`{"action":"spawn"}`, `{"action":"kill","session_id":"x"}`,
		`{"action":"run","session_id":"x","command":"x"}`,
	} {
		if r := b.call(arguments); r.ErrorCode != AccessDenied || !strings.Contains(r.Message, "read") {
			t.Errorf("%s by a read-only caller = %s, want %s", arguments, r.text, AccessDenied)
		}
	}
	if r := b.ok(`{"action":"help"}`); r.Help == "" {
		t.Errorf("help for a read-only caller = %s, want text", r.text)
	}
	if list := string(b.list()); !strings.Contains(list, `"enum":["read","list","help"]`) ||
		strings.Contains(list, "agent's") {
		t.Errorf("tools/list for a read-only caller = %s, want the actions read, list and help", list)
	}
}

// A run is refused while another program has the terminal. The failure names it, and
// nothing is typed.
func TestBusy(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/sh")
	a.ok(`{"action":"run","session_id":%s,"command":"true"}`, id)
	a.ok(`{"action":"talk","session_id":%s,"command":"printf 'Overwrite? [y/n] '; read x","idle_ms":300}`, id)
	if r := a.ok(`{"action":"read","session_id":%s,"timeout_ms":0}`, id); r.Waiting == nil || r.Waiting.Kind != "yes_no" {
		t.Errorf("read at a question = %s, want waiting_for yes_no", r.text)
	}
	r := a.call(`{"action":"run","session_id":%s,"command":"echo no"}`, id)
	if r.ErrorCode != WriteFailed || r.Waiting == nil || r.Waiting.Kind != "yes_no" ||
		!strings.Contains(r.Message, "nothing was run") ||
		!r.Retryable {
		t.Errorf("run at a question = %s, want %s with waiting_for yes_no, retryable", r.text, WriteFailed)
	}
	a.ok(`{"action":"talk","session_id":%s,"command":"y"}`, id)
	if r := a.ok(`{"action":"run","session_id":%s,"command":"echo $x"}`, id); r.Output != "y\n" {
		t.Errorf("run after the answer y = %s, want output y", r.text)
	}
}
