package bench

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// How long it takes from the start of the process to the answer of initialize.
func BenchmarkStartToInitialize(b *testing.B) {
	s := startBenchServer(b)
	var took []time.Duration
	for b.Loop() {
		for range 20 {
			cmd := benchCommand(b, s)
			in, err := cmd.StdinPipe()
			if err != nil {
				b.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				b.Fatal(err)
			}
			begin := time.Now()
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			if _, err := fmt.Fprintln(
				in,
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"benchmark","version":"1"}}}`,
			); err != nil {
				b.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			took = append(took, time.Since(begin))
			if err != nil || !strings.Contains(line, `"serverInfo"`) {
				b.Fatalf("%v: %s", err, line)
			}
			_ = in.Close()
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(benchMillis(benchQuantile(took, 50)), "p50-ms")
	b.ReportMetric(benchMillis(benchQuantile(took, 90)), "p90-ms")
	b.ReportMetric(0, "ns/op")
}

// How large the program is, as a release has it.
func BenchmarkBinary(b *testing.B) {
	path := filepath.Join(b.TempDir(), "ptyctl")
	for b.Loop() {
		build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", path, "ptyctl/cmd/ptyctl")
		build.Env = append(build.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB")
	b.ReportMetric(0, "ns/op")
}

// How much memory ptyctl takes: at rest after it has answered a client, and for each of 100 sessions with their own
// connections and a prompt as output. The figure is the kernel's, so it includes garbage not yet collected.
func BenchmarkMemory(b *testing.B) {
	s := startBenchServer(b)
	for b.Loop() {
		p := startBenchProgram(b, s)
		time.Sleep(time.Second) // a program at rest has given back the memory of its start
		b.ReportMetric(float64(lab.StatusField(b, p.pid, "VmRSS"))/1024, "MiB-at-rest")
		const sessions = 100
		benchOpenAll(b, p, sessions/10) // the code that the first sessions load does not belong to a session
		few := lab.StatusField(b, p.pid, "VmRSS")
		took := benchOpenAll(b, p, sessions)
		b.ReportMetric(float64(lab.StatusField(b, p.pid, "VmRSS")-few)/sessions, "KiB/session")
		b.ReportMetric(sessions/took.Seconds(), "sessions/s")
		b.ReportMetric(float64(lab.StatusField(b, p.pid, "Threads")), "threads")
		b.ReportMetric(0, "ns/op")
	}
}

// benchOpenAll opens n sessions, eight at a time, and returns how long that took. Each has got its prompt.
func benchOpenAll(b *testing.B, p *benchProgram, n int) time.Duration {
	b.Helper()
	begin := time.Now()
	turns := make(chan struct{}, n)
	for range n {
		turns <- struct{}{}
	}
	close(turns)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range turns {
				id, err := p.open()
				if err == nil {
					_, err = p.call("ptyctl_session_io", `{"action":"read","session_id":%q,"cursor":"0","timeout_ms":20000}`, id)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return time.Since(begin)
}
