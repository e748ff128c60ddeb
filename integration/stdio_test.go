package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
)

// Whatever happens, and however much is logged, stdout belongs to the protocol. The lines are checked at each program's
// end; this makes sure that there was something to see on both sides.
func TestStdoutIsTheProtocols(t *testing.T) {
	s := startSSHD(t)
	c := homeFor(t, []*sshd{s}).connect(t)
	id := c.open(t, s)
	c.call(t, toolExec, `{"session_id":%s,"cmd":"echo to stdout; echo to stderr >&2"}`, id)
	c.enter(t, id, "echo in' 'terminal\r", `in terminal\s`)
	c.refused(t, "CONNECT_FAILED", toolSession, `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":1}`)
	c.refused(t, "INVALID_ARGUMENT", toolSession, `{"action":"open"}`)
	c.close(t, id)
	c.finish()
	if lines := strings.Count(c.seen.String(), "\n"); lines < 7 {
		t.Errorf("stdout has %d lines, want an answer for each of the 7 requests:\n%s", lines, c.seen)
	}
	if !strings.Contains(c.log.String(), "session ended") {
		t.Errorf("the log does not tell of the session:\n%s", c.log)
	}
}

// Any number of reads may wait while others write: it is a write that ends their wait.
func TestBlockedReadsDelayNothing(t *testing.T) {
	s := startSSHD(t)
	c := homeFor(t, []*sshd{s}).converse(t)
	id := c.open(s)
	c.nextResult(c.ask(toolIO, `{"action":"write","session_id":%s,"data":"sleep 999\r"}`, id))
	eventually(t, "the start of sleep 999", func() bool { return running(t, s.pid, "sleep 999") })

	waiting := make(map[string]bool)
	for range 50 {
		waiting[c.ask(toolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"released-\\d","timeout_ms":30000}`, id)] = true
	}
	// The answers to these come next, before that of any read.
	c.nextResult(c.ask(toolIO, `{"action":"write","session_id":%s,"data":"   "}`, id))
	c.nextResult(c.ask(toolIO, `{"action":"write","session_id":%s,"key":"ctrl_c"}`, id))
	eventually(t, "the end of sleep 999 by ctrl_c", func() bool { return !running(t, s.pid, "sleep 999") })

	release := c.ask(toolIO, `{"action":"write","session_id":%s,"data":%s}`, id, "echo rel'eased-'1\r")
	for range len(waiting) + 1 {
		a := c.next()
		if string(a.ID) == release {
			continue
		}
		if r := a.result(t); !waiting[string(a.ID)] || !r.Matched {
			t.Errorf("got %s, want a read's match", tail(string(a.line), 512))
		}
		delete(waiting, string(a.ID))
	}
}

// At the end of the input, what was asked is answered, although a line was not finished.
func TestEndOfInput(t *testing.T) {
	s := startSSHD(t)
	c := homeFor(t, []*sshd{s}).converse(t)
	id := c.open(s)
	var asked []string
	var lines strings.Builder
	for i := range 20 {
		line, n := c.request(toolExec, `{"session_id":%s,"cmd":%s}`, id, fmt.Sprintf("sleep 0.5; echo answer %d", i))
		asked = append(asked, n)
		lines.WriteString(line + "\n")
	}
	last, n := c.request(toolSession, `{"action":"list"}`)
	c.send(lines.String() + last) // without the line end
	rest := c.drain()
	for i, id := range asked {
		a, ok := rest[id]
		if !ok {
			t.Errorf("request %s has no answer", id)
			continue
		}
		if r := a.result(t); r.Stdout != fmt.Sprintf("answer %d\n", i) {
			t.Errorf("request %s: %s", id, r.text)
		}
	}
	if a, ok := rest[n]; !ok || len(a.result(t).Sessions) != 1 {
		t.Errorf("the last line, which had no end, was not answered: %s", a.line)
	}
	s.idle(t)
}

// However ptyctl is told to stop, it ends well and leaves nothing on the other side.
func TestStop(t *testing.T) {
	s := startSSHD(t)
	h := homeFor(t, []*sshd{s})
	ways := []struct {
		name string
		stop func(c *conversation) error
	}{
		{"end of input", func(c *conversation) error { return c.stdin.Close() }},
		{"SIGTERM", func(c *conversation) error { return c.cmd.Process.Signal(syscall.SIGTERM) }},
		{"SIGINT", func(c *conversation) error { return c.cmd.Process.Signal(syscall.SIGINT) }},
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			c := h.converse(t)
			var id string
			for range 3 {
				id = c.open(s)
			}
			c.nextResult(c.ask(toolIO, `{"action":"write","session_id":%s,"data":"sleep 999\r"}`, id))
			eventually(t, "the start of sleep 999", func() bool { return running(t, s.pid, "sleep 999") })
			c.ask(toolIO, `{"action":"read","session_id":%s,"until_regex":"never","timeout_ms":30000}`, id)
			begin := time.Now()
			if err := w.stop(c); err != nil {
				t.Fatal(err)
			}
			c.checkEnd()
			t.Logf("ended after %v", time.Since(begin))
			s.idle(t)
			// That the connections are gone proves little: they would also go with the process.
			if log := c.log.String(); strings.Count(log, "session ended") != 3 || !strings.Contains(log, "stopped") {
				t.Errorf("the log does not tell of the end of 3 sessions, and of ptyctl:\n%s", log)
			}
		})
	}
}

// A client that goes away without reading its answers ends ptyctl too, with all it has opened.
func TestClientGone(t *testing.T) {
	s := startSSHD(t)
	h := homeFor(t, []*sshd{s})
	cmd := h.command("mcp", "--config", h.config)
	log := newCapture()
	cmd.Stderr = io.MultiWriter(log, leaktest.Writer(t, "log"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const request = `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}` + "\n"
	fmt.Fprintf(
		in,
		request,
		"initialize",
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"integration","version":"1"}}`,
	)
	fmt.Fprintf(
		in,
		request,
		"tools/call",
		`{"name":"`+toolSession+`","arguments":`+fmt.Sprintf(openSSH, fmt.Sprint(s.port), fmt.Sprintf("%q", s.user))+`}`,
	)
	eventually(
		t,
		"a connection",
		func() bool { return len(s.sessions(t)) == 1 && strings.Contains(log.String(), "session open") },
	)
	out.Close()
	fmt.Fprintf(in, request, "ping", "{}")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(patience):
		cmd.Process.Kill()
		t.Fatalf("ptyctl goes on without a client: %v", <-ended)
	}
	// An answer was lost, which is a failure; its client is not there to see the status, but others may be.
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(log.String(), "answers were lost") {
		t.Errorf("ptyctl ended with %v, want status 1 and the reason:\n%s", err, log)
	}
	s.idle(t)
}

