//go:build unix

package ptyx_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"ptyctl/ptyx"
	"ptyctl/term"
)

func TestMain(m *testing.M) {
	ptyx.EnableLimits()
	os.Exit(m.Run())
}

// patience is the time limit of each wait in these tests.
const patience = time.Minute

// open starts a program on a terminal, and closes it at the end of the test.
func open(tb testing.TB, o term.LocalOptions) *ptyx.Terminal {
	tb.Helper()
	return openWith(tb, ptyx.Host{}, term.Target{Local: o})
}

func openWith(tb testing.TB, h ptyx.Host, t term.Target) *ptyx.Terminal {
	tb.Helper()
	tr, err := h.Open(tb.Context(), t, nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tr.Close() })
	return tr.(*ptyx.Terminal)
}

func sh(script string) term.LocalOptions {
	return term.LocalOptions{Argv: []string{"sh", "-c", script}}
}

// until reads until text has come, and returns everything read.
func until(tb testing.TB, t *ptyx.Terminal, text string) string {
	tb.Helper()
	var got strings.Builder
	p := make([]byte, 4096)
	alarm := time.AfterFunc(patience, func() { _ = t.Close() })
	defer alarm.Stop()
	for !strings.Contains(got.String(), text) {
		n, err := t.Read(p)
		got.Write(p[:n])
		if err != nil {
			tb.Fatalf("%v before %q came; got %q", err, text, got.String())
		}
	}
	return got.String()
}

// rest reads to the end.
func rest(tb testing.TB, t *ptyx.Terminal) string {
	tb.Helper()
	alarm := time.AfterFunc(patience, func() { _ = t.Close() })
	defer alarm.Stop()
	all, err := io.ReadAll(t)
	if err != nil {
		tb.Fatalf("%v after %q", err, all)
	}
	return string(all)
}

// exitOf returns the exit of a program after its output has ended.
func exitOf(tb testing.TB, t *ptyx.Terminal) term.Exit {
	tb.Helper()
	e, err := t.Wait()
	if err != nil || !e.Known {
		tb.Fatalf("no exit: %+v, %v", e, err)
	}
	return e
}

// A job is a program without a terminal, and its input.
type job struct {
	term.LocalOptions
	stdin []byte
	grace time.Duration
}

// run runs a program without a terminal.
func run(tb testing.TB, h ptyx.Host, j job) (stdout, stderr string, exit term.Exit) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	stdout, stderr, exit, err := tryRun(ctx, h, j)
	if err != nil {
		tb.Fatal(err)
	}
	return stdout, stderr, exit
}

func tryRun(ctx context.Context, h ptyx.Host, j job) (stdout, stderr string, exit term.Exit, err error) {
	tr, err := h.Open(ctx, term.Target{PTY: term.PTY{Disabled: true}, Local: j.LocalOptions}, nil, nil)
	if err != nil {
		return "", "", exit, err
	}
	defer func() { _ = tr.Close() }()
	var out, errs strings.Builder
	exit, err = tr.(*ptyx.Program).Exec(ctx, term.ExecRequest{Stdin: j.stdin, Grace: j.grace}, &out, &errs)
	return out.String(), errs.String(), exit, err
}

func program(argv ...string) job { return job{LocalOptions: term.LocalOptions{Argv: argv}} }
