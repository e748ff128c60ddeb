package bufpipe_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
)

// halfCloser is the part of *net.TCPConn that net.Conn lacks.
type halfCloser interface{ CloseWrite() error }

func TestBothSidesWriteFirst(t *testing.T) {
	a, b := bufpipe.New(0)
	defer a.Close()
	defer b.Close()
	for _, c := range []net.Conn{a, b} {
		if n, err := c.Write([]byte("hello")); n != 5 || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	for _, c := range []net.Conn{a, b} {
		got := make([]byte, 5)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
			t.Fatalf("read %q, %v", got, err)
		}
	}
}

// TestAllBytesInOrder sends more than the limit in pieces of odd sizes.
func TestAllBytesInOrder(t *testing.T) {
	for _, limit := range []int{0, 1, 7, 4096} {
		a, b := bufpipe.New(limit)
		want := make([]byte, 20_000)
		for i := range want {
			want[i] = byte(i * 31)
		}
		var writer sync.WaitGroup
		writer.Go(func() {
			defer a.Close()
			for rest := want; len(rest) > 0; {
				n := min(len(rest), 331)
				if _, err := a.Write(rest[:n]); err != nil {
					t.Errorf("limit %d: Write: %v", limit, err)
					return
				}
				rest = rest[n:]
			}
		})
		got, err := io.ReadAll(b)
		writer.Wait()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("limit %d: read %d bytes, %v; want %d", limit, len(got), err, len(want))
		}
	}
}

func TestEnds(t *testing.T) {
	for _, tc := range []struct {
		name      string
		do        func(a, b net.Conn)
		call      func(a, b net.Conn) (int, error)
		wantN     int
		wantError error
	}{
		{"read what was written before close", func(a, b net.Conn) { a.Write([]byte("x")); a.Close() }, func(a, b net.Conn) (int, error) { return b.Read(make([]byte, 9)) }, 1, nil},
		{"read after peer's close", func(a, b net.Conn) { a.Close() }, func(a, b net.Conn) (int, error) { return b.Read(make([]byte, 9)) }, 0, io.EOF},
		{"write after peer's close", func(a, b net.Conn) { a.Close() }, func(a, b net.Conn) (int, error) { return b.Write([]byte("x")) }, 0, io.ErrClosedPipe},
		{"read after own close", func(a, b net.Conn) { b.Write([]byte("x")); a.Close() }, func(a, b net.Conn) (int, error) { return a.Read(make([]byte, 9)) }, 0, net.ErrClosed},
		{"write after own close", func(a, b net.Conn) { a.Close() }, func(a, b net.Conn) (int, error) { return a.Write([]byte("x")) }, 0, net.ErrClosed},
		{"empty write after own close", func(a, b net.Conn) { a.Close() }, func(a, b net.Conn) (int, error) { return a.Write(nil) }, 0, net.ErrClosed},
		{"empty read does not wait", func(a, b net.Conn) {}, func(a, b net.Conn) (int, error) { return a.Read(nil) }, 0, nil},
		{"half close: peer reads EOF", func(a, b net.Conn) { a.(halfCloser).CloseWrite() }, func(a, b net.Conn) (int, error) { return b.Read(make([]byte, 9)) }, 0, io.EOF},
		{"half close: peer still writes", func(a, b net.Conn) { a.(halfCloser).CloseWrite() }, func(a, b net.Conn) (int, error) { return b.Write([]byte("x")) }, 1, nil},
		{"read deadline in the past", func(a, b net.Conn) { a.SetReadDeadline(time.Unix(1, 0)) }, func(a, b net.Conn) (int, error) { return a.Read(make([]byte, 9)) }, 0, os.ErrDeadlineExceeded},
		{"write deadline in the past", func(a, b net.Conn) { a.SetDeadline(time.Unix(1, 0)) }, func(a, b net.Conn) (int, error) { return a.Write([]byte("x")) }, 0, os.ErrDeadlineExceeded},
		{"deadline removed", func(a, b net.Conn) { a.SetDeadline(time.Unix(1, 0)); a.SetDeadline(time.Time{}) }, func(a, b net.Conn) (int, error) { return a.Write([]byte("x")) }, 1, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := bufpipe.New(4)
			defer a.Close()
			defer b.Close()
			tc.do(a, b)
			n, err := tc.call(a, b)
			if n != tc.wantN || !errors.Is(err, tc.wantError) || (tc.wantError == io.EOF && err != io.EOF) {
				t.Errorf("got %d, %v; want %d, %v", n, err, tc.wantN, tc.wantError)
			}
		})
	}
}

