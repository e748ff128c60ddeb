package bench

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// How fast ptyctl takes a terminal's output with a reader that searches all of it for a pattern, in clean text as by
// default, until the pattern is there; for comparison, x/crypto/ssh copies the same output up to the same text to
// nowhere. The answer must say that no byte was left out. cpu-ns/B is the CPU time of ptyctl.
func BenchmarkSearchedTerminal(b *testing.B) {
	for _, p := range []struct{ name, expr string }{
		{"literal", "RC=0;END"}, {"prompt", `[$#>] $`}, {"general", `(FAILED|PASSED|\w+=\d+;END)`},
	} {
		for _, size := range []int64{4 << 20, 16 << 20} {
			b.Run(fmt.Sprintf("%s/%dMiB", p.name, size>>20), func(b *testing.B) { benchSearched(b, p.expr, size) })
		}
	}
}

func benchSearched(b *testing.B, expr string, size int64) {
	const rounds = 12
	s := startBenchServer(b)
	p := startBenchProgram(b, s, "output_buffer_max_bytes = 33554432", "output_buffer_max_lines = 1000000")
	command := benchBulk(b, benchText["plain"], size) + "; echo RC=0';'END"
	id := p.mustOpen(b)
	received := func() int64 {
		r, err := p.call("ptyctl_session", `{"action":"status","session_id":%q}`, id)
		r.must(b, err)
		return r.Session.BytesIn
	}
	c := s.dial(b)
	b.Cleanup(func() { _ = c.Close() })
	in, out := benchShell(b, c)
	benchSkip(b, in, out)
	var d benchDuel
	var cpu time.Duration
	for b.Loop() {
		for range rounds {
			d.round(func() time.Duration {
				before, from := benchCPU(b, p.pid), received()
				begin := time.Now()
				r, err := p.call(
					"ptyctl_session_io",
					`{"action":"write","session_id":%q,"data":%q,"until_regex":%q,"mode":"tail","max_bytes":80,"timeout_ms":60000}`,
					id,
					command+"\r",
					expr,
				)
				took := time.Since(begin)
				cpu += benchCPU(b, p.pid) - before
				if r.must(b, err); !r.Matched || r.Unsearched != 0 || received()-from < size {
					b.Fatalf("not all was searched: %+v", r)
				}
				p.enter(b, id, "echo rea''dy", `ready\n.*[$#] $`)
				return took
			}, func() time.Duration {
				begin := time.Now()
				if _, err := fmt.Fprint(in, command, "\r"); err != nil {
					b.Fatal(err)
				}
				const near = 256 // bytes, for the marker and a prompt behind it
				n, piece, last := int64(0), make([]byte, 32<<10), []byte{}
				for !bytes.Contains(last, []byte("RC=0;END")) {
					got, err := out.Read(piece)
					if err != nil {
						b.Fatal(err)
					}
					n += int64(got)
					last = append(last[max(len(last)-near, 0):], piece[max(got-near, 0):got]...)
				}
				took := time.Since(begin)
				if n < size {
					b.Fatalf("%d of %d bytes", n, size)
				}
				return took
			})
		}
	}
	d.throughput(b, size)
	b.ReportMetric(float64(cpu)/float64(rounds*b.N)/float64(size), "cpu-ns/B")
}
