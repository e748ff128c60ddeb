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

// prefixLists is a configuration of n lines, and those that begin and end it.
func prefixLists(n int) string {
	var b strings.Builder
	b.WriteString("configure terminal\n")
	for i := range n {
		fmt.Fprintf(&b, "ip prefix-list p%d seq 5 permit 10.%d.%d.0/24\n", i, i/256, i%256)
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
	if err != nil || strings.Count(string(got.Stdout.Bytes()), "ip prefix-list p") != lines {
		b.Errorf("another session sees %d of %d lines: %v", strings.Count(string(got.Stdout.Bytes()), "ip prefix-list p"), lines, err)
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
