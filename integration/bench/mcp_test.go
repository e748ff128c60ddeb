package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// BenchmarkMCP compares the whole of a call with the same call to a bare server of mcp-go, which sends the same bytes
// and does nothing for them, turn by turn. The client is minimal. The goal is at most 1.10 x-bare.
func BenchmarkMCP(b *testing.B) {
	s := startBenchServer(b)
	ours := startBenchEnds(b, benchBoth(benchCommand(b, s)))
	read := ours.fill(b, s)
	calls := []struct{ name, params string }{
		{"trivial", `{"name":"ptyctl_session","arguments":{"action":"list","state":"closed"}}`},
		{"64KiB", read},
	}
	results := map[string]string{
		lab.ToolSession: ours.stdio.result(b, calls[0].params),
		lab.ToolIO:      ours.stdio.result(b, calls[1].params),
	}
	if n := len(results[lab.ToolIO]); n < 64<<10 {
		b.Fatalf("the large result has %d bytes", n)
	}
	bare := startBenchEnds(b, benchBare(b, results))
	for _, call := range calls {
		if got := bare.stdio.result(b, call.params); !strings.Contains(call.params, lab.ToolIO) &&
			got != results[lab.ToolSession] {
			b.Fatalf("the bare server answers %s", got)
		}
		b.Run(call.name+"/stdio", func(b *testing.B) { benchPair(b, ours.stdio, bare.stdio, call.params) })
		b.Run(call.name+"/HTTP", func(b *testing.B) { benchPair(b, ours.http, bare.http, call.params) })
	}
}

// benchPair makes the same call to both, in turn; each of them goes first in half the turns.
func benchPair(b *testing.B, ours, bare benchEnd, params string) {
	var took [2][]time.Duration
	ends := [2]benchEnd{ours, bare}
	for i := 0; b.Loop(); i++ {
		for range 20 {
			for turn := range ends {
				who := (i + turn) % 2
				begin := time.Now()
				if err := ends[who].call(params); err != nil {
					b.Fatal(err)
				}
				took[who] = append(took[who], time.Since(begin))
			}
		}
	}
	for who, name := range []string{"", "-bare"} {
		var sum time.Duration
		for _, d := range took[who] {
			sum += d
		}
		b.ReportMetric(float64(len(took[who]))/sum.Seconds(), "calls/s"+name)
		b.ReportMetric(benchMillis(benchQuantile(took[who], 50)), "p50-ms"+name)
		b.ReportMetric(benchMillis(benchQuantile(took[who], 99)), "p99-ms"+name)
	}
	b.ReportMetric(float64(benchQuantile(took[0], 50))/float64(benchQuantile(took[1], 50)), "p50-x-bare")
	b.ReportMetric(0, "ns/op")
}

// A benchEnd is a way to call a server, one call at a time.
type benchEnd interface {
	call(params string) error
}

// benchEnds are both ways to one server.
type benchEnds struct {
	stdio *benchLines
	http  *benchPosts
}

// benchBoth has ptyctl serve HTTP too, as fast as it can.
func benchBoth(cmd *exec.Cmd) *exec.Cmd {
	cmd.Args = append(cmd.Args, "--transport", "both", "--listen", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "PTYCTL_SERVER_HTTP_RATE_LIMIT=0")
	return cmd
}

