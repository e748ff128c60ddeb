package bench

import (
	"fmt"
	"os"
	"path/filepath"
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
	benchTwo(b, judged, startBenchProgram(b, s))
}

// How long a command takes if its line of the audit log is on the disk before it runs, beside the same without an audit
// log. sync-ms is the time of a write and fsync(2) of a line there: x-raw cannot be less than 1 and that.
func BenchmarkExecAudited(b *testing.B) {
	s := startBenchServer(b)
	dir := b.TempDir()
	audited := startBenchProgram(
		b,
		s,
		"[audit]",
		"path = '"+filepath.Join(dir, "audit.jsonl")+"'",
		"fsync = 'always'",
		"fail_closed = true",
	)
	benchTwo(b, audited, startBenchProgram(b, s))
	b.ReportMetric(benchMillis(benchSync(b, dir)), "sync-ms")
}

// benchSync returns the median time of a write and fsync(2) of a line in a file in dir.
func benchSync(b *testing.B, dir string) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "line"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var took []time.Duration
	for range benchRounds {
		begin := time.Now()
		_, err := f.WriteString(strings.Repeat("x", 600) + "\n")
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	return benchQuantile(took, 50)
}

// benchTwo reports how long a command takes in one program, as a ratio to another, on sessions of their own.
func benchTwo(b *testing.B, program, other *benchProgram) {
	b.Helper()
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
	with, without := run(program), run(other)
	var d benchDuel
	for b.Loop() {
		for range benchRounds {
			d.round(with, without)
		}
	}
	d.latency(b)
}
