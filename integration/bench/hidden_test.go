package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh/knownhosts"

	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/session/known"
	"ptyctl/sshx"
	"ptyctl/term"
)

// How fast the output of a terminal is taken while the values of secrets are looked for in it, without a reader or with
// one that searches all of it for a prompt, in clean text; for comparison, without values. MiB/s is with the values,
// raw-MiB/s without, and the CPU time is that of this process, which has the far side's in neither.
func BenchmarkHiddenTerminal(b *testing.B) {
	for _, protocol := range []string{"local", "ssh"} {
		for _, output := range []string{"plain", "colours", "table", "letters"} {
			for _, values := range []int{5, 50} {
				for _, reader := range []string{"none", "regexp"} {
					b.Run(fmt.Sprintf("%s/output=%s/secrets=%d/reader=%s", protocol, output, values, reader), func(b *testing.B) {
						benchHidden(b, protocol, output, values, reader == "regexp")
					})
				}
			}
		}
	}
}

func benchHidden(b *testing.B, protocol, output string, values int, reader bool) {
	const size = 32 << 20
	text := benchText[output]
	if output == "letters" {
		text = "y\n"
	}
	script := strings.TrimPrefix(benchBulk(b, text, size), "sh ")
	var port int
	var ssh sshx.Options
	target := term.Target{Protocol: "local", Local: term.LocalOptions{Argv: []string{"/bin/sh", script}}}
	place := term.Place("", 0)
	if protocol == "ssh" {
		s := startBenchServer(b)
		port = s.port
		trusted := filepath.Join(b.TempDir(), "known_hosts")
		line := knownhosts.Line([]string{knownhosts.Normalize(s.address)}, s.hostKey) + "\n"
		if err := os.WriteFile(trusted, []byte(line), 0o600); err != nil {
			b.Fatal(err)
		}
		config := benchWrite(b, b.TempDir(), "config", "IdentityFile "+s.identity+"\n")
		ssh = sshx.Options{KnownHostsPath: trusted, ConfigPath: config, IdentityAgent: "none"}
		target = term.Target{Protocol: "ssh", Host: "127.0.0.1", Port: port, User: s.user}
		place = term.Place("127.0.0.1", port)
	}
	manager := func(r *known.Registry) *session.Manager {
		c := session.Config{
			Dialers: map[string]term.Dialer{"local": ptyx.Host{}.Open, "ssh": sshx.Dialer(ssh)},
			Input:   session.InputOptions{Known: r},
		}
		if reader { // it may be late, and goes on after the end
			c.BufferBytes, c.MaxBufferBytes, c.Retention = 2*size, 1<<30, time.Second
		}
		m := session.NewManager(c)
		b.Cleanup(func() { m.Close(b.Context()) })
		return m
	}
	registry := known.NewRegistry()
	b.Cleanup(registry.Close)
	for i := range values {
		v := fmt.Appendf(nil, "%x-%X%x", 0x9e3779b9*uint32(i+1), 0x85ebca6b*uint32(i+7), i)[:10+i%8]
		registry.Redact(term.RedactedValue{Value: v, Host: place})
	}
	with, without := manager(registry), manager(nil)
	var sent int64
	cpu := map[*session.Manager]time.Duration{}
	flood := func(m *session.Manager) func() time.Duration {
		return func() time.Duration {
			before := benchCPU(b, os.Getpid())
			r, err := m.Open(b.Context(), session.OpenRequest{Target: target})
			if err != nil {
				b.Fatal(err)
			}
			begin := time.Now()
			if protocol == "ssh" {
				if _, err := r.Session.Write(b.Context(), []byte("exec sh "+script+"\r"), session.WriteOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			if reader {
				c := r.Session.Read(b.Context(), session.ReadRequest{
					Until: regexp.MustCompile(`[%>] $`), Clean: true, Last: true, MaxBytes: 80,
				})
				if c.Reason != session.ReasonEOF || c.Unsearched > 0 {
					b.Fatalf("the reader was to search all output: %s, %d bytes were not", c.Reason, c.Unsearched)
				}
			}
			<-r.Session.Ended()
			took := time.Since(begin)
			cpu[m] += benchCPU(b, os.Getpid()) - before
			if sent = r.Session.Info().BytesIn; sent < size {
				b.Fatalf("%d of %d bytes", sent, size)
			}
			_ = r.Session.Close(b.Context(), session.CloseOptions{})
			return took
		}
	}
	var d benchDuel
	for b.Loop() {
		for range 8 {
			d.round(flood(with), flood(without))
		}
	}
	d.throughput(b, sent)
	rounds := float64(8*b.N) * float64(sent)
	b.ReportMetric(float64(cpu[with])/rounds, "cpu-ns/B")
	b.ReportMetric(float64(cpu[without])/rounds, "raw-cpu-ns/B")
}
