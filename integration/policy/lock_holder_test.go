package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"ptyctl/internal/lab"
)

// asHolder is everything that a lock keeps others from, each with %s for the session and for the task.
var asHolder = []struct{ tool, arguments string }{
	{lab.ToolIO, `{"action":"write","session_id":%s,"task_id":%s,"data":" intru''der\r"}`},
	{lab.ToolIO, `{"action":"write","session_id":%s,"task_id":%s,"key":"ctrl_c"}`},
	{lab.ToolExec, `{"session_id":%s,"task_id":%s,"cmd":"echo intru''der","lane":"terminal"}`},
	{lab.ToolExec, `{"session_id":%s,"task_id":%s,"cmd":"true","lane":"channel"}`},
	{lab.ToolSession, `{"action":"signal","session_id":%s,"task_id":%s,"signal":"INT"}`},
	{lab.ToolSession, `{"action":"lock","session_id":%s,"task_id":%s}`},
	{lab.ToolSession, `{"action":"lock","session_id":%s,"task_id":%s,"take_over":true}`},
	{lab.ToolSession, `{"action":"heartbeat","session_id":%s,"task_id":%s}`},
	{lab.ToolSession, `{"action":"unlock","session_id":%s,"task_id":%s}`},
	{lab.ToolSession, `{"action":"close","session_id":%s,"task_id":%s}`},
	{lab.ToolConfig, `{"action":"resize","session_id":%s,"task_id":%s,"cols":80,"rows":24}`},
	{lab.ToolConfig, `{"action":"expect","session_id":%s,"task_id":%s,"expect":{"profile":"posix"}}`},
}

// texts collects every string of a JSON value.
func texts(v any, into []string) []string {
	switch v := v.(type) {
	case string:
		into = append(into, v)
	case []any:
		for _, e := range v {
			into = texts(e, into)
		}
	case map[string]any:
		for _, e := range v {
			into = texts(e, into)
		}
	}
	return into
}

// spokenOf returns every possible name in the texts that a caller received: each string, and each part of it that looks
// like a person's name.
func spokenOf(tb testing.TB, received ...string) []string {
	tb.Helper()
	var words []string
	for _, text := range received {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
		for _, s := range texts(v, nil) {
			if strings.Contains(s, "person") || strings.Contains(s, "attach") {
				words = append(words, s)
				words = append(words, personName.FindAllString(s, -1)...)
			}
		}
	}
	return words
}

var personName = regexp.MustCompile(`person [^(]*\([^)]*\)`)

// A person who has taken a terminal must keep it: no text that a caller received, passed as the name of a task, may
// give the caller the person's place, neither for the agent nor for another program of the same account at the control
// socket.
func TestNoCallerTakesThePlaceOfAPerson(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite, "[locks]\nallow_take_over = true")
	c := h.Connect(t)
	id := c.Open(t, s)
	c.PlainShell(t, id)
	p := h.AtTerminal(t, "attach", "--config", h.Config, "--take", id)
	p.Sees("you have taken " + id)
	p.Types("echo per''son\r")
	p.Sees("person\r\n")

	refused := c.Refused(t, "LOCKED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x"}`, id)
	for _, word := range []string{"task_id", "take_over", "take the lock over"} {
		if strings.Contains(refused.Message, word) {
			t.Errorf("the refusal says how to get in (%s): %s", word, refused.Message)
		}
	}
	if !strings.Contains(refused.Message, "person ") || !strings.Contains(refused.Text, `"lock_expires_at":`) {
		t.Errorf("the refusal lacks the holder or the end of the lock: %s", refused.Text)
	}
	status := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
	list := c.Call(t, lab.ToolSession, `{"action":"list"}`)
	words := append(spokenOf(t, refused.Text, status.Text, list.Text), status.Holder, "person", "attached", "")
	if len(words) < 5 {
		t.Fatalf("nothing names the person: %s", refused.Text)
	}
	for _, word := range words {
		for _, call := range asHolder {
			arguments := strings.Replace(call.arguments, "%s", mustJSON(t, id), 1)
			arguments = strings.Replace(arguments, "%s", mustJSON(t, word), 1)
			if word == "" {
				if strings.Contains(arguments, `"take_over"`) || strings.Contains(arguments, "lock") ||
					strings.Contains(arguments, "heartbeat") {
					continue
				}
				arguments = strings.Replace(arguments, `,"task_id":""`, "", 1)
			}
			if r, err := c.Try(t.Context(), call.tool, strings.ReplaceAll(arguments, "%", "%%")); err != nil ||
				r.ErrorCode != "LOCKED" {
				t.Fatalf("the agent: %s %s = %s, %v, want LOCKED", call.tool, arguments, r.Text, err)
			}
			if word != status.Holder { // each is a process
				continue
			}
			if stdout, stderr, status := h.Run(t, "call", "--config", h.Config, call.tool, arguments); status != 1 ||
				!strings.Contains(stdout, `"error_code":"LOCKED"`) {
				t.Fatalf("another program: %s %s = status %d, %s, %s, want LOCKED", call.tool, arguments, status, stdout, stderr)
			}
		}
	}
	p.Types("echo sti''ll\r")
	p.Sees("still\r\n")
	if now := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id); now.Holder != status.Holder {
		t.Errorf("the lock is with %q, want %q", now.Holder, status.Holder)
	}

	// Another person may take over from them, and the first person must learn of it.
	q := h.AtTerminal(t, "attach", "--config", h.Config, "--take", id)
	q.Sees("you have taken " + id + ".* from person ")
	q.Types("echo sec''ond\r")
	q.Sees("second\r\n")
	p.Types("x")
	p.Sees("took the lock over")
	p.Leaves(1)
	q.Types("\x1d")
	q.Leaves(0)
	if text := c.Call(
		t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","timeout_ms":0,"max_bytes":100000}`, id,
	).Chunk; strings.Contains(
		text,
		"intruder",
	) {
		t.Errorf("another caller's input reached the terminal:\n%s", text)
	}
}