// What is no request gets an error, and the next request its answer.
func TestLinesThatAreNoRequests(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":"alive","method":"ping"}`
	c := newHome(t).converse(t)
	tests := []struct {
		name, line string
		code       int
		message    string
	}{
		{"no JSON", `{"jsonrpc":`, -32700, "not valid JSON"},
		{"words", `hello`, -32700, "not valid JSON"},
		{"empty", ``, -32700, "empty line"},
		{"blanks", "  \t", -32700, "empty line"},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}", -32700, "UTF-8"},
		{"NUL", "\x00", -32700, "not valid JSON"},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600, "batches"},
		{"empty batch", `[]`, -32600, "batches"},
		{"number", `42`, -32600, "object"},
		{"other version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600, "2.0"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, -32600, "method"},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, "id"},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, -32601, "no/such"},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such"}}`, -32602, "no_such"},
		{"deeply nested", strings.Repeat(`[`, 1<<20), -32700, "JSON"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c.t = t
			c.send(test.line + "\n")
			if a := c.next(); a.Error == nil || a.Error.Code != test.code || !strings.Contains(a.Error.Message, test.message) {
				t.Errorf("got %s, want error %d that says %q", tail(string(a.line), 1024), test.code, test.message)
			}
			c.send(ping + "\n")
			if a := c.next(); a.Error != nil || string(a.ID) != `"alive"` {
				t.Errorf("got %s, want the answer to ping", tail(string(a.line), 1024))
			}
		})
	}
}

// A line without end is refused in bounded memory.
func TestLineTooLong(t *testing.T) {
	const size = 64 << 20
	c := newHome(t).converse(t)
	before := statusField(t, c.pid, "VmHWM")
	c.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`)
	if _, err := io.Copy(c.stdin, bytes.NewReader(bytes.Repeat([]byte("x"), size))); err != nil {
		t.Fatal(err)
	}
	c.send("\"}}\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n")
	if a := c.next(); a.Error == nil || a.Error.Code != -32600 || !strings.Contains(a.Error.Message, "8388608 bytes") {
		t.Errorf("got %s, want error -32600 that names the limit", tail(string(a.line), 1024))
	}
	if a := c.next(); a.Error != nil || string(a.ID) != "2" {
		t.Errorf("got %s, want the answer to ping", tail(string(a.line), 1024))
	}
	// The limit is 8 MiB; the line grows by doubling, and the race detector's shadow costs some times as much.
	grown := statusField(t, c.pid, "VmHWM") - before
	t.Logf("a line of %d MiB cost %d KiB", size>>20, grown)
	if grown > 160<<10 {
		t.Errorf("a line of %d MiB made the program grow by %d KiB", size>>20, grown)
	}
}
