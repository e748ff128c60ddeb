package telnet

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/telnet"
	"ptyctl/term"
)

// siteLines is n lines of a configuration as a network grows it: for each site a comment, a few short lists, two route
// maps and a neighbor, which is shut down and so makes no connection.
func siteLines(n int) []string {
	var lines []string
	for i := 0; len(lines) < n; i++ {
		a, b := i/250, i%250
		peer := fmt.Sprintf(" neighbor 198.51.%d.%d", 100+a, b+1)
		lines = append(lines,
			fmt.Sprintf("! site %d", i),
			fmt.Sprintf("ip prefix-list site-%d-in seq 5 permit 10.%d.%d.0/24", i, a, b),
			fmt.Sprintf("ip prefix-list site-%d-in seq 10 permit 10.%d.%d.0/25 le 32", i, 100+a, b),
			fmt.Sprintf("ip prefix-list site-%d-in seq 15 deny 0.0.0.0/0 le 32", i),
			fmt.Sprintf("ip prefix-list site-%d-out seq 5 permit 10.200.%d.0/24", i, b),
			fmt.Sprintf("bgp as-path access-list site-%d seq 5 permit ^65%03d_", i, i),
			fmt.Sprintf("bgp community-list standard site-%d seq 5 permit 65001:%d", i, i),
			fmt.Sprintf("route-map site-%d-in permit 10", i),
			fmt.Sprintf(" match ip address prefix-list site-%d-in", i),
			fmt.Sprintf(" set community 65001:%d additive", i),
			fmt.Sprintf(" set local-preference %d", 101+i),
			"exit",
			fmt.Sprintf("route-map site-%d-out permit 10", i),
			fmt.Sprintf(" match ip address prefix-list site-%d-out", i),
			fmt.Sprintf(" set metric %d", i+1),
			"exit",
			"router bgp 65001",
			peer+fmt.Sprintf(" remote-as %d", 64600+i),
			peer+fmt.Sprintf(" description site-%d", i),
			peer+" shutdown",
			"exit",
			"!",
		)
	}
	return lines[:n]
}

// missing returns the lines that a configuration lacks, of those that it shows.
func missing(lines []string, shown string) (lacks []string) {
	has := strings.Split(strings.ReplaceAll(shown, "\r", ""), "\n")
	slices.Sort(has)
	for _, line := range lines {
		if _, ok := slices.BinarySearch(has, line); !ok && !strings.HasPrefix(line, "!") {
			lacks = append(lacks, line)
		}
	}
	return lacks
}

// A line typed into FRRouting is a transaction of its own, which copies the whole configuration. vtysh -f, which types
// the same lines, puts them between these two, and so into few transactions. They are in no list of commands.
const (
	beginsBatch = "XFRR_start_configuration"
	endsBatch   = "XFRR_end_configuration"
)

