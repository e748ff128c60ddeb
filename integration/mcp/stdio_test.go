package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

// Whatever happens, and however much is logged, stdout belongs to the protocol. The lines are checked at each program's
// end; this makes sure that there was something to see on both sides.
func TestStdoutIsTheProtocols(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)
	id := c.Open(t, s)
	c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo to stdout; echo to stderr >&2"}`, id)
	c.Enter(t, id, "echo in' 'terminal\r", `in terminal\s`)
	c.Refused(t, "CONNECT_FAILED", lab.ToolSession, `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":1}`)
	c.Refused(t, "INVALID_ARGUMENT", lab.ToolSession, `{"action":"open"}`)
	c.Close(t, id)
	c.Finish()
	if lines := strings.Count(c.Seen.String(), "\n"); lines < 7 {
		t.Errorf("stdout has %d lines, want an answer for each of the 7 requests:\n%s", lines, c.Seen)
	}
	if !strings.Contains(c.EngineLog(), "session ended") {
		t.Errorf("the log lacks the session:\n%s", c.Log)
	}
}

// Any number of reads may wait while others write: it is a write that ends their wait.
func TestBlockedReadsDelayNothing(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}).Converse(t)
	id := c.Open(s)
	c.NextResult(c.Ask(lab.ToolIO, `{"action":"write","session_id":%s,"data":"sleep 999\r"}`, id))
	lab.Eventually(t, "the start of sleep 999", func() bool { return lab.Runs(t, s.PID, "sleep 999") })

	waiting := make(map[string]bool)
	for range 50 {
		waiting[c.Ask(
			lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"released-\\d","timeout_ms":30000}`, id,
		)] = true
	}
	// The answers to these come next, before that of any read.
	c.NextResult(c.Ask(lab.ToolIO, `{"action":"write","session_id":%s,"data":"   "}`, id))
	c.NextResult(c.Ask(lab.ToolIO, `{"action":"write","session_id":%s,"key":"ctrl_c"}`, id))
	lab.Eventually(t, "the end of sleep 999 by ctrl_c", func() bool { return !lab.Runs(t, s.PID, "sleep 999") })

	release := c.Ask(lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, id, "echo rel'eased-'1\r")
	for range len(waiting) + 1 {
		a := c.Next()
		if string(a.ID) == release {
			continue
		}
		if r := a.ToolResult(t); !waiting[string(a.ID)] || !r.Matched {
			t.Errorf("got %s, want a read's match", lab.Tail(string(a.Line), 512))
		}
		delete(waiting, string(a.ID))
	}
}

// Requests before the end of the input must be answered, even if the last line is not finished.
func TestEndOfInput(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}).Converse(t)
	id := c.Open(s)
	var asked []string
	var lines strings.Builder
	for i := range 20 {
		line, n := c.Request(lab.ToolExec, `{"session_id":%s,"cmd":%s}`, id, fmt.Sprintf("sleep 0.5; echo answer %d", i))
		asked = append(asked, n)
		lines.WriteString(line + "\n")
	}
	last, n := c.Request(lab.ToolSession, `{"action":"list"}`)
	c.Send(lines.String() + last) // without the line end
	rest := c.Drain()
	for i, id := range asked {
		a, ok := rest[id]
		if !ok {
			t.Errorf("request %s has no answer", id)
			continue
		}
		if r := a.ToolResult(t); r.Stdout != fmt.Sprintf("answer %d\n", i) {
			t.Errorf("request %s: %s", id, r.Text)
		}
	}
	if a, ok := rest[n]; !ok || len(a.ToolResult(t).Sessions) != 1 {
		t.Errorf("the last line, which had no end, was not answered: %s", a.Line)
	}
	c.EndEngine()
	s.WaitIdle(t)
}

// However ptyctl is stopped, it must end well and leave nothing on the other side.
func TestStop(t *testing.T) {
	s := lab.StartSSHD(t)
	ways := []struct {
		name string
		stop func(c *lab.Conversation) error
	}{
		{"end of input", func(c *lab.Conversation) error { return c.Stdin.Close() }},
		{"SIGTERM", func(c *lab.Conversation) error { return c.Cmd.Process.Signal(syscall.SIGTERM) }},
		{"SIGINT", func(c *lab.Conversation) error { return c.Cmd.Process.Signal(syscall.SIGINT) }},
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			c := lab.HomeFor(t, []*lab.SSHD{s}).Converse(t)
			var id string
			for range 3 {
				id = c.Open(s)
			}
			c.NextResult(c.Ask(lab.ToolIO, `{"action":"write","session_id":%s,"data":"sleep 999\r"}`, id))
			lab.Eventually(t, "the start of sleep 999", func() bool { return lab.Runs(t, s.PID, "sleep 999") })
			waiting := []string{
				c.Ask(lab.ToolIO, `{"action":"read","session_id":%s,"until_regex":"never","timeout_ms":30000}`, id),
				c.Ask(lab.ToolExec, `{"session_id":%s,"cmd":"sleep 998","lane":"channel"}`, id),
				c.Ask(lab.ToolExec, `{"session_id":%s,"cmd":"sleep 997","lane":"channel","request_id":"a"}`, id),
			}
			lab.Eventually(t, "the start of sleep 997", func() bool { return lab.Runs(t, s.PID, "sleep 997") })
			begin := time.Now()
			if err := w.stop(c); err != nil {
				t.Fatal(err)
			}
			rest := c.Drain()
			for _, id := range waiting { // nothing goes on, and nothing can be read again
				a, ok := rest[id]
				if lab.ThroughDaemon { // all of it goes on in the daemon, and a signal ends the shim without answers
					if want := w.name == "end of input"; ok != want || ok && strings.Contains(string(a.Line), "stopping") {
						t.Errorf("request %s is answered: %t with %s, want %t, without the end of ptyctl", id, ok, a.Line, want)
					}
				} else if !ok {
					t.Errorf("request %s has no answer", id)
				} else if r := a.ToolResult(t); r.ErrorCode != "CANCELED" || !strings.Contains(r.Message, "ptyctl is stopping") ||
					strings.Contains(r.Message, "command ends") { // sshd lets it go on
					t.Errorf("request %s: %s, want CANCELED because ptyctl is stopping", id, r.Text)
				}
			}
			t.Logf("ended after %v", time.Since(begin))
			if lab.ThroughDaemon && !lab.Runs(t, s.PID, "sleep 999") {
				t.Error("the program in the terminal has ended with the shim, want it in the daemon's session")
			}
			c.EndEngine()
			s.WaitIdle(t)
			// That the connections are gone proves little: they would also go with the process.
			if log := c.EngineLog(); strings.Count(log, "session ended") != 3 || !strings.Contains(log, "stopped") {
				t.Errorf("the log lacks the end of 3 sessions, or of ptyctl:\n%s", log)
			}
		})
	}
}

// A client that goes away without reading its answers ends ptyctl too, with all it has opened.
func TestClientGone(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	cmd := h.Command("mcp", "--config", h.Config)
	log := lab.NewCapture()
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
		`{"name":"`+lab.ToolSession+`","arguments":`+fmt.Sprintf(
			lab.OpenSSH,
			fmt.Sprint(s.Port),
			fmt.Sprintf("%q", s.User),
		)+`}`,
	)
	lab.Eventually(t, "a connection", func() bool {
		return len(s.Sessions(t)) == 1 && strings.Contains(log.String()+h.DaemonLogs(t), "session open")
	})
	out.Close()
	fmt.Fprintf(in, request, "ping", "{}")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(lab.Patience):
		cmd.Process.Kill()
		t.Fatalf("ptyctl goes on without a client: %v", <-ended)
	}
	// An answer was lost, which is a failure; its client is not there to see the status, but others may be.
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(log.String(), "answers were lost") {
		t.Errorf("ptyctl ended with %v, want status 1 and the reason:\n%s", err, log)
	}
	h.StopDaemons(t)
	s.WaitIdle(t)
}

// A line that is not a request must get an error, and the next request its answer.
func TestLinesThatAreNoRequests(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":"alive","method":"ping"}`
	c := lab.NewHome(t).Converse(t)
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
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600, "2025-03-26"},
		{"empty batch", `[]`, -32600, "2025-03-26"},
		{"number", `42`, -32600, "object"},
		{"other version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600, "2.0"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, -32600, "method"},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, "id"},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, -32601, "no/such"},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such"}}`, -32602, "no_such"},
		{"deeply nested", strings.Repeat(`[`, 1<<20), -32700, "JSON of the message is nested too deeply: at most 10000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c.TB = t
			c.Send(test.line + "\n")
			if a := c.Next(); a.Error == nil || a.Error.Code != test.code || !strings.Contains(a.Error.Message, test.message) {
				t.Errorf("got %s, want error %d that says %q", lab.Tail(string(a.Line), 1024), test.code, test.message)
			}
			c.Send(ping + "\n")
			if a := c.Next(); a.Error != nil || string(a.ID) != `"alive"` {
				t.Errorf("got %s, want the answer to ping", lab.Tail(string(a.Line), 1024))
			}
		})
	}
}

// A line without end is refused in bounded memory.
func TestLineTooLong(t *testing.T) {
	const size = 64 << 20
	c := lab.NewHome(t).Converse(t)
	before := lab.StatusField(t, c.PID, "VmHWM")
	c.Send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`)
	if _, err := io.Copy(c.Stdin, bytes.NewReader(bytes.Repeat([]byte("x"), size))); err != nil {
		t.Fatal(err)
	}
	c.Send("\"}}\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n")
	if a := c.Next(); a.Error == nil || a.Error.Code != -32600 || !strings.Contains(a.Error.Message, "8388608 bytes") {
		t.Errorf("got %s, want error -32600 that names the limit", lab.Tail(string(a.Line), 1024))
	}
	if a := c.Next(); a.Error != nil || string(a.ID) != "2" {
		t.Errorf("got %s, want the answer to ping", lab.Tail(string(a.Line), 1024))
	}
	// The limit is 8 MiB; the line grows by doubling, and the race detector's shadow costs some times as much.
	grown := lab.StatusField(t, c.PID, "VmHWM") - before
	t.Logf("a line of %d MiB cost %d KiB", size>>20, grown)
	if grown > 160<<10 {
		t.Errorf("a line of %d MiB made the program grow by %d KiB", size>>20, grown)
	}
}

// A client of the revision that has batches gets the answers to one as one line.
func TestBatch(t *testing.T) {
	p := lab.NewHome(t).Start(t)
	send := func(line string) {
		if _, err := io.WriteString(p.Stdin, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	lines := bufio.NewScanner(p.Answers())
	lines.Buffer(nil, 1<<20)
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},` +
		`"clientInfo":{"name":"batching","version":"1"}}}`)
	if !lines.Scan() || !strings.Contains(lines.Text(), `"2025-03-26"`) {
		t.Fatalf("initialize = %s, want revision 2025-03-26", lab.Tail(lines.Text(), 500))
	}
	send(`[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"ping"},` +
		`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"ptyctl_session","arguments":{"action":"list"}}}]`)
	var answers []struct {
		ID     any
		Result json.RawMessage
	}
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &answers) != nil || len(answers) != 2 || answers[0].Result == nil ||
		answers[1].Result == nil {
		t.Errorf("answer to a batch = %s, want an array of two results", lab.Tail(lines.Text(), 500))
	}
}
