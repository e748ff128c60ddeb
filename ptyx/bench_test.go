//go:build unix

package ptyx_test

import (
	"io"
	"os/exec"
	"syscall"
	"testing"
	"time"

	creack "github.com/creack/pty"

	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

// drain reads to the end and discards the data.
func drain(r io.Reader) (total int64) {
	p := make([]byte, 16<<10)
	for {
		n, err := r.Read(p)
		total += int64(n)
		if err != nil {
			return total
		}
	}
}

// BenchmarkDrain compares a session, which keeps a terminal's output for its
// readers, with a reader that discards it. The system's line discipline dominates
// both, so the ratio says more than the rate.
func BenchmarkDrain(b *testing.B) {
	const size = 32 << 20
	o := term.LocalOptions{
		Argv: []string{
			"sh",
			"-c",
			"yes 'a line as long as many others are, of seventy characters or so....' | head -c 33554432",
		},
	}
	var raw, kept time.Duration
	for b.Loop() {
		t := openWith(b, ptyx.Host{}, term.Target{Local: o})
		began := time.Now()
		if n := drain(t); n < size {
			b.Fatalf("%d bytes", n)
		}
		raw += time.Since(began)

		t = openWith(b, ptyx.Host{}, term.Target{Local: o})
		began = time.Now()
		s := session.New(t, session.Options{})
		<-s.Ended()
		kept += time.Since(began)
		if end := s.End(); end < size {
			b.Fatalf("%d bytes", end)
		}
		s.Close(b.Context(), session.CloseOptions{})
	}
	b.ReportMetric(float64(raw)/float64(kept), "x-discarded")
	b.ReportMetric(float64(size)*float64(b.N)/kept.Seconds()/(1<<20), "MiB/s")
}

// BenchmarkFirstByte measures the time from the start of a program to its first
// output, compared with creack/pty.
func BenchmarkFirstByte(b *testing.B) {
	var ours, theirs time.Duration
	p := make([]byte, 64)
	for b.Loop() {
		began := time.Now()
		tr, err := ptyx.Host{}.Open(b.Context(), term.Target{Local: term.LocalOptions{Argv: []string{"echo", "x"}}}, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := tr.Read(p); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(began)
		drain(tr)
		_ = tr.Close()

		began = time.Now()
		cmd := exec.Command("echo", "x")
		f, err := creack.StartWithAttrs(
			cmd,
			&creack.Winsize{Cols: 120, Rows: 40},
			&syscall.SysProcAttr{Setsid: true, Setctty: true},
		)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Read(p); err != nil {
			b.Fatal(err)
		}
		theirs += time.Since(began)
		_ = cmd.Wait()
		_ = f.Close()
	}
	b.ReportMetric(float64(ours)/float64(theirs), "x-creack")
}

// BenchmarkKeystroke measures the time from a key to its echo.
func BenchmarkKeystroke(b *testing.B) {
	t := open(
		b,
		sh("stty raw echo; echo up; exec cat >/dev/null"),
	) // raw, except for the echo: a line would be full after 4,095
	until(b, t, "up\n")
	p := make([]byte, 64)
	for b.Loop() {
		if _, err := t.Write([]byte("k")); err != nil {
			b.Fatal(err)
		}
		if n, err := t.Read(p); err != nil || n != 1 {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkRun runs a program without a terminal, until none of its processes is
// left.
func BenchmarkRun(b *testing.B) {
	var ours, plain time.Duration
	for b.Loop() {
		began := time.Now()
		if _, _, e := run(b, ptyx.Host{}, program("echo", "x")); e.Code != 0 {
			b.Fatal(e)
		}
		ours += time.Since(began)
		began = time.Now()
		if _, err := exec.Command("echo", "x").Output(); err != nil {
			b.Fatal(err)
		}
		plain += time.Since(began)
	}
	b.ReportMetric(float64(ours)/float64(plain), "x-exec")
}