// benchBare is this test binary as the bare server.
func benchBare(b *testing.B, results map[string]string) *exec.Cmd {
	b.Helper()
	text, err := json.Marshal(results)
	if err != nil {
		b.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = []string{
		lab.FixtureVariable + "=bare",
		bareResults + "=" + benchWrite(b, b.TempDir(), "results.json", string(text)),
	}
	return cmd
}

var benchURL = regexp.MustCompile(`serving MCP at (\S+)`)

// startBenchEnds starts a server that says on stderr where its HTTP end is, and shakes hands at both ends. It ends with
// the benchmark.
func startBenchEnds(b *testing.B, cmd *exec.Cmd) benchEnds {
	b.Helper()
	log := lab.NewCapture()
	cmd.Stderr = log
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			b.Errorf("%v ended with %v:\n%s", cmd.Args, err, log)
		}
	})
	lab.Eventually(b, "an HTTP port", func() bool { return benchURL.MatchString(log.String()) })
	ends := benchEnds{
		&benchLines{in: in, out: bufio.NewReaderSize(out, 1<<20)},
		&benchPosts{url: benchURL.FindStringSubmatch(log.String())[1], client: &http.Client{Transport: &http.Transport{}}},
	}
	b.Cleanup(ends.http.client.CloseIdleConnections)
	const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"benchmark","version":"1"}}`
	if _, err := ends.stdio.ask("initialize", hello); err != nil {
		b.Fatal(err)
	}
	if _, err := ends.http.ask("initialize", hello); err != nil || ends.http.session == "" {
		b.Fatalf("no MCP session over HTTP: %v", err)
	}
	return ends
}

// fill opens a session, makes it print 64 KiB or more of lines as programs write them, and returns the call that reads
// them.
func (e benchEnds) fill(b *testing.B, s *benchServer) (params string) {
	b.Helper()
	call := func(tool, format string, values ...any) (r benchResult) {
		text := e.stdio.result(b, `{"name":"`+tool+`","arguments":`+fmt.Sprintf(format, values...)+`}`)
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			b.Fatal(err)
		}
		return r
	}
	id := call(lab.ToolSession, benchOpen, s.port, s.user).SessionID
	r := call(
		lab.ToolIO,
		`{"action":"write","session_id":%q,"data":"i=0; while [ $i -lt 1500 ]; do printf '\\033[01;34m%%5d\\033[0m -rw-r--r-- 1 root root <a> && \"b\" name\\r\\n' $i; i=$((i+1)); done; echo fin''ished\r","until_regex":"finished","max_bytes":1000000,"timeout_ms":30000}`,
		id,
	)
	if !r.Matched {
		b.Fatalf("no output: %s", lab.Tail(r.Chunk, 1024))
	}
	return fmt.Sprintf(
		`{"name":"ptyctl_session_io","arguments":{"action":"read","session_id":%q,"cursor":"0","max_bytes":65536}}`,
		id,
	)
}

// benchLines is a client on stdio that only looks for the end of each answer.
type benchLines struct {
	in  io.Writer
	out *bufio.Reader
}

// ask returns the answer, which is valid until the next one.
func (c *benchLines) ask(method, params string) ([]byte, error) {
	if _, err := io.WriteString(c.in, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+"}\n"); err != nil {
		return nil, err
	}
	return c.out.ReadSlice('\n')
}

func (c *benchLines) call(params string) error {
	_, err := c.ask("tools/call", params)
	return err
}

// result returns the text of a tool's result.
func (c *benchLines) result(b *testing.B, params string) string {
	b.Helper()
	line, err := c.ask("tools/call", params)
	if err != nil {
		b.Fatal(err)
	}
	var a benchAnswer
	if err := json.Unmarshal(line, &a); err != nil || len(a.Result.Content) != 1 || a.Result.IsError {
		b.Fatalf("%s: %v: %s", params, err, lab.Tail(string(line), 1024))
	}
	return a.Result.Content[0].Text
}

// benchPosts is a client over HTTP that only reads each answer to its end.
type benchPosts struct {
	url     string
	session string // of MCP
	client  *http.Client
}

func (c *benchPosts) ask(method, params string) (read int64, err error) {
	req, err := http.NewRequest(
		http.MethodPost,
		c.url,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+"}"),
	)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if c.session == "" {
		c.session = resp.Header.Get("Mcp-Session-Id")
	}
	if read, err = io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", method, resp.Status)
	}
	return read, err
}

func (c *benchPosts) call(params string) error {
	_, err := c.ask("tools/call", params)
	return err
}
