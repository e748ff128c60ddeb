package bench

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// How fast a file goes to a server, from it, and from one session to another, beside OpenSSH's sftp in turns; between
// two sessions that is a get and a put. The file has 256 MiB, or PTYCTL_COPY_MIB. Peak is what all these copies have
// added to the memory of ptyctl.
func BenchmarkCopy(b *testing.B) {
	mib := 256
	if text := os.Getenv("PTYCTL_COPY_MIB"); text != "" {
		var err error
		if mib, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	size := int64(mib) << 20
	s := startBenchServer(b)
	dir := b.TempDir()
	p := startBenchProgram(b, s, "[fs]", "remote = true", "roots = ['"+dir+"']")
	source := filepath.Join(dir, "source")
	f, err := os.Create(source)
	if err == nil {
		_, err = io.CopyN(f, rand.Reader, size)
	}
	if err != nil {
		b.Fatal(err)
	}
	_ = f.Close()
	one, two := p.mustOpen(b), p.mustOpen(b)
	far := func(id, name string) string {
		return fmt.Sprintf(`{"session_id":%q,"path":%q}`, id, filepath.Join(dir, name))
	}
	here := func(name string) string { return fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, name)) }
	peer := startBenchSFTP(b, s)
	copied := filepath.Join(dir, "copy")
	for _, tt := range []struct{ name, from, to, sftp string }{
		{"put", here("source"), far(one, "copy"), "put " + source + " " + copied},
		{"get", far(one, "source"), here("copy"), "get " + source + " " + copied},
		{"between", far(one, "source"), far(two, "copy"), "get " + source + " " + copied + ".mid\nput " + copied + ".mid " + copied},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var d benchDuel
			before := lab.StatusField(b, p.pid, "VmRSS")
			for b.Loop() {
				for range 3 {
					d.round(func() time.Duration {
						_ = os.Remove(copied)
						return p.copy(b, size, tt.from, tt.to)
					}, func() time.Duration {
						_ = os.Remove(copied)
						began := time.Now()
						peer.do(b, tt.sftp)
						return time.Since(began)
					})
				}
			}
			d.throughput(b, size)
			b.ReportMetric(float64(lab.StatusField(b, p.pid, "VmHWM")-before)/1024, "peak-MiB")
		})
	}
}

// copy makes a copy, waits for its end, and returns how long it took.
func (p *benchProgram) copy(b *testing.B, size int64, from, to string) time.Duration {
	b.Helper()
	type result struct {
		Bytes     int64
		SessionID string `json:"session_id"`
		ExecID    string `json:"exec_id"`
		Stdout    string
		ExitCode  *int `json:"exit_code"`
	}
	ask := func(tool, arguments string) (r result) {
		a, err := p.ask("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
		if err != nil || a.Result.IsError {
			b.Fatalf("%s: %v, %v", arguments, err, a.Result.Content)
		}
		if err := json.Unmarshal([]byte(a.Result.Content[0].Text), &r); err != nil {
			b.Fatal(err)
		}
		return r
	}
	began := time.Now()
	r := ask("ptyctl_fs", `{"action":"copy","from":`+from+`,"to":`+to+`}`)
	if r.ExecID != "" {
		args := fmt.Sprintf(`{"session_id":%q,"exec_id":%q}`, r.SessionID, r.ExecID)
		for r.ExitCode == nil {
			r = ask("ptyctl_session_exec", args)
		}
		if err := json.Unmarshal([]byte(r.Stdout), &r); err != nil {
			b.Fatalf("%q: %v", r.Stdout, err)
		}
	}
	took := time.Since(began)
	if r.Bytes != size {
		b.Fatalf("%d of %d bytes were copied", r.Bytes, size)
	}
	return took
}

// A benchSFTP is OpenSSH's sftp with one connection, as a session has one.
type benchSFTP struct {
	in    io.Writer
	lines *bufio.Scanner
}

// startBenchSFTP starts an sftp that ends with the benchmark.
func startBenchSFTP(b *testing.B, s *benchServer) *benchSFTP {
	b.Helper()
	known := benchWrite(b, b.TempDir(), "known_hosts", s.knownHosts())
	cmd := exec.Command("/usr/bin/sftp", "-q", "-b", "-", "-F", "none", "-P", strconv.Itoa(s.port), "-i", s.identity,
		"-o", "UserKnownHostsFile="+known, "-o", "IdentitiesOnly=yes", s.user+"@127.0.0.1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &benchSFTP{in, bufio.NewScanner(out)}
}

// do has it carry out lines, and waits for the end of the last.
func (p *benchSFTP) do(b *testing.B, lines string) {
	b.Helper()
	if _, err := io.WriteString(p.in, lines+"\n!echo done\n"); err != nil {
		b.Fatal(err)
	}
	for p.lines.Scan() {
		if strings.TrimSpace(p.lines.Text()) == "done" {
			return
		}
	}
	b.Fatal("sftp has ended")
}
