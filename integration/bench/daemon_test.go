package bench

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// How long a call takes through the daemon, beside the same call to a ptyctl without one, in turns. The goals are at
// most 1.15 x-plain for an exec on a warm session, and at most 0.2 more-ms for a list.
func BenchmarkDaemon(b *testing.B) {
	s := startBenchServer(b)
	plain := startBenchProgram(b, s)
	cmd := benchCommand(b, s)
	cmd.Args = append(cmd.Args, "--daemon")
	status := exec.Command(lab.Binary, "daemon", "status", "--json")
	status.Env = cmd.Env
	b.Cleanup(func() { lab.EndDaemonsOf(b, status) }) // after the client, which would get an error
	shim := &benchProgram{startBenchClient(b, cmd), s, 0}
	ends := [2]*benchProgram{shim, plain}
	var ids [2]string
	for i, p := range ends {
		ids[i] = p.mustOpen(b)
		p.exec(b, ids[i], "true") // from now on a spare channel is open
	}
	b.Run("exec", func(b *testing.B) {
		var took [2][]time.Duration
		for b.Loop() {
			for i := range benchRounds {
				for turn := range ends {
					who := (i + turn) % 2
					command, want := fmt.Sprintf("echo $((%d + 1))", i), fmt.Sprintln(i+1)
					begin := time.Now()
					r := ends[who].exec(b, ids[who], command)
					took[who] = append(took[who], time.Since(begin))
					if r.Stdout != want {
						b.Fatalf("exec %q = %q, want %q", command, r.Stdout, want)
					}
					time.Sleep(2 * time.Millisecond) // it prepares for its next command, which must not burden the other
				}
			}
		}
		benchBeside(b, took)
	})
	b.Run("list", func(b *testing.B) {
		var took [2][]time.Duration
		for b.Loop() {
			for i := range benchRounds {
				for turn := range ends {
					who := (i + turn) % 2
					begin := time.Now()
					r, err := ends[who].call("ptyctl_session", `{"action":"list"}`)
					took[who] = append(took[who], time.Since(begin))
					r.must(b, err)
				}
			}
		}
		benchBeside(b, took)
	})
}

// benchBeside reports the median of the first beside that of the second.
func benchBeside(b *testing.B, took [2][]time.Duration) {
	shim, plain := benchQuantile(took[0], 50), benchQuantile(took[1], 50)
	b.ReportMetric(float64(shim)/float64(plain), "x-plain")
	b.ReportMetric(benchMillis(shim-plain), "more-ms")
	b.ReportMetric(benchMillis(shim), "p50-ms")
	b.ReportMetric(benchMillis(plain), "p50-plain-ms")
	b.ReportMetric(0, "ns/op")
}
