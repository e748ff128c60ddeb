package bench

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// benchLine is a line of bulk output. It has none of the characters that a prompt ends in.
const benchLine = "-rw-r--r-- 1 root root 1379 Jan  1 00:00 a-file-with-a-name-of-some-length.txt\n"

// benchText is a piece of output of each kind that a benchmark takes.
var benchText = map[string]string{
	"plain":   benchLine,
	"colours": "-rw-r--r-- 1 root root 1379 Jan  1 00:00 \x1b[0m\x1b[01;34mname\x1b[0m and \x1b[32mgreen\x1b[0m text\n",
	"utf8":    "日本語のログ行です。ファイルが見つかりません。\n",
	"table":   benchTable(),
}

// benchTable is a frame of a program that draws a table of 24 rows again and again, as top does.
func benchTable() string {
	var s strings.Builder
	for row := range 24 {
		fmt.Fprintf(&s, "\x1b[%d;1H\x1b[32m%6d\x1b[m root\x1b[6C\x1b[1m%5.1f\x1b[m process-%d --option\x1b[K",
			row+1, 31*row, float64(row), row)
	}
	return s.String()
}

// benchBulk returns a command that writes size bytes of the text, which must be a multiple of 4 MiB, without a process
// that makes them taking part.
func benchBulk(b *testing.B, text string, size int64) string {
	b.Helper()
	const piece = 4 << 20
	text = strings.Repeat(text, piece/len(text)+1)[:piece]
	path := filepath.Join(b.TempDir(), "text")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	// A terminal takes no line of any length (termios(3)), so the command is in a file, too.
	script := benchWrite(b, b.TempDir(), "bulk", "exec cat"+strings.Repeat(" "+path, int(size/piece))+"\n")
	return "sh " + script
}

// How fast the output of a command is taken from the server, beside a copy to nowhere from an exec channel.
func BenchmarkBulkExec(b *testing.B) {
	const size = 256 << 20
	s := startBenchServer(b)
	p := startBenchProgram(b, s)
	id := p.mustOpen(b)
	c := s.dial(b)
	b.Cleanup(func() { _ = c.Close() })
	command := benchBulk(b, benchLine, size)
	var d benchDuel
	for b.Loop() {
		for range 12 {
			d.round(func() time.Duration {
				begin := time.Now()
				r := p.exec(b, id, command)
				if r.StdoutBytes != size {
					b.Fatalf("%d of %d bytes", r.StdoutBytes, size)
				}
				return time.Since(begin)
			}, func() time.Duration {
				begin := time.Now()
				session, err := c.NewSession()
				if err != nil {
					b.Fatal(err)
				}
				out, err := session.StdoutPipe()
				if err != nil {
					b.Fatal(err)
				}
				if err := session.Start(command); err != nil {
					b.Fatal(err)
				}
				if n := benchDiscard(b, out); n != size {
					b.Fatalf("%d of %d bytes", n, size)
				}
				if err := session.Wait(); err != nil {
					b.Fatal(err)
				}
				return time.Since(begin)
			})
		}
	}
	d.throughput(b, size)
	b.ReportMetric(float64(lab.StatusField(b, p.pid, "VmHWM"))/1024, "MiB-peak")
}

// benchDiscard reads r to its end, in pieces of the size in which SSH brings them.
func benchDiscard(b *testing.B, r io.Reader) int64 {
	b.Helper()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 32<<10))
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// How fast ptyctl takes a terminal's output from the server, without a reader, or with one that waits for a prompt; for
// comparison, x/crypto/ssh copies a terminal's output to nowhere.
func BenchmarkBulkTerminal(b *testing.B) {
	for _, reader := range []string{"none", "regexp"} {
		b.Run("reader="+reader, func(b *testing.B) { benchBulkTerminal(b, "plain", reader == "regexp") })
	}
	for _, output := range []string{"colours", "utf8", "table"} {
		b.Run("output="+output, func(b *testing.B) { benchBulkTerminal(b, output, false) })
	}
}

