//go:build long

package bench

import (
	"fmt"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// Memory, and CPU time per second of the clock, of 1,000 idle sessions, each with its own connection and prompt. sshd
// needs some 3,000 processes for them.
//
//	go test -tags long -run '^$' -bench ThousandSessions ./integration/bench
func BenchmarkThousandSessions(b *testing.B) {
	const sessions = 1000
	s := startBenchServer(b)
	for b.Loop() {
		p := startBenchProgram(b, s, fmt.Sprint("max_sessions = ", sessions))
		took := benchOpenAll(b, p, sessions)
		before, begin := benchCPU(b, p.pid), time.Now()
		time.Sleep(time.Minute) // keepalives, and whatever else runs by the clock, are part of being idle
		used := benchCPU(b, p.pid) - before
		b.ReportMetric(benchMillis(used)/time.Since(begin).Seconds(), "cpu-ms/s")
		b.ReportMetric(float64(lab.StatusField(b, p.pid, "VmRSS"))/1024, "MiB")
		b.ReportMetric(float64(lab.StatusField(b, p.pid, "VmHWM"))/1024, "MiB-peak")
		b.ReportMetric(sessions/took.Seconds(), "sessions/s")
		b.ReportMetric(float64(lab.StatusField(b, p.pid, "Threads")), "threads")
		b.ReportMetric(0, "ns/op")
	}
}