// TestDeadlines checks in virtual time that a waiting call ends exactly at its deadline.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := bufpipe.New(4)
		defer a.Close()
		defer b.Close()
		start := time.Now()

		a.SetReadDeadline(start.Add(time.Hour))
		_, err := a.Read(make([]byte, 1))
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(start) != time.Hour {
			t.Errorf("Read ended after %v with %v", time.Since(start), err)
		}

		a.SetWriteDeadline(time.Now().Add(time.Minute))
		n, err := a.Write([]byte("123456"))
		if n != 4 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Hour+time.Minute {
			t.Errorf("Write = %d, %v after %v", n, err, time.Since(start))
		}
	})
}

// TestDeadlineMovesUnderAWaitingCall moves a deadline to a later time; then data must
// come first.
func TestDeadlineMovesUnderAWaitingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := bufpipe.New(0)
		defer a.Close()
		defer b.Close()
		start := time.Now()
		a.SetReadDeadline(start.Add(time.Second))
		time.AfterFunc(500*time.Millisecond, func() { a.SetReadDeadline(start.Add(time.Hour)) })
		time.AfterFunc(time.Minute, func() { b.Write([]byte("x")) })
		if n, err := a.Read(make([]byte, 9)); n != 1 || err != nil || time.Since(start) != time.Minute {
			t.Errorf("Read = %d, %v after %v", n, err, time.Since(start))
		}
	})
}

func TestLimitBlocksTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := bufpipe.New(4)
		defer b.Close()
		written := make(chan error, 1)
		go func() {
			_, err := a.Write([]byte("123456"))
			written <- err
		}()
		synctest.Wait()
		if len(written) != 0 {
			t.Fatal("Write went beyond the limit")
		}
		if n, err := b.Read(make([]byte, 2)); n != 2 || err != nil {
			t.Fatalf("Read = %d, %v", n, err)
		}
		if err := <-written; err != nil {
			t.Fatalf("Write: %v", err)
		}
		go func() {
			_, err := a.Write([]byte("7"))
			written <- err
		}()
		synctest.Wait()
		a.Close()
		if err := <-written; !errors.Is(err, net.ErrClosed) {
			t.Fatalf("Write that Close woke: %v", err)
		}
	})
}

func TestCloseWakesRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := bufpipe.New(0)
		defer b.Close()
		read := make(chan error)
		go func() {
			_, err := a.Read(make([]byte, 1))
			read <- err
		}()
		synctest.Wait()
		a.Close()
		if err := <-read; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read: %v", err)
		}
	})
}

func TestListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bufpipe.Listen("router1:22", 0)
		if got := l.Addr().String(); got != "router1:22" {
			t.Errorf("Addr = %q", got)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.DialContext(ctx, "tcp", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial with nobody accepting: %v", err)
		}

		accepted := make(chan net.Conn, 1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
			}
			accepted <- c
		}()
		client, err := l.DialContext(t.Context(), "tcp", "ignored:1")
		if err != nil {
			t.Fatal(err)
		}
		server := <-accepted
		if client.RemoteAddr().String() != "router1:22" || server.LocalAddr().String() != "router1:22" {
			t.Errorf("addresses %v, %v", client.RemoteAddr(), server.LocalAddr())
		}

		ended := make(chan error)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		synctest.Wait()
		l.Close()
		l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept: %v", err)
		}
		if _, err := l.DialContext(t.Context(), "tcp", ""); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial after close: %v", err)
		}
		client.Write([]byte("lives"))
		got := make([]byte, 5)
		if _, err := io.ReadFull(server, got); err != nil || string(got) != "lives" {
			t.Errorf("after the listener's close: %q, %v", got, err)
		}
		client.Close()
		server.Close()
	})
}
