package bench

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// A benchProgram is a ptyctl that serves this process over stdio. Its log goes nowhere.
type benchProgram struct {
	*benchClient
	server *benchServer
	pid    int
}

// A benchResult holds the fields of a tool's result that the benchmarks need.
type benchResult struct {
	SessionID   string `json:"session_id"`
	State       string
	Chunk       string
	Cursor      string
	Matched     bool
	Unsearched  int64 `json:"unsearched_bytes"`
	EOF         bool
	Stdout      string
	StdoutBytes int64 `json:"stdout_bytes"`
	ExitCode    *int  `json:"exit_code"`
	Socket      string
	Session     struct {
		LastIn  int64 `json:"last_in"` // Unix milliseconds
		BytesIn int64 `json:"bytes_in"`
	}
}

// benchCommand is a call of ptyctl that knows s. Lines of configuration are added to its table [session].
func benchCommand(b *testing.B, s *benchServer, lines ...string) *exec.Cmd {
	b.Helper()
	dir := b.TempDir()
	config := benchWrite(b, dir, "ptyctl.toml", strings.Join(append([]string{
		"[ssh]", "known_hosts_path = '" + benchWrite(b, dir, "known_hosts", s.knownHosts()) + "'",
		"config_path = '" + benchWrite(
			b,
			dir,
			"ssh_config",
			"IdentityAgent none\nIdentitiesOnly yes\nIdentityFile "+s.identity+"\n",
		) + "'",
		"[session]",
	}, lines...), "\n"))
	cmd := exec.Command(lab.Binary, "mcp", "--results", "full", "--config", config)
	cmd.Env = []string{"HOME=" + dir, "XDG_RUNTIME_DIR=" + lab.RuntimeDir(b), "PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
	return cmd
}

// startBenchProgram starts ptyctl and shakes hands with it. It ends with the benchmark.
func startBenchProgram(b *testing.B, s *benchServer, lines ...string) *benchProgram {
	b.Helper()
	cmd := benchCommand(b, s, lines...)
	return &benchProgram{startBenchClient(b, cmd), s, cmd.Process.Pid}
}

// must ends the benchmark if a call has failed.
func (benchResult) must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// benchOpen are the arguments that open a session on a port, for a user.
const benchOpen = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%d,"username":%q}`

// open opens a session on the server and returns its id.
func (p *benchProgram) open() (string, error) {
	r, err := p.call("ptyctl_session", benchOpen, p.server.port, p.server.user)
	if err == nil && r.State != "open" {
		err = fmt.Errorf("the session is %s", r.State)
	}
	return r.SessionID, err
}

// mustOpen opens a session with a shell ready for input.
func (p *benchProgram) mustOpen(b *testing.B) string {
	b.Helper()
	id, err := p.open()
	if err != nil {
		b.Fatal(err)
	}
	p.enter(b, id, "echo rea''dy", `ready\n.*[$#] $`)
	return id
}

// close ends a session.
func (p *benchProgram) close(b *testing.B, id string) {
	b.Helper()
	r, err := p.call("ptyctl_session", `{"action":"close","session_id":%q}`, id)
	r.must(b, err)
}

// exec runs a command beside the terminal.
func (p *benchProgram) exec(b *testing.B, id, command string) benchResult {
	b.Helper()
	r, err := p.call("ptyctl_session_exec", `{"session_id":%q,"cmd":%q,"lane":"channel"}`, id, command)
	if r.must(b, err); r.ExitCode == nil || *r.ExitCode != 0 {
		b.Fatalf("%s: %+v", command, r)
	}
	return r
}

// enter types a line and waits in the same call for a pattern in the output after it.
func (p *benchProgram) enter(b *testing.B, id, line, pattern string) benchResult {
	b.Helper()
	r, err := p.call(
		"ptyctl_session_io",
		`{"action":"write","session_id":%q,"data":%q,"until_regex":%q,"timeout_ms":20000}`,
		id,
		line+"\r",
		pattern,
	)
	if r.must(b, err); !r.Matched {
		b.Fatalf("after writing %q: want a match of %q, got %q", line, pattern, r.Chunk)
	}
	return r
}

// A benchDuel collects how long ptyctl and x/crypto/ssh alone took for the same thing, in turns.
type benchDuel struct{ program, raw []time.Duration }

// round lets both do it once. They take turns at going first, for the second finds the machine as the first left it.
func (d *benchDuel) round(program, raw func() time.Duration) {
	if len(d.raw)%2 == 0 {
		d.program = append(d.program, program())
		d.raw = append(d.raw, raw())
		return
	}
	d.raw = append(d.raw, raw())
	d.program = append(d.program, program())
}

// latency reports how many times as long as x/crypto/ssh alone ptyctl took: the median, and with enough rounds for it
// the 99th percentile.
func (d *benchDuel) latency(b *testing.B) {
	program, raw := benchQuantile(d.program, 50), benchQuantile(d.raw, 50)
	b.ReportMetric(float64(program)/float64(raw), "x-raw")
	low, high := d.extremes()
	b.ReportMetric(low, "least-x-raw")
	b.ReportMetric(high, "most-x-raw")
	if len(d.raw) >= 200 {
		b.ReportMetric(float64(benchQuantile(d.program, 99))/float64(benchQuantile(d.raw, 99)), "p99-x-raw")
	}
	b.ReportMetric(benchMillis(program), "p50-ms")
	b.ReportMetric(benchMillis(raw), "p50-raw-ms")
	b.ReportMetric(0, "ns/op") // of both and all between: says nothing
}

// extremes returns the least and the greatest x-raw of eight parts of the rounds, in their order: the quartiles of single
// rounds say how the machine's load changes, and these how far the median can be trusted.
func (d *benchDuel) extremes() (low, high float64) {
	parts := min(8, len(d.raw))
	for i := range parts {
		from, to := len(d.raw)*i/parts, len(d.raw)*(i+1)/parts
		x := float64(benchQuantile(d.program[from:to], 50)) / float64(benchQuantile(d.raw[from:to], 50))
		if i == 0 {
			low, high = x, x
		}
		low, high = min(low, x), max(high, x)
	}
	return low, high
}

// throughput reports how many times as fast as x/crypto/ssh alone ptyctl took size bytes from the server: the median of
// the rounds, because the other load of the machine changes more between rounds than within one.
func (d *benchDuel) throughput(b *testing.B, size int64) {
	ratios := make([]float64, len(d.raw))
	for i := range ratios {
		ratios[i] = float64(d.raw[i]) / float64(d.program[i])
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x-raw")
	b.ReportMetric(ratios[0], "least-x-raw")
	b.ReportMetric(ratios[len(ratios)-1], "most-x-raw")
	b.ReportMetric(float64(size)/(1<<20)/benchQuantile(d.program, 50).Seconds(), "MiB/s")
	b.ReportMetric(float64(size)/(1<<20)/benchQuantile(d.raw, 50).Seconds(), "raw-MiB/s")
	b.ReportMetric(0, "ns/op")
}

// benchQuantile returns the time that percent of all are not longer than.
func benchQuantile(all []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}

func benchMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
