package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
)

// startBenchOthers starts n other processes, which sleep. They end with the benchmark.
func startBenchOthers(b *testing.B, n int) {
	b.Helper()
	for range n {
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
	return startBenchClient(b, cmd)
}

// How long ptyctl_run takes for a program that does nothing, until none of its processes is left, beside fork and exec
// alone by package os/exec. It must not take longer because the machine has many other processes.
func BenchmarkLocalRun(b *testing.B) {
	for _, others := range []int{0, 2000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			startBenchOthers(b, others)
			benchLocalRun(b)
		})
	}
}

func benchLocalRun(b *testing.B) {
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
				f, err := pty.StartWithAttrs(cmd, &pty.Winsize{Cols: 120, Rows: 40}, system.Leader(true))
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

// How much memory ptyctl_run says a program has taken that fills a buffer of 64 MiB, as a multiple of that. Of true it
// says nothing: Linux counts the memory of its starter.
func BenchmarkMaxRSS(b *testing.B) {
	const buffer = 64 << 10 // KiB
	p := startBenchLocal(b)
	run := func(argv string) (kib float64) {
		a, err := p.ask("tools/call", `{"name":"ptyctl_run","arguments":{"argv":`+argv+`}}`)
		if err != nil || a.Result.IsError {
			b.Fatal(err, a.Result)
		}
		var r struct {
			Usage struct {
				MaxRSSKB float64 `json:"max_rss_kb"`
			}
		}
		if err := json.Unmarshal([]byte(a.Result.Content[0].Text), &r); err != nil {
			b.Fatal(err)
		}
		return r.Usage.MaxRSSKB
	}
	var all []float64
	for b.Loop() {
		all = append(all, run(fmt.Sprintf(`["dd","if=/dev/zero","of=/dev/null","bs=%dK","count=1"]`, buffer))/buffer)
		if kib := run(`["true"]`); kib > 4<<10 {
			b.Fatalf("true has taken %g KiB, want its own memory or none", kib)
		}
	}
	slices.Sort(all)
	b.ReportMetric(all[len(all)/2], "x-buffer")
	b.ReportMetric(0, "ns/op")
}

// spread reports the middle half of the times.
func (d *benchDuel) spread(b *testing.B) {
	b.ReportMetric(benchMillis(benchQuantile(d.program, 25)), "p25-ms")
	b.ReportMetric(benchMillis(benchQuantile(d.program, 75)), "p75-ms")
}
