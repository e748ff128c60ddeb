//go:build unix

package ptyx_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/ptyx"
	"ptyctl/term"
)

// The memory is that of the program, or unknown where the system may have counted that of this process.
func TestProgramMemory(t *testing.T) {
	held := bytes.Repeat([]byte{1}, 40<<20)
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	large := 2 * int64(own.Maxrss)                              //nolint:unconvert // 32 bits on some processors
	for _, limits := range []term.Limits{{}, {OpenFiles: 64}} { // the latter through the shim
		for _, tt := range []struct {
			argv  []string
			least int64 // KiB; 0: unknown
		}{
			{[]string{"true"}, 0},
			{[]string{"dd", "if=/dev/zero", "of=/dev/null", "count=1", fmt.Sprintf("bs=%d", large<<10)}, large},
		} {
			_, _, e := run(t, ptyx.Host{}, job{LocalOptions: term.LocalOptions{Argv: tt.argv, Limits: limits}})
			if got := e.Usage.MaxRSS; got < tt.least || got > tt.least+20<<10 {
				t.Errorf("with limits %+v, %v has taken %d KiB, want %d or little more", limits, tt.argv, got, tt.least)
			}
		}
	}
	runtime.KeepAlive(held)
}

func TestProgram(t *testing.T) {
	out, errs, e := run(t, ptyx.Host{}, job{LocalOptions: sh("cat; echo oops >&2; exit 3"), stdin: []byte("in\x00put")})
	if out != "in\x00put" || errs != "oops\n" || !e.Known || e.Code != 3 || e.Killed != "" ||
		string(e.Limit)+e.Suspected != "" {
		t.Errorf("%q, %q, %+v", out, errs, e)
	}
	const script = "read x; echo $?; test -t 1 || echo no terminal; kill -9 $$"
	out, _, e = run(t, ptyx.Host{}, job{LocalOptions: term.LocalOptions{Argv: []string{"sh", "-c", script}}})
	if out != "1\nno terminal\n" || e.Signal != "KILL" || e.Code != 137 {
		t.Errorf("%s: output %q, exit %+v, want no input, no terminal and signal KILL", script, out, e)
	}
}

// A program must not be blocked by unread input or by megabytes of output.
func TestProgramStreams(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 4<<20)
	nothing := job{LocalOptions: term.LocalOptions{Argv: []string{"true"}}, stdin: big}
	if _, _, e := run(t, ptyx.Host{}, nothing); e.Code != 0 {
		t.Errorf("true with 4 MiB of input: exit = %+v, want code 0", e)
	}
	both := job{LocalOptions: term.LocalOptions{Argv: []string{"tee", "/dev/stderr"}}, stdin: big}
	if out, errs, _ := run(t, ptyx.Host{}, both); len(out) != len(big) || len(errs) != len(big) {
		t.Errorf("%d and %d bytes came of %d", len(out), len(errs), len(big))
	}
}

func TestProgramTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		script, out, signal string
		code                int
		grace               time.Duration
	}{
		"obeys":   {"echo up; exec sleep 1000", "up\n", "TERM", 143, patience},
		"traps":   {"trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.01; done", "up\nbye\n", "", 9, patience},
		"ignores": {"trap '' TERM; echo up; while :; do sleep 0.01; done", "up\n", "KILL", 137, 300 * time.Millisecond},
	} {
		tr, err := ptyx.Host{}.Open(t.Context(), term.Target{PTY: term.PTY{Disabled: true}, Local: sh(c.script)}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		var out bytes.Buffer
		up := make(firstWrite, 1)
		go func() { // its time is over when it runs
			select {
			case <-up:
			case <-ctx.Done():
			}
			cancel()
		}()
		e, err := tr.(*ptyx.Program).Exec(ctx, term.ExecRequest{Grace: c.grace}, io.MultiWriter(&out, up), io.Discard)
		late := errors.Is(ctx.Err(), context.DeadlineExceeded)
		cancel()
		_ = tr.Close()
		if late || err != nil || out.String() != c.out || e.Killed != "yes" || e.Signal != c.signal || e.Code != c.code {
			t.Errorf("%s: %q, %+v, %v; it said too late that it runs: %v", name, &out, e, err, late)
		}
	}
}

