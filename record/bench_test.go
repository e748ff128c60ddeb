//go:build unix

package record_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
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
func cpu() time.Duration { return cpuOf(syscall.RUSAGE_SELF) }

// cpuOf returns the processor time of this process, or of those of its children that have ended.
func cpuOf(who int) time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(who, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const logLine = "2026-11-25T18:33:19Z web1 app[4242]: \x1b[32minfo\x1b[m request done status=200 path=/api/v1/items took=12ms\r\n"

// recorder returns the observers of a session that has a recording of a kind, with a function that completes it and
// returns how many bytes of output are missing there.
func recorder(b *testing.B, kind string) ([]term.Observer, func() int64) {
	b.Helper()
	if kind == "no" {
		return nil, func() int64 { return 0 }
	}
	o := record.DirOptions{Path: filepath.Join(b.TempDir(), "rec"), MaxTotal: 100 << 20}
	if kind == "encrypted" {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			b.Fatal(err)
		}
		o.Recipients = []age.Recipient{id.Recipient()}
	}
	d, err := record.NewDir(o)
	if err != nil {
		b.Fatal(err)
	}
	return []term.Observer{d}, func() int64 {
		dropped := d.Dropped()
		if err := d.Close(); err != nil {
			b.Error(err)
		}
		return dropped
	}
}

var kinds = []string{"no", "plain", "encrypted"}

// BenchmarkTerminal measures the throughput of a session with all of its output ready: without a recording, with one,
// and with an encrypted one.
func BenchmarkTerminal(b *testing.B) {
	text := strings.Repeat(logLine, 1000)
	for _, kind := range kinds {
		b.Run(fmt.Sprintf("recorded=%s", kind), func(b *testing.B) {
			o, end := recorder(b, kind)
			began := cpu()
			const size = 32 << 20
			b.SetBytes(size)
			for b.Loop() {
				s := session.New(&flood{[]byte(text), size}, session.Options{Observers: o})
				<-s.Ended()
			}
			b.ReportMetric(float64(end())/1e6/float64(b.N), "MB-dropped/op")
			b.ReportMetric(float64((cpu()-began).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// BenchmarkWriter measures the processor time that a recording costs for each MB of a flood, without a session: reads of
// 4 KiB come as fast as they are written, with no more than 2 MiB that wait.
func BenchmarkWriter(b *testing.B) {
	const size, read = 32 << 20, 4095
	text := []byte(strings.Repeat(logLine, 2000))
	b.SetBytes(size)
	var used []float64
	for b.Loop() {
		f, err := os.Create(filepath.Join(b.TempDir(), "rec.cast"))
		if err != nil {
			b.Fatal(err)
		}
		var written atomic.Int64
		goOn := make(chan struct{}, 1)
		began := cpu()
		r := record.New(f, record.Options{Sealed: func(s record.Seal) {
			if before := written.Swap(s.Bytes); s.Bytes>>20 > before>>20 {
				select {
				case goOn <- struct{}{}:
				default:
				}
			}
		}})
		for n, at := 0, 0; n < size; n += read {
			for int64(n) > written.Load()/10*9+2<<20 { // the JSON of this text is a tenth longer
				<-goOn
			}
			if at+read > len(text) {
				at = 0
			}
			r.Observe(term.Event{Verb: term.VerbOutput, Data: text[at : at+read]})
			at += read
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
		used = append(used, (cpu() - began).Seconds())
		if r.Dropped() > 0 {
			b.Errorf("the recording lacks %d bytes", r.Dropped())
		}
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	b.ReportMetric(1000*median(used)/(size/1e6), "cpu-ms/MB")
}

// BenchmarkLocalTerminal measures a program in a local terminal. The kinds of recordings take turns, so that other
// programs of the machine disturb all of them alike; the results are medians, of the ratios too. The time of the program
// is apart, and that of the kernel's threads, which carry its output from one side of the terminal to the other, is in
// neither.
func BenchmarkLocalTerminal(b *testing.B) {
	file := filepath.Join(b.TempDir(), "text")
	text := strings.ReplaceAll(strings.Repeat(logLine, 300_000), "\r", "")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	took, used, child := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	dropped := map[string]int64{}
	for b.Loop() {
		for _, kind := range kinds {
			o, end := recorder(b, kind)
			m := session.NewManager(session.Config{Dialers: map[string]term.Dialer{"local": ptyx.Host{}.Open}, Observers: o})
			began, busy, program := time.Now(), cpu(), cpuOf(syscall.RUSAGE_CHILDREN)
			r, err := m.Open(b.Context(), session.OpenRequest{Target: term.Target{
				Protocol: "local", Local: term.LocalOptions{Argv: []string{"cat", file}},
			}})
			if err != nil {
				b.Fatal(err)
			}
			<-r.Session.Ended()
			took[kind] = append(took[kind], time.Since(began).Seconds())
			dropped[kind] += end()
			used[kind] = append(used[kind], (cpu() - busy).Seconds())
			child[kind] = append(child[kind], (cpuOf(syscall.RUSAGE_CHILDREN) - program).Seconds())
		}
	}
	size := float64(len(text)) / 1e6
	for _, kind := range kinds {
		var part []float64
		for i := range took[kind] {
			part = append(part, 100*took["no"][i]/took[kind][i])
		}
		b.ReportMetric(median(part), kind+"-%")
		b.ReportMetric(size/median(took[kind]), kind+"-MB/s")
		b.ReportMetric(1000*median(used[kind])/size, kind+"-cpu-ms/MB")
		b.ReportMetric(1000*median(child[kind])/size, kind+"-program-cpu-ms/MB")
		b.ReportMetric(float64(dropped[kind])/1e6/float64(b.N), kind+"-MB-dropped/op")
	}
	b.ReportMetric(0, "ns/op")
}

func median(of []float64) float64 {
	of = slices.Clone(of)
	slices.Sort(of)
	return of[len(of)/2]
}
