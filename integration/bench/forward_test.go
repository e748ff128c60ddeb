package bench

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// How fast a gigabyte goes through a forward, beside ssh -L with the same server, in the same run, from a Unix socket
// each.
func BenchmarkForward(b *testing.B) {
	const size = 1 << 30
	for _, way := range []string{"down", "up"} {
		b.Run(way, func(b *testing.B) {
			s := startBenchServer(b)
			to := startBenchSource(b, way == "down", size)
			p := startBenchProgram(b, s, "[forward]", "allow = ['127.0.0.1:*']")
			id, err := p.open()
			if err != nil {
				b.Fatal(err)
			}
			f, err := p.call("ptyctl_session", `{"action":"forward","session_id":%q,"to":%q}`, id, to)
			if err != nil {
				b.Fatal(err)
			}
			own := startBenchTunnel(b, s, to)
			var d benchDuel
			for b.Loop() {
				for range 8 {
					d.round(
						func() time.Duration { return benchMove(b, f.Socket, way == "down", size) },
						func() time.Duration { return benchMove(b, own, way == "down", size) },
					)
				}
			}
			d.throughput(b, size)
		})
	}
}

// startBenchSource starts a server that sends size bytes, or takes as many and answers with one.
func startBenchSource(b *testing.B, sends bool, size int64) (address string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				if sends {
					benchSend(c, size)
				} else if n, _ := io.Copy(io.Discard, onlyReader{c}); n == size {
					_, _ = c.Write([]byte{1})
				}
			})
		}
	})
	b.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// onlyReader keeps io.Copy from moving the bytes inside the kernel.
type onlyReader struct{ io.Reader }

func benchSend(c net.Conn, size int64) {
	p := make([]byte, 64<<10)
	for ; size > 0; size -= int64(len(p)) {
		if _, err := c.Write(p); err != nil {
			return
		}
	}
}

// startBenchTunnel starts ssh -L from a Unix socket, and returns its path.
func startBenchTunnel(b *testing.B, s *benchServer, to string) (socket string) {
	b.Helper()
	dir := b.TempDir()
	socket = filepath.Join(dir, "sock")
	cmd := exec.Command("ssh", "-N", "-F", "none", "-i", s.identity, "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
		"-o", "UserKnownHostsFile="+benchWrite(b, dir, "known_hosts", s.knownHosts()), "-o", "ExitOnForwardFailure=yes",
		"-p", fmt.Sprint(s.port), "-l", s.user, "-L", socket+":"+to, "127.0.0.1")
	if err := cmd.Start(); err != nil {
		b.Fatalf("%v: the benchmark needs OpenSSH's client; run scripts/install-test-deps", err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			_ = c.Close()
			return socket
		}
		if time.Now().After(deadline) {
			b.Fatal("ssh -L does not listen")
		}
	}
}

// benchMove moves size bytes through a forward.
func benchMove(b *testing.B, socket string, down bool, size int64) time.Duration {
	begin := time.Now()
	c, err := net.Dial("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	want := int64(1)
	if down {
		want = size
	} else {
		benchSend(c, size)
		if err := c.(*net.UnixConn).CloseWrite(); err != nil {
			b.Fatal(err)
		}
	}
	if n, err := io.Copy(io.Discard, onlyReader{c}); n != want {
		b.Fatalf("%d bytes, %v; want %d", n, err, want)
	}
	return time.Since(begin)
}
