package bench

import (
	"fmt"
	"io"
	"testing"
	"time"
)

// benchRounds is how many rounds a latency is measured over: enough for a 99th percentile.
const benchRounds = 400

// How long one command takes over MCP, on a session that has run one before, beside an exec channel of x/crypto/ssh on
// an open connection. mcp-ms is the protocol's share, the time of a ping; sdk-x-raw is x-raw as measured by a client of
// the official SDK; cpu-us is how long ptyctl computes for a command and a ping, whatever else the machine does.
func BenchmarkExecWarm(b *testing.B) {
	s := startBenchServer(b)
	p := startBenchProgram(b, s)
	id := p.mustOpen(b)
	raw := benchRawExec(b, s)
	sdk := benchSDK(b, s)
	p.exec(b, id, "true") // from now on a spare channel is open
	sdk("true", "")
	var d benchDuel
	var pings, sdks []time.Duration
	before := benchCPU(b, p.pid)
	for b.Loop() {
		for i := range benchRounds {
			command, want := fmt.Sprintf("echo $((%d + 1))", i), fmt.Sprintln(i+1)
			d.round(func() time.Duration {
				begin := time.Now()
				if r := p.exec(b, id, command); r.Stdout != want {
					b.Fatalf("%d: %+v", i, r)
				}
				took := time.Since(begin)
				time.Sleep(2 * time.Millisecond) // ptyctl prepares for its next command, which must not burden the others
				return took
			}, raw)
			pings = append(pings, p.ping(b))
			sdks = append(sdks, sdk(command, want))
			time.Sleep(2 * time.Millisecond)
		}
	}
	d.latency(b)
	b.ReportMetric(float64((benchCPU(b, p.pid)-before).Microseconds())/float64(len(pings)), "cpu-us")
	b.ReportMetric(benchMillis(benchQuantile(pings, 50)), "mcp-ms")
	b.ReportMetric(float64(benchQuantile(sdks, 50))/float64(benchQuantile(d.raw, 50)), "sdk-x-raw")
}

// benchRawExec returns a function that runs a command on a channel of a connection of x/crypto/ssh.
func benchRawExec(b *testing.B, s *benchServer) func() time.Duration {
	c := s.dial(b)
	b.Cleanup(func() { _ = c.Close() })
	n := 0
	return func() time.Duration {
		n++
		begin := time.Now()
		session, err := c.NewSession()
		if err != nil {
			b.Fatal(err)
		}
		out, err := session.Output(fmt.Sprintf("echo $((%d + 1))", n))
		if took := time.Since(begin); err == nil && string(out) == fmt.Sprintln(n+1) {
			return took
		}
		b.Fatalf("%d: %q, %v", n, out, err)
		return 0
	}
}

// How long it takes to type a line into a terminal and to read its answer, in one call, beside an exec channel.
func BenchmarkWriteReadWarm(b *testing.B) {
	s := startBenchServer(b)
	p := startBenchProgram(b, s)
	id := p.mustOpen(b)
	raw := benchRawExec(b, s)
	var d benchDuel
	for b.Loop() {
		for i := range benchRounds {
			d.round(func() time.Duration {
				begin := time.Now()
				p.enter(b, id, fmt.Sprintf("echo answer=$((%d + 1))", i), fmt.Sprintf("(?m)^answer=%d$", i+1))
				return time.Since(begin)
			}, raw)
		}
	}
	d.latency(b)
}

// How long it takes from nothing to the first byte of a terminal.
func BenchmarkConnectFirstOutput(b *testing.B) {
	s := startBenchServer(b)
	p := startBenchProgram(b, s)
	var d benchDuel
	for b.Loop() {
		for range 30 {
			d.round(func() time.Duration {
				begin := time.Now()
				id, err := p.open()
				if err != nil {
					b.Fatal(err)
				}
				r, err := p.call("ptyctl_session_io", `{"action":"read","session_id":%q,"cursor":"0","timeout_ms":20000}`, id)
				took := time.Since(begin)
				if r.must(b, err); r.Chunk == "" {
					b.Fatalf("no output: %+v", r)
				}
				p.close(b, id)
				return took
			}, func() time.Duration {
				begin := time.Now()
				c := s.dial(b)
				_, out := benchShell(b, c)
				_, err := io.ReadAtLeast(out, make([]byte, 4<<10), 1)
				took := time.Since(begin)
				if err != nil {
					b.Fatal(err)
				}
				_ = c.Close()
				return took
			})
		}
	}
	d.latency(b)
}
