package mux_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// TestSubsystem: data must pass in both directions, and the server's end must end
// the stream.
func TestSubsystem(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(sshtest.Addr1, sshserver.Config{Subsystems: map[string]string{"cat": "", "exit 3": ""}})
		c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
		s, err := c.Subsystem(t.Context(), "cat")
		if err != nil {
			t.Fatal(err)
		}
		sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := s.Write(sent); err != nil {
				t.Error(err)
			}
		})
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("what came back is not what was sent (%v)", err)
		}
		all.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		ended, err := c.Subsystem(t.Context(), "exit 3")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := ended.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("read %d, %v", n, err)
		}
		_ = ended.Close()
		_, err = c.Subsystem(t.Context(), "none")
		if !errors.Is(err, term.Unsupported) {
			t.Errorf("an unknown subsystem: %v", err)
		}
	})
}

// TestSubsystemWoken: Close, and the end of the connection, must wake a Read and
// a Write that wait for the server.
func TestSubsystemWoken(t *testing.T) {
	for _, lost := range []bool{false, true} {
		sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
			srv := l.Server(sshtest.Addr1, sshserver.Config{Subsystems: map[string]string{"sleep 1h": ""}})
			c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
			s, err := c.Subsystem(t.Context(), "sleep 1h")
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			var read, written error
			all.Go(func() { _, read = s.Read(make([]byte, 1)) })
			all.Go(func() { _, written = s.Write(make([]byte, 16<<20)) }) // more than any window
			synctest.Wait()
			began := time.Now()
			if lost {
				_ = srv.Close()
			} else if err := s.Close(); err != nil {
				t.Error(err)
			}
			all.Wait()
			if read == nil || written == nil || time.Since(began) > time.Second {
				t.Errorf("lost %v: after %s, read %v, write %v", lost, time.Since(began), read, written)
			}
			_ = s.Close()
		})
	}
}

// TestSubsystemSlots: a subsystem must take a command's slot among the server's
// channels, and release it.
func TestSubsystemSlots(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Opts.MaxConnectionsPerHost = 1
		l.Server(sshtest.Addr1, sshserver.Config{MaxSessions: 1, Subsystems: map[string]string{"cat": ""}})
		c := l.Client(sshtest.To(sshtest.Host1, ""), nil)
		s, err := c.Subsystem(t.Context(), "cat")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := c.Subsystem(ctx, "cat"); !errors.Is(err, term.LimitExceeded) {
			t.Errorf("a second one: %v", err)
		}
		_ = s.Close()
		s, err = c.Subsystem(t.Context(), "cat")
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
	})
}