// BenchmarkPasteRouter types 2,000 lines into a router and compares them with the configuration that a second session
// sees. Each round is of three routers, one after the other: for ptyctl, for a bare connection that types the same lines,
// each at the prompt behind the one before, and compares them likewise, and for vtysh -f. In "batch" the lines are
// between the two that vtysh types.
//
// x-raw is the median beside that of the bare connection, x-vtysh the one beside vtysh -f and one round trip of an empty
// line for each line; raw-x-vtysh is the same of the bare connection. The spreads are those of the slowest round and the
// fastest.
func BenchmarkPasteRouter(b *testing.B) {
	for _, mode := range []string{"lines", "batch"} {
		b.Run(mode, func(b *testing.B) {
			lines := siteLines(2000)
			typed := slices.Concat([]string{"configure terminal"}, lines, []string{"end"})
			if mode == "batch" {
				typed = slices.Concat([]string{"configure terminal", beginsBatch}, lines, []string{endsBatch, "end"})
			}
			var paste, raw, file, trip []time.Duration
			for b.Loop() {
				for n := range 3 { // another one begins each time
					for i := range 3 {
						switch (n + i) % 3 {
						case 0:
							paste = append(paste, pasteRound(b, lines, typed))
						case 1:
							r, t := rawRound(b, lines, typed)
							raw, trip = append(raw, r), append(trip, t)
						case 2:
							file = append(file, fileRound(b, lines))
						}
					}
				}
				b.Logf("paste %v, bare %v, vtysh -f %v", paste, raw, file)
			}
			anchor := median(file) + time.Duration(len(lines))*median(trip)
			b.ReportMetric(ratio(median(paste), median(raw)), "x-raw")
			b.ReportMetric(ratio(median(paste), anchor), "x-vtysh")
			b.ReportMetric(ratio(median(raw), anchor), "raw-x-vtysh")
			b.ReportMetric(ratio(slices.Max(paste), slices.Min(paste)), "spread")
			b.ReportMetric(ratio(slices.Max(raw), slices.Min(raw)), "raw-spread")
			b.ReportMetric(median(paste).Seconds(), "paste-s")
			b.ReportMetric(median(raw).Seconds(), "raw-s")
			b.ReportMetric(median(file).Seconds(), "vtysh-s")
			b.ReportMetric(float64(median(trip).Microseconds()), "trip-µs")
		})
	}
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// pasteRound gives the lines to a new router by ptyctl.
func pasteRound(b *testing.B, lines, typed []string) time.Duration {
	b.Helper()
	server := lab.StartRouter(b)
	defer server.Process.Stop(b)
	m := session.NewManager(session.Config{Dialers: map[string]term.Dialer{"telnet": telnet.Dialer{}.Open}})
	defer m.Close(context.Background())
	first, second := enabledSession(b, m, server), enabledSession(b, m, server)
	began := time.Now()
	res, err := first.Paste(b.Context(), session.ExecRequest{Command: strings.Join(typed, "\n"), Timeout: time.Hour})
	if err != nil || res.Lines.Taken != len(typed) || res.Lines.Stopped != "" {
		b.Fatalf("Paste = %+v, %v; want %d lines taken", res.Lines, err, len(typed))
	}
	got, err := second.Exec(b.Context(), session.ExecRequest{Command: "show running-config", Timeout: time.Hour, MaxOutput: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	if lacks := missing(lines, string(got.Stdout.Bytes())); len(lacks) > 0 {
		b.Fatalf("a second session does not see %d of %d lines, the first is %q", len(lacks), len(lines), lacks[0])
	}
	return time.Since(began)
}

// enabledSession returns a session of a router at a prompt that allows changes.
func enabledSession(b *testing.B, m *session.Manager, server *lab.TelnetServer) *session.Session {
	b.Helper()
	r, err := m.Open(b.Context(), session.OpenRequest{Target: server.Target()})
	if err != nil {
		b.Fatal(err)
	}
	cursor := int64(0)
	until := func(pattern string) {
		c := r.Session.Read(b.Context(), session.ReadRequest{Cursor: cursor, Until: regexp.MustCompile(pattern), Timeout: lab.Patience})
		if c.Reason != session.ReasonMatched {
			b.Fatalf("the router shows %q, want %q", c.Data, pattern)
		}
	}
	for _, step := range loginSteps(server) {
		until(step.asked + "$")
		w, err := r.Session.Write(b.Context(), []byte(step.text+"\r"), session.WriteOptions{})
		if err != nil {
			b.Fatal(err)
		}
		cursor = w.Cursor
	}
	until(`length 0\s+r1# $`)
	if err := r.Session.SetExpect(b.Context(), session.Expect{
		Class: session.ClassDevice, Prompt: regexp.MustCompile(`^r1(?:\([\w-]+\))?[>#] $`),
	}); err != nil {
		b.Fatal(err)
	}
	return r.Session
}

type loginStep struct{ asked, text string }

func loginSteps(s *lab.TelnetServer) []loginStep {
	return []loginStep{{"Password: ", s.Password}, {"r1> ", "enable"}, {"Password: ", s.Enable}, {"r1# ", "terminal length 0"}}
}

// A bareTerminal is a connection to a router, which answers none of its options: the router echoes nevertheless.
type bareTerminal struct {
	b   *testing.B
	c   net.Conn
	out []byte // since the last line was typed
}

func enabledBare(b *testing.B, server *lab.TelnetServer) *bareTerminal {
	b.Helper()
	c, err := net.Dial("tcp", server.Address())
	if err != nil {
		b.Fatal(err)
	}
	t := &bareTerminal{b: b, c: c}
	for _, step := range loginSteps(server) {
		t.until(step.asked)
		t.typeLine(step.text)
	}
	t.until("# ")
	return t
}

func (t *bareTerminal) typeLine(line string) {
	t.out = t.out[:0]
	if _, err := t.c.Write([]byte(line + "\r")); err != nil {
		t.b.Fatal(err)
	}
}

// until waits until the output ends with the end of a prompt.
func (t *bareTerminal) until(prompt string) {
	piece := make([]byte, 64<<10)
	for !bytes.HasSuffix(t.out, []byte(prompt)) {
		if err := t.c.SetReadDeadline(time.Now().Add(lab.Patience)); err != nil {
			t.b.Fatal(err)
		}
		n, err := t.c.Read(piece)
		if err != nil {
			t.b.Fatalf("the router shows %q, want %q: %v", t.out, prompt, err)
		}
		t.out = append(t.out, piece[:n]...)
	}
}

// ask types a line and waits for the prompt behind its answer.
func (t *bareTerminal) ask(line string) string {
	t.typeLine(line)
	t.until("# ")
	return string(t.out)
}

// rawRound gives the lines to a new router by a bare connection. trip is the time of an empty line.
func rawRound(b *testing.B, lines, typed []string) (took, trip time.Duration) {
	b.Helper()
	server := lab.StartRouter(b)
	defer server.Process.Stop(b)
	first, second := enabledBare(b, server), enabledBare(b, server)
	defer func() { _, _ = first.c.Close(), second.c.Close() }()
	var trips []time.Duration
	for range 200 {
		began := time.Now()
		first.ask("")
		trips = append(trips, time.Since(began))
	}
	began := time.Now()
	for _, line := range typed {
		if answer := first.ask(line); strings.Contains(answer, "\n%") {
			b.Fatalf("the router refuses %q: %q", line, answer)
		}
	}
	if lacks := missing(lines, second.ask("show running-config")); len(lacks) > 0 {
		b.Fatalf("a second connection does not see %d of %d lines, the first is %q", len(lacks), len(lines), lacks[0])
	}
	return time.Since(began), median(trips)
}

// fileRound gives the lines to a new router by vtysh -f.
func fileRound(b *testing.B, lines []string) time.Duration {
	b.Helper()
	server := lab.StartRouter(b)
	defer server.Process.Stop(b)
	path := filepath.Join(b.TempDir(), "lines.conf")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	out, err := exec.CommandContext(b.Context(), "vtysh", "--vty_socket", server.Folder, "-d", "bgpd", "-f", path).CombinedOutput()
	if err != nil {
		b.Fatalf("vtysh: %v\n%s", err, out)
	}
	return time.Since(began)
}