func mustJSON(tb testing.TB, v any) string {
	tb.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// An eavesdropper relays between a command and the control socket, and records the command's requests.
type eavesdropper struct {
	path string

	mu    sync.Mutex // guards the following
	heard bytes.Buffer
}

func (e *eavesdropper) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heard.Write(p)
}

func (e *eavesdropper) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heard.String()
}

// eavesdrop listens between a new socket and the one at path.
func eavesdrop(tb testing.TB, path string) *eavesdropper {
	tb.Helper()
	e := &eavesdropper{path: filepath.Join(lab.RuntimeDir(tb), "between.sock")}
	l, err := net.Listen("unix", e.path)
	if err != nil {
		tb.Fatal(err)
	}
	var all sync.WaitGroup
	tb.Cleanup(all.Wait)
	tb.Cleanup(func() { l.Close() })
	all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", path)
			if err != nil {
				near.Close()
				continue
			}
			copies := func(to io.Writer, from io.Reader) func() {
				return func() {
					_, _ = io.Copy(to, from)
					near.Close()
					far.Close()
				}
			}
			all.Go(copies(io.MultiWriter(far, e), near))
			all.Go(copies(near, far))
		}
	})
	return e
}

var attachmentHeader = regexp.MustCompile(`(?i)\r\nPtyctl-Attachment: ([^\r]+)\r\n`)

// The proof of an attached person's client is in nothing that others can see. It is bound to the process that issued
// it: changed by a byte, or sent over HTTP, it is worthless.
func TestTheProofOfAnAttachedPersonIsTheirsAlone(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
	c := h.Connect(t, "--transport", "both", "--listen", "127.0.0.1:0")
	socket := filepath.Join(h.RuntimeDir, "ptyctl", fmt.Sprintf("%d.sock", c.PID))
	between := eavesdrop(t, socket)
	id := c.Open(t, s)
	c.PlainShell(t, id)
	p := h.AtTerminal(t, "attach", "--config", h.Config, "--socket", between.path, "--take", id)
	p.Sees("you have taken " + id)
	p.Types("echo per''son\r")
	p.Sees("person\r\n")
	found := attachmentHeader.FindStringSubmatch(between.text())
	if found == nil {
		t.Fatalf("the client proves nothing:\n%s", between.text())
	}
	proof := found[1]
	if len(proof) < 43 {
		t.Errorf("the proof %q can be guessed", proof)
	}

	if status := helloAt(t, socket, proof); status != http.StatusOK {
		t.Errorf("with the proof itself: %d, want 200", status)
	}
	changedAt := func(i int) string {
		other := map[bool]string{true: "B", false: "A"}[proof[i] == 'A']
		return proof[:i] + other + proof[i+1:]
	}
	for _, changed := range []string{
		changedAt(0), changedAt(len(proof) / 2), strings.ToUpper(proof), "x",
		proof + "A", proof[:len(proof)-8],
	} {
		if status := helloAt(t, socket, changed); status != http.StatusForbidden {
			t.Errorf("with the proof changed to %q: %d, want 403", changed, status)
		}
	}
	trail, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	received := c.Call(
		t,
		lab.ToolSession,
		`{"action":"status","session_id":%s}`,
		id,
	).Text + c.Call(
		t,
		lab.ToolSession,
		`{"action":"list"}`,
	).Text
	for what, text := range map[string]string{
		"the results of an agent": received, "the audit log": string(trail), "the log": c.EngineLog(), "the terminal": p.Text(),
	} {
		if strings.Contains(text, proof) {
			t.Errorf("%s holds the proof", what)
		}
	}

	// As the name of a task it is a name.
	r := c.Refused(t, "LOCKED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x","task_id":%s}`, id, proof)
	if strings.Contains(r.Text, proof) {
		t.Errorf("the refusal holds the proof: %s", r.Text)
	}
	over := c.Dial(t, c.URL(), "")
	over.Heard = c.Heard
	over.Refused(t, "LOCKED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x","task_id":%s}`, id, proof)
	p.Types("\x1d")
	p.Leaves(0)
}

// helloAt sends a handshake to the socket, with a proof, and returns the status of the answer.
func helloAt(tb testing.TB, socket, proof string) int {
	tb.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Ptyctl-Attachment", proof)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}
