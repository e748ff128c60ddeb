package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// How long a command takes that 200 rules judge, and that is printed again, beside the same without any rule. Both
// programs run at the same time, on sessions of their own; x-raw is the judged one's part of the other's median.
func BenchmarkExecJudged(b *testing.B) {
	s := startBenchServer(b)
	allow := make([]string, 0, 100)
	deny := make([]string, 0, 100)
	for i := range 100 {
		allow = append(allow, fmt.Sprintf("'program%d --option *'", i))
		deny = append(deny, fmt.Sprintf("'rm -rf /srv/%d/*'", i))
	}
	allow[99] = "'echo *'"
	judged := startBenchProgram(
		b,
		s,
		"[policy]",
		"allow = ["+strings.Join(allow, ", ")+"]",
		"deny = ["+strings.Join(deny, ", ")+"]",
		"typing = 'allow'",
	)
	free := startBenchProgram(b, s)
	run := func(p *benchProgram) func() time.Duration {
		id, n := p.mustOpen(b), 0
		p.exec(b, id, "echo first")
		return func() time.Duration {
			n++
			command, want := fmt.Sprintf("echo a%d 'b c' 2>/dev/null", n), fmt.Sprintf("a%d b c\n", n)
			begin := time.Now()
			if r := p.exec(b, id, command); r.Stdout != want {
				b.Fatalf("%s: %+v", command, r)
			}
			took := time.Since(begin)
			time.Sleep(2 * time.Millisecond) // ptyctl prepares for its next command, which must not burden the others
			return took
		}
	}
	with, without := run(judged), run(free)
	var d benchDuel
	for b.Loop() {
		for range benchRounds {
			d.round(with, without)
		}
	}
	d.latency(b)
}
