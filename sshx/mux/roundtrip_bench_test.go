package mux_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/term"
)

// halfTrip is the relay's delay in each direction.
const halfTrip = 25 * time.Millisecond

// BenchmarkExecRoundTrips counts the round trips of an exec on an open
// connection: its median time through a relay that delays each direction, divided
// by the delay of both. For comparison it measures a plain exec channel of
// x/crypto/ssh, which needs one trip to open the channel and one for the command.
func BenchmarkExecRoundTrips(b *testing.B) {
	srv := benchServer(b)
	relay := delayingRelay(b, srv.Addr())

	b.Run("ptyctl", func(b *testing.B) {
		c := dialBench(b, relay)
		run := func() {
			var out bytes.Buffer
			if e, err := c.Exec(b.Context(), term.ExecRequest{Command: "x"}, &out, io.Discard); err != nil || e.Code != 0 ||
				out.String() != "pong" {
				b.Fatalf("%+v, %v, %q", e, err, out.String())
			}
		}
		run() // the first one opens the channel for the next
		time.Sleep(4 * halfTrip)
		b.ReportMetric(roundTrips(b, run), "RTT")
	})
	b.Run("raw", func(b *testing.B) {
		c, err := ssh.Dial(
			"tcp",
			relay,
			&ssh.ClientConfig{
				User:            "u",
				Auth:            []ssh.AuthMethod{ssh.Password("p")},
				HostKeyCallback: ssh.FixedHostKey(srv.HostKey()),
			},
		)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		b.ReportMetric(roundTrips(b, func() {
			s, err := c.NewSession()
			if err != nil {
				b.Fatal(err)
			}
			if out, err := s.Output("x"); err != nil || string(out) != "pong" {
				b.Fatalf("%q, %v", out, err)
			}
		}), "RTT")
	})
}

// roundTrips runs f and returns its median time in round trips.
func roundTrips(b *testing.B, f func()) float64 {
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		f()
		times = append(times, time.Since(start))
		time.Sleep(4 * halfTrip) // work done ahead for the next run must not count for this one
	}
	slices.Sort(times)
	return float64(times[len(times)/2]) / float64(2*halfTrip)
}

func benchServer(b *testing.B) *sshserver.Server {
	srv, err := sshserver.Listen(sshserver.Config{
		Passwords: map[string]string{"u": "p"},
		Handler: func(_ context.Context, r *sshserver.Request) sshserver.Exit {
			_, _ = io.WriteString(r.Stdout, "pong")
			return sshserver.Exit{}
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = srv.Close() })
	return srv
}

func dialBench(b *testing.B, address string) *sshx.Client {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		b.Fatal(err)
	}
	p, err := net.LookupPort("tcp", port)
	if err != nil {
		b.Fatal(err)
	}
	c, err := sshx.Dial(b.Context(), term.Target{
		Host: host, Port: p, User: "u", Auth: term.Auth{Method: "password", Password: "p"},
		SSH: term.SSHOptions{NoConfig: true, HostKeyPolicy: "disabled"},
	}, sshx.Options{HostKeyFloor: "disabled", HomeDir: b.TempDir()}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c
}

// delayingRelay forwards connections to address and delays each direction.
func delayingRelay(b *testing.B, address string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", address)
			if err != nil {
				_ = in.Close()
				continue
			}
			mu.Lock()
			conns = append(conns, in, out)
			mu.Unlock()
			wg.Go(func() { delay(out, in) })
			wg.Go(func() { delay(in, out) })
		}
	})
	b.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// delay copies src to dst, each piece halfTrip later, for any number of pieces in
// transit.
func delay(dst, src net.Conn) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			p := make([]byte, 32<<10)
			n, err := src.Read(p)
			if n > 0 {
				pieces <- piece{time.Now().Add(halfTrip), p[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		_, _ = dst.Write(p.data)
	}
	_ = dst.Close()
}
