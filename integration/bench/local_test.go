package bench

import (
	"flag"
	"io"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"ptyctl/internal/lab"
)

// benchOthers is how many other processes the machine has while programs are started on it: what ptyctl does for a
// program must not cost more because of them.
var benchOthers = flag.Int("others", 0, "start programs beside this many sleeping processes")

// startBenchOthers starts them. They end with the benchmark.
func startBenchOthers(b *testing.B) {
	b.Helper()
	for range *benchOthers {
		cmd := exec.Command("sleep", "10000")
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}

// startBenchLocal starts a ptyctl that supervises programs of this machine, as it does for every user.
func startBenchLocal(b *testing.B) *benchClient {
	b.Helper()
	dir := b.TempDir()
	cmd := exec.Command(lab.Binary, "mcp", "--results", "full", "--config", benchWrite(b, dir, "ptyctl.toml", ""))
	cmd.Env = []string{"HOME=" + dir, "XDG_RUNTIME_DIR=" + lab.RuntimeDir(b), "PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
	c := startBenchClient(b, cmd)
	startBenchOthers(b)
	return c
}

// How long ptyctl_run takes for a program that does nothing, until none of its processes is left, beside fork and exec
// alone by package os/exec.
func BenchmarkLocalRun(b *testing.B) {
	p := startBenchLocal(b)
	var d benchDuel
	for b.Loop() {
		for range benchRounds {
			d.round(func() time.Duration {
				begin := time.Now()
				r, err := p.call("ptyctl_run", `{"argv":["true"]}`)
				took := time.Since(begin)
				if r.must(b, err); r.ExitCode == nil || *r.ExitCode != 0 {
					b.Fatalf("ptyctl_run of true: %+v, want exit code 0", r)
				}
				return took
			}, func() time.Duration {
				begin := time.Now()
				if err := exec.Command("true").Run(); err != nil {
					b.Fatal(err)
				}
				return time.Since(begin)
			})
		}
	}
	d.latency(b)
	d.spread(b)
}

// How long it takes to open a terminal on this machine and to close it, until none of its processes is left, beside
// creack/pty.
func BenchmarkLocalOpenClose(b *testing.B) {
	p := startBenchLocal(b)
	var d benchDuel
	for b.Loop() {
		for range benchRounds {
			d.round(func() time.Duration {
				begin := time.Now()
				r, err := p.call("ptyctl_session", `{"action":"open","protocol":"local","argv":["cat"]}`)
				r.must(b, err)
				r, err = p.call("ptyctl_session", `{"action":"close","session_id":%q}`, r.SessionID)
				r.must(b, err)
				return time.Since(begin)
			}, func() time.Duration {
				begin := time.Now()
				cmd := exec.Command("cat")
				f, err := pty.StartWithAttrs(cmd, &pty.Winsize{Cols: 120, Rows: 40}, &syscall.SysProcAttr{Setsid: true, Setctty: true})
				if err != nil {
					b.Fatal(err)
				}
				go func() { _, _ = io.Copy(io.Discard, f) }()
				_ = cmd.Process.Signal(syscall.SIGHUP) // its own files are in blocking mode: a close would wait for the reader
				_ = cmd.Wait()
				_ = f.Close()
				return time.Since(begin)
			})
		}
	}
	d.latency(b)
	d.spread(b)
}

// spread reports the middle half of the times.
func (d *benchDuel) spread(b *testing.B) {
	b.ReportMetric(benchMillis(benchQuantile(d.program, 25)), "p25-ms")
	b.ReportMetric(benchMillis(benchQuantile(d.program, 75)), "p75-ms")
}