func TestProgramRunsOnce(t *testing.T) {
	tr, err := ptyx.Host{}.Open(
		t.Context(),
		term.Target{PTY: term.PTY{Disabled: true}, Local: term.LocalOptions{Argv: []string{"echo", "x"}, Title: "a title"}},
		nil,
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	g := tr.(*ptyx.Program)
	var out bytes.Buffer
	if _, err := g.Exec(t.Context(), term.ExecRequest{}, &out, io.Discard); err != nil || out.String() != "x\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if _, err := g.Read(make([]byte, 1)); err == nil {
		t.Error("there was something to read")
	}
	if _, err := g.Exec(t.Context(), term.ExecRequest{Command: "echo x"}, &out, &out); !errors.Is(err, term.Unsupported) {
		t.Errorf("a second program: %v", err)
	}
	if _, err := g.Write([]byte("x")); !errors.Is(err, term.Unsupported) {
		t.Errorf("a write: %v", err)
	}
	if err := g.Resize(1, 1); !errors.Is(err, term.Unsupported) {
		t.Errorf("a resize: %v", err)
	}
	if d := g.Describe(); d.PTY || d.Process.PID == 0 || d.Process.Title != "a title" ||
		strings.Join(d.Process.Argv, " ") != "echo x" {
		t.Errorf("described as %+v", d.Process)
	}
}

// Close must end a running program, and must prevent a later start.
func TestCloseOfAProgram(t *testing.T) {
	for _, started := range []bool{true, false} {
		tr, err := ptyx.Host{}.Open(
			t.Context(),
			term.Target{PTY: term.PTY{Disabled: true}, Local: sh("trap '' TERM; echo up; while :; do sleep 0.1; done")},
			nil,
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		g := tr.(*ptyx.Program)
		up, ended := make(firstWrite, 1), make(chan term.Exit, 1)
		if started {
			go func() {
				e, _ := g.Exec(context.Background(), term.ExecRequest{}, up, up)
				ended <- e
			}()
			<-up
		}
		began := time.Now()
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > patience {
			t.Errorf("Close took %v, want at most %v", took, patience)
		}
		if _, err := g.Read(make([]byte, 1)); err == nil {
			t.Error("there was something to read")
		}
		if started {
			if e := <-ended; e.Signal != "KILL" {
				t.Errorf("exit after Close = %+v, want signal KILL", e)
			}
		}
	}
}

// firstWrite signals the first write.
type firstWrite chan struct{}

func (f firstWrite) Write(p []byte) (int, error) {
	select {
	case f <- struct{}{}:
	default:
	}
	return len(p), nil
}

// A panicking writer is a caller's.
type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("of the caller") }

// A writer that fails once is a caller's, too.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// The output that no writer takes must still be read, and a writer of a caller's must not end this process.
func TestProgramWriters(t *testing.T) {
	const script = "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; exit 7"
	for _, tc := range []struct {
		name     string
		out, err io.Writer
		kind     term.Kind
		script   string // empty: much output, and status 7
	}{
		{name: "nil"},
		{name: "nil stderr", out: io.Discard},
		{name: "failing", out: failing{}, err: failing{}},
		{name: "panicking", out: panicking{}, kind: term.Internal},
		{name: "panicking stderr", err: panicking{}, kind: term.Internal},
		{name: "panicking, and the program would go on", out: panicking{}, kind: term.Internal, script: "echo x; exec sleep 1000"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		local := sh(cmp.Or(tc.script, script))
		tr, err := ptyx.Host{}.Open(ctx, term.Target{PTY: term.PTY{Disabled: true}, Local: local}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		e, err := tr.(*ptyx.Program).Exec(ctx, term.ExecRequest{}, tc.out, tc.err)
		if ctx.Err() != nil || term.KindOf(err) != tc.kind || tc.kind == "" && (!e.Known || e.Code != 7 || e.Killed != "") {
			t.Errorf("%s: Exec = %+v, %v, want code 7 and an error of kind %q", tc.name, e, err, tc.kind)
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		cancel()
	}
}
