package telnet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/telnet"
	"ptyctl/term"
)

// prefixLists is a configuration of n lines, and those that begin and end it. Their list is one. The longer it is, the
// more an entry costs bgpd, with any client: 1 ms of its processor's time for one of the first 100, and 30 ms for one of
// the last 100 of 2,000. An entry of a new list costs no more: 0.5 ms among the first 100 lists, 7 ms among 1,000.
func prefixLists(n int) string {
	var b strings.Builder
	b.WriteString("configure terminal\n")
	for i := range n {
		fmt.Fprintf(&b, "ip prefix-list p seq %d permit 10.%d.%d.0/24\n", i+1, i/256, i%256)
	}
	b.WriteString("end\n")
	return b.String()
}

// BenchmarkPasteRouter types a configuration of 2,000 lines into a router. x-file is the time beside that of vtysh -f for
// the same file, which has no round trip for each line.
func BenchmarkPasteRouter(b *testing.B) {
	const lines = 2000
	text := prefixLists(lines)
	server := lab.StartRouter(b)
	m := session.NewManager(session.Config{Dialers: map[string]term.Dialer{"telnet": telnet.Dialer{}.Open}})
	defer m.Close(context.Background())
	until := func(s *session.Session, cursor int64, pattern string) {
		c := s.Read(b.Context(), session.ReadRequest{Cursor: cursor, Until: regexp.MustCompile(pattern), Timeout: lab.Patience})
		if c.Reason != session.ReasonMatched {
			b.Fatalf("the router shows %q, want %q", c.Data, pattern)
		}
	}
	enabled := func() *session.Session {
		r, err := m.Open(b.Context(), session.OpenRequest{Target: server.Target()})
		if err != nil {
			b.Fatal(err)
		}
		cursor := int64(0)
		for _, step := range []struct{ asked, text string }{
			{`Password: $`, server.Password}, {`r1> $`, "enable"}, {`Password: $`, server.Enable}, {`r1# $`, "terminal length 0"},
		} {
			until(r.Session, cursor, step.asked)
			w, err := r.Session.Write(b.Context(), []byte(step.text+"\r"), session.WriteOptions{})
			if err != nil {
				b.Fatal(err)
			}
			cursor = w.Cursor
		}
		until(r.Session, cursor, `length 0\s+r1# $`)
		if err := r.Session.SetExpect(b.Context(), session.Expect{
			Class: session.ClassDevice, Prompt: regexp.MustCompile(`^r1(?:\([\w-]+\))?[>#] $`),
		}); err != nil {
			b.Fatal(err)
		}
		return r.Session
	}
	s := enabled()
	var pasted time.Duration
	for b.Loop() {
		began := time.Now()
		res, err := session.Paste(b.Context(), s, session.ExecRequest{Command: text, Timeout: time.Hour})
		pasted += time.Since(began)
		if err != nil || res.Lines.Taken != lines+2 || res.Lines.Stopped != "" {
			b.Fatalf("Paste = %+v, %v; want all lines taken", res.Lines, err)
		}
	}
	b.StopTimer()
	got, err := enabled().Exec(b.Context(), session.ExecRequest{
		Command: "show running-config", Timeout: time.Minute, MaxOutput: 1 << 20,
	})
	if err != nil || strings.Count(string(got.Stdout.Bytes()), "ip prefix-list p seq") != lines {
		b.Errorf("another session sees %d of %d lines: %v", strings.Count(string(got.Stdout.Bytes()), "ip prefix-list p seq"), lines, err)
	}
	// A router of its own: lines that it has already cost it less.
	other, file := lab.StartRouter(b), filepath.Join(b.TempDir(), "lines.conf")
	body := strings.TrimSuffix(strings.TrimPrefix(text, "configure terminal\n"), "end\n")
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	out, err := exec.CommandContext(b.Context(), "vtysh", "--vty_socket", other.Folder, "-d", "bgpd", "-f", file).CombinedOutput()
	if err != nil {
		b.Fatalf("vtysh: %v\n%s", err, out)
	}
	alone := time.Since(began)
	b.ReportMetric(float64(pasted)/float64(b.N)/float64(alone), "x-file")
	b.ReportMetric(float64(pasted.Microseconds())/float64(b.N)/lines, "µs/line")
}

// TestPasteOverMCP gives a router 100 lines through the built program, and reads them by a second session.
func TestPasteOverMCP(t *testing.T) {
	t.Parallel()
	s := lab.StartRouter(t)
	c := lab.HomeFor(t, nil).Connect(t, "--toolsets", "core,device")
	enabled := func() string {
		id, _ := c.OpenTelnet(t, s, `,"expect":{"profile":"frr"}`)
		for _, step := range []struct{ typed, until string }{
			{s.Password, `r1> $`}, {"enable", `Password: $`}, {s.Enable, `r1# $`},
			{"terminal length 0", `r1# $`},
		} {
			data := step.typed + "\r"
			secret := ""
			if strings.HasSuffix(step.typed, "-1138") {
				secret = `,"sensitive":true`
			}
			r := c.Call(t, lab.ToolIO,
				`{"action":"write","session_id":%s,"data":%s,"until_regex":%s,"timeout_ms":20000`+secret+`}`, id, data, step.until)
			if !r.Matched {
				t.Fatalf("the router shows %s, want %q", r.Text, step.until)
			}
		}
		return id
	}
	id := enabled()
	// The call returns at once; the lines go on.
	r := c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"lines":%s,"timeout_ms":1}`, id, prefixLists(100))
	for r.DoneReason == "running" {
		r = c.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, id, r.ExecID)
	}
	if want := `"pasted":{"lines":102,"taken":102}`; !strings.Contains(r.Text, want) {
		t.Errorf("the lines ended with %s, want %s", r.Text, want)
	}
	second := enabled()
	r = c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"show running-config"}`, second)
	if got, want := strings.Count(r.Stdout, "ip prefix-list p seq"), 100; got != want {
		t.Errorf("a second session sees %d of the lines, want %d: %s", got, want, r.Stdout)
	}
	// One that is wrong stops the rest.
	r = c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"lines":"show version\nconfigure terminal\nnonsense\nhostname r9\nend"}`, id)
	for _, part := range []string{`"taken":3`, `"stopped":"error"`, `"stopped_at":3`, `"line":"nonsense"`, `% Unknown command: nonsense`} {
		if !strings.Contains(strings.ReplaceAll(r.Text, "[BGP] ", ""), part) {
			t.Errorf("a line that is wrong: %s, want %s in it", r.Text, part)
		}
	}
	// Several lines by exec are typed in the same way.
	r = c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"end\nshow running-config\nshow nonsense\nshow version"}`, id)
	if r.DoneReason != "stopped" || !strings.Contains(r.Stdout, "hostname r1") || strings.Contains(r.Stdout, "FRRouting 8") ||
		!strings.Contains(r.Text, `"stopped_at":3`) {
		t.Errorf("four lines, of which the third is wrong: %s", r.Text)
	}
}
