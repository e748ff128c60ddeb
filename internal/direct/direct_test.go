//go:build unix

package direct

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/control"
	"ptyctl/internal/app"
	"ptyctl/internal/app/apptest"
	"ptyctl/internal/attach"
	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi/identity"
)

const password = "direct-password-1138"

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// A host is an SSH server, and an app that knows its key.
type host struct {
	Host
	ctx context.Context
	on  *control.Client
}

func newHost(t *testing.T) *host {
	t.Helper()
	srv, err := sshserver.Listen(
		sshserver.Config{Passwords: map[string]string{"me": leaktest.Secret(t, password)}, Shell: "/bin/sh"},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	known := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(known, []byte(srv.KnownHostsLine()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := apptest.Config(t, "[ssh]", "use_openssh_config = false", fmt.Sprintf("known_hosts_path = %q", known))
	a, err := app.ForCommand(cfg, app.Options{Version: "test", Logger: leaktest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	h := &host{Host: Host{Protocol: "ssh", Host: "127.0.0.1", User: "me", Port: srv.Port()}}
	h.ctx = identity.WithCaller(t.Context(), identity.Caller{Transport: "cli", Operator: true})
	if h.on, err = a.Client(h.ctx, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.on.Close)
	return h
}

// open opens a session, with a person who gives this answer.
func (h *host) open(t *testing.T, answer string) (*attach.Attachment, error) {
	t.Helper()
	in, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := answers.WriteString(answer); err != nil {
		t.Fatal(err)
	}
	_ = answers.Close()
	var asked, warned bytes.Buffer
	at, err := Open(h.ctx, h.on, h.Host, attach.NewPerson(in, &asked), &warned)
	leaktest.Output(t, "question", asked.String()+warned.String())
	if err == nil && !strings.Contains(asked.String(), "asks (password)") {
		t.Errorf("the person is asked %q, want for the password", asked.String())
	}
	return at, err
}

// coloured is text that a model gets in another form.
const coloured = "\x1b[1;31mred\x1b[m\r\n\x1b]0;title\a 10%\r20%\r\n\u202e\u200b\x00\x1b"

// A command's output comes to a person as it is, to the byte, whatever format models get.
func TestExec(t *testing.T) {
	h := newHost(t)
	at, err := h.open(t, password+"\n")
	if err != nil {
		t.Fatalf("Open = %v, want nil", err)
	}
	tests := []struct {
		name      string
		c         Command
		out, errs string
		code      int // -1: not known
		timedOut  bool
	}{
		{"short", Command{Line: "echo out; echo err >&2; exit 3"}, "out\n", "err\n", 3, false},
		{"words", Command{Argv: []string{"printf", "%s|", "a b", "$HOME"}}, "a b|$HOME|", "", 0, false},
		{"colours and CR", Command{Line: "tee /dev/stderr", Stdin: []byte(coloured)}, coloured, coloured, 0, false},
		{"streamed colours", Command{Line: "cat; sleep 0.6; printf '0m|'", Stdin: []byte("\x1b[31mred\x1b[")}, "\x1b[31mred\x1b[0m|", "", 0, false},
		{"many colours", Command{Line: "cat", Stdin: []byte(strings.Repeat(coloured, 10000))}, strings.Repeat(coloured, 10000), "", 0, false},
		{"stdin", Command{Line: "cat", Stdin: []byte("\x00\xffin")}, "\x00\xffin", "", 0, false},
		{"no stdin", Command{Line: "cat", Stdin: []byte{}}, "", "", 0, false},
		{"streamed", Command{Line: "echo 1; sleep 0.6; echo 2; echo e >&2; exit 4"}, "1\n2\n", "e\n", 4, false},
		{"long", Command{Line: "sleep 0.4; i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done"}, strings.Repeat("0123456789\n", 20000), "", 0, false},
		{"too long", Command{Line: "echo began; sleep 60", Timeout: 700 * time.Millisecond}, "began\n", "", -1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.c.Timeout == 0 {
				tt.c.Timeout = time.Minute
			}
			var out, errs bytes.Buffer
			end, err := Exec(h.ctx, h.on, at.ID, tt.c, &out, &errs)
			if err != nil || out.String() != tt.out || errs.String() != tt.errs || end.TimedOut != tt.timedOut {
				t.Errorf("Exec(%q) = %.100q, %q, %+v, %v; want %.100q, %q", tt.c.Line, &out, &errs, end, err, tt.out, tt.errs)
			}
			if tt.code >= 0 && (end.ExitCode == nil || *end.ExitCode != tt.code) {
				t.Errorf("Exec(%q) exit = %v, want %d", tt.c.Line, end.ExitCode, tt.code)
			}
		})
	}
}

// A caller who leaves must end the command. A writer that accepts no output must not be reported as a failure of the
// host.
func TestExecEnds(t *testing.T) {
	h := newHost(t)
	at, err := h.open(t, password+"\n")
	if err != nil {
		t.Fatalf("Open = %v, want nil", err)
	}
	mark := filepath.Join(t.TempDir(), "mark")
	if err := syscall.Mkfifo(mark, 0o600); err != nil {
		t.Fatal(err)
	}
	left, err := os.OpenFile(mark, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	ctx, stop := context.WithCancel(h.ctx)
	reader, writer := io.Pipe()
	go func() {
		_, _ = reader.Read(make([]byte, 10))
		stop()
		_, _ = io.Copy(io.Discard, reader)
	}()
	c := Command{Line: "exec 9> " + mark + "; echo began; while :; do sleep 0.1; done", Timeout: time.Minute}
	if _, err := Exec(ctx, h.on, at.ID, c, writer, io.Discard); !errors.Is(err, ErrInterrupted) {
		t.Errorf("Exec of a caller who leaves = %v, want ErrInterrupted", err)
	}
	if _, err := Exec(ctx, h.on, at.ID, c, writer, io.Discard); !errors.Is(err, ErrInterrupted) {
		t.Errorf("Exec of a caller who left before the first result = %v, want ErrInterrupted", err)
	}
	if err := left.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(left); err != nil { // ends when the last process of the command has
		t.Errorf("20 s after its caller has left the command still runs: %v", err)
	}
	_ = reader.Close()
	_, none := io.Pipe()
	_ = none.Close()
	for _, line := range []string{"echo x", "echo x; sleep 0.5"} { // the output comes with the first result, or in a stream
		_, err = Exec(h.ctx, h.on, at.ID, Command{Line: line, Timeout: time.Minute}, none, io.Discard)
		if !errors.As(err, new(*OutputError)) {
			t.Errorf("Exec of %q into a closed pipe = %v, want an *OutputError", line, err)
		}
	}
}

// An answer that is missing or wrong leaves no session open.
func TestOpenFails(t *testing.T) {
	h := newHost(t)
	if at, err := h.open(t, ""); err == nil {
		t.Errorf("Open without an answer = %+v, want an error", at)
	} else {
		leaktest.Output(t, "error", err.Error())
	}
	h.Port = 1
	if at, err := h.open(t, ""); err == nil || at != nil {
		t.Errorf("Open of a closed port = %+v, %v; want an error", at, err)
	}
}
