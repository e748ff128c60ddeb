//go:build unix

package record_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"ptyctl/ptyx"
	"ptyctl/record"
	"ptyctl/session"
	"ptyctl/term"
)

// A flood is a transport that has n bytes to say.
type flood struct {
	text []byte
	n    int
}

func (f *flood) Read(p []byte) (int, error) {
	if f.n <= 0 {
		return 0, io.EOF
	}
	n := copy(p, f.text)
	f.n -= n
	return n, nil
}
func (f *flood) Write(p []byte) (int, error) { return len(p), nil }
func (f *flood) Resize(int, int) error       { return nil }
func (f *flood) Close() error                { return nil }

// cpu returns the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTerminal measures the throughput of a session with and without a recording, and with an encrypted one: of a terminal that has all of its
// output ready, and of a program in a local one.
func BenchmarkTerminal(b *testing.B) {
	line := "2026-11-25T18:33:19Z web1 app[4242]: \x1b[32minfo\x1b[m request done status=200 path=/api/v1/items took=12ms\r\n"
	text := strings.Repeat(line, 1000)
	file := filepath.Join(b.TempDir(), "text")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(strings.Repeat(text, 300), "\r", "")), 0o600); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		b.Fatal(err)
	}
	for _, recorded := range []string{"no", "plain", "encrypted"} {
		observers := func(b *testing.B) ([]term.Observer, func()) {
			began := cpu()
			used := func() { b.ReportMetric(float64((cpu()-began).Milliseconds())/float64(b.N), "cpu-ms/op") }
			if recorded == "no" {
				return nil, used
			}
			dir := record.DirOptions{Path: filepath.Join(b.TempDir(), "rec"), MaxTotal: 1 << 40}
			if recorded == "encrypted" {
				dir.Recipients = []age.Recipient{id.Recipient()}
			}
			d, err := record.NewDir(dir)
			if err != nil {
				b.Fatal(err)
			}
			return []term.Observer{d}, func() {
				defer used()
				dropped := d.Dropped()
				if err := d.Close(); err != nil {
					b.Error(err)
				}
				b.ReportMetric(float64(dropped)/1e6/float64(b.N), "MB-dropped/op")
			}
		}
		b.Run(fmt.Sprintf("memory/recorded=%s", recorded), func(b *testing.B) {
			o, end := observers(b)
			defer end()
			const size = 32 << 20
			b.SetBytes(size)
			for b.Loop() {
				s := session.New(&flood{[]byte(text), size}, session.Options{Observers: o})
				<-s.Ended()
			}
		})
		b.Run(fmt.Sprintf("local/recorded=%s", recorded), func(b *testing.B) {
			o, end := observers(b)
			defer end()
			b.SetBytes(info.Size())
			m := session.NewManager(session.Config{Dialers: map[string]term.Dialer{"local": ptyx.Host{}.Open}, Observers: o})
			for b.Loop() {
				r, err := m.Open(b.Context(), session.OpenRequest{Target: term.Target{
					Protocol: "local", Local: term.LocalOptions{Argv: []string{"cat", file}},
				}})
				if err != nil {
					b.Fatal(err)
				}
				<-r.Session.Ended()
			}
		})
	}
}