func benchBulkTerminal(b *testing.B, output string, reader bool) {
	const size = 64 << 20
	s := startBenchServer(b)
	p := startBenchProgram(b, s)
	command := "exec " + benchBulk(b, benchText[output], size) // the end of the output is the end of the session
	var d benchDuel
	var sent int64 // size bytes as the terminal sends them: with two for each line end
	var cpu time.Duration
	for b.Loop() {
		for range 8 {
			d.round(func() time.Duration {
				before := benchCPU(b, p.pid)
				took, n := benchTerminalFlood(b, p, command, reader)
				cpu += benchCPU(b, p.pid) - before
				sent = n
				return took
			}, func() time.Duration {
				c := s.dial(b)
				defer c.Close()
				in, out := benchShell(b, c)
				benchSkip(b, in, out)
				begin := time.Now()
				if _, err := fmt.Fprint(in, command, "\r"); err != nil {
					b.Fatal(err)
				}
				n := benchDiscard(b, out)
				if took := time.Since(begin); n >= size {
					return took
				}
				b.Fatalf("%d of %d bytes", n, size)
				return 0
			})
		}
	}
	if sent < size {
		b.Fatalf("%d of %d bytes", sent, size)
	}
	d.throughput(b, sent)
	b.ReportMetric(float64(cpu)/float64(8*b.N)/float64(sent), "cpu-ns/B")
}

// How fast ptyctl takes a terminal's output while it records all of it; for comparison, a ptyctl that records nothing.
// MiB/s is of the one that records, raw-MiB/s of the other.
func BenchmarkRecordedTerminal(b *testing.B) {
	const size = 64 << 20
	s := startBenchServer(b)
	plain := startBenchProgram(b, s)
	recording := startBenchProgram(b, s, "[record]", "dir = '"+filepath.Join(b.TempDir(), "recordings")+"'",
		"max_bytes = 1073741824", "max_total_mib = 256")
	command := "exec " + benchBulk(b, benchLine, size)
	var d benchDuel
	var sent int64
	cpu := map[*benchProgram]time.Duration{}
	flood := func(p *benchProgram) func() time.Duration {
		return func() time.Duration {
			before := benchCPU(b, p.pid)
			took, n := benchTerminalFlood(b, p, command, false)
			cpu[p] += benchCPU(b, p.pid) - before
			sent = n
			return took
		}
	}
	for b.Loop() {
		for range 8 {
			d.round(flood(recording), flood(plain))
		}
	}
	d.throughput(b, sent)
	b.ReportMetric(float64(cpu[recording])/float64(8*b.N)/float64(sent), "cpu-ns/B")
	b.ReportMetric(float64(cpu[plain])/float64(8*b.N)/float64(sent), "plain-cpu-ns/B")
}

// benchCPU returns how long the threads of a process have run, to the nanosecond.
func benchCPU(b *testing.B, pid int) time.Duration {
	b.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		b.Fatalf("the threads of process %d: %v, %v", pid, files, err)
	}
	var sum time.Duration
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended since
		}
		var ran int64
		if _, err := fmt.Sscan(string(text), &ran); err != nil {
			b.Fatalf("%s: %q: %v", f, text, err)
		}
		sum += time.Duration(ran)
	}
	return sum
}

// benchSkip waits until the shell has answered and shows its prompt, as mustOpen does.
func benchSkip(b *testing.B, in io.Writer, out io.Reader) {
	b.Helper()
	if _, err := fmt.Fprint(in, "echo rea''dy\r"); err != nil {
		b.Fatal(err)
	}
	seen, p := "", make([]byte, 4<<10)
	for answered := regexp.MustCompile(`ready\r\n.*[$#] $`); !answered.MatchString(seen); {
		n, err := out.Read(p)
		if err != nil {
			b.Fatal(err)
		}
		seen += string(p[:n])
	}
}

// benchTerminalFlood returns how long it took from typing the command until ptyctl had the last of its output, and how
// much that was. With reader set, someone waits for a prompt all the while.
func benchTerminalFlood(b *testing.B, p *benchProgram, command string, reader bool) (time.Duration, int64) {
	b.Helper()
	id := p.mustOpen(b)
	begin := time.Now()
	r, err := p.call("ptyctl_session_io", `{"action":"write","session_id":%q,"data":%q}`, id, command+"\r")
	r.must(b, err)
	if reader {
		r, err := p.call(
			"ptyctl_session_io",
			`{"action":"read","session_id":%q,"mode":"tail","max_bytes":80,"until_regex":"[$#>] $","timeout_ms":50000}`,
			id,
		)
		if r.must(b, err); !r.EOF || r.Matched {
			b.Fatalf("the reader was to wait until the end: %+v", r)
		}
	}
	for {
		r, err := p.call("ptyctl_session", `{"action":"status","session_id":%q}`, id)
		if r.must(b, err); r.State == "closed" {
			return time.UnixMilli(r.Session.LastIn).Sub(begin), r.Session.BytesIn
		}
		time.Sleep(50 * time.Millisecond) // seldom enough to cost nothing; ptyctl itself notes the time
	}
}
