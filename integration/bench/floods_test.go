package bench

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"
)

// How long a command takes while the terminals of five other sessions print without end; for comparison, x/crypto/ssh
// in this process, beside five terminals of its own that it copies to nowhere. The two take turns of 40 commands, and
// only the floods of the current turn print.
func BenchmarkExecBesideFloods(b *testing.B) {
	const (
		floods, commands, turns = 5, 40, 8
		floodLeast              = 256 << 10 // bytes of each; less is no flood
	)
	s := startBenchServer(b)
	p := startBenchProgram(b, s)
	id := p.mustOpen(b)
	raw := benchRawExec(b, s)
	program := func() []time.Duration {
		ids := make([]string, floods)
		for i := range ids {
			ids[i] = p.mustOpen(b)
			r, err := p.call("ptyctl_session_io", `{"action":"write","session_id":%q,"data":"exec yes\r"}`, ids[i])
			r.must(b, err)
		}
		p.exec(b, id, "true")
		took := make([]time.Duration, commands)
		for n := range took {
			command, want := fmt.Sprintf("echo $((%d + 1))", n), fmt.Sprintln(n+1)
			begin := time.Now()
			if r := p.exec(b, id, command); r.Stdout != want {
				b.Fatalf("%s: %+v", command, r)
			}
			took[n] = time.Since(begin)
		}
		for _, id := range ids {
			r, err := p.call("ptyctl_session", `{"action":"status","session_id":%q}`, id)
			if r.must(b, err); r.Session.BytesIn < floodLeast {
				b.Fatalf("a flood of %d bytes", r.Session.BytesIn)
			}
			p.close(b, id)
		}
		return took
	}
	alone := func() []time.Duration {
		var copies sync.WaitGroup
		var ends []io.Closer
		read := make([]int64, floods)
		for i := range floods {
			c := s.dial(b)
			in, out := benchShell(b, c)
			benchSkip(b, in, out)
			if _, err := fmt.Fprint(in, "exec yes\r"); err != nil {
				b.Fatal(err)
			}
			copies.Go(func() { read[i], _ = io.Copy(struct{ io.Writer }{io.Discard}, out) })
			ends = append(ends, c)
		}
		raw()
		took := make([]time.Duration, commands)
		for n := range took {
			took[n] = raw()
		}
		for _, c := range ends {
			_ = c.Close()
		}
		copies.Wait()
		for _, n := range read {
			if n < floodLeast {
				b.Fatalf("a flood of %d bytes", n)
			}
		}
		return took
	}
	var d benchDuel
	for b.Loop() {
		for i := range turns {
			if i%2 == 0 {
				d.program = append(d.program, program()...)
				d.raw = append(d.raw, alone()...)
			} else {
				d.raw = append(d.raw, alone()...)
				d.program = append(d.program, program()...)
			}
		}
	}
	d.latency(b)
}
