package mux

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"golang.org/x/crypto/ssh"
)

// An unconfirmed channel has unread data, and its server confirms no end of it.
type unconfirmed struct {
	ssh.Channel
	data, extended *unread
	closed         atomic.Bool
}

func (u *unconfirmed) Read(p []byte) (int, error) { return u.data.Read(p) }
func (u *unconfirmed) Stderr() io.ReadWriter      { return u.extended }
func (u *unconfirmed) Close() error               { u.closed.Store(true); return nil }

// unread is data that has come, after which nothing comes.
type unread struct {
	left atomic.Int64
	over <-chan struct{}
}

func (u *unread) Write([]byte) (int, error) { return 0, io.EOF }

func (u *unread) Read(p []byte) (int, error) {
	if left := u.left.Load(); left > 0 {
		n := min(left, int64(len(p)))
		u.left.Add(-n)
		return int(n), nil
	}
	<-u.over
	return 0, io.EOF
}

// Unread data of a server does not stay in memory once the stream is closed, although the server never confirms the
// close.
func TestStreamCloseDiscards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		u := &unconfirmed{data: &unread{over: over}, extended: &unread{over: over}}
		u.data.left.Store(2 << 20)
		u.extended.left.Store(2 << 20)
		k := new(Link)
		s := &Stream{Channel: u, k: k, closed: make(chan struct{})}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if data, extended := u.data.left.Load(), u.extended.left.Load(); data+extended != 0 || !u.closed.Load() {
			t.Errorf("%d and %d bytes stay, closed %v; want none, and the channel closed", data, extended, u.closed.Load())
		}
		close(over) // the end of the connection
		k.wg.Wait()
	})
}
