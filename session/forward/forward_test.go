//go:build unix

package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ptyctl/session/access"
	"ptyctl/term"
)

// TestPacer: as many as the rate at once, and the rest evenly.
func TestPacer(t *testing.T) {
	now := time.Unix(1, 0)
	p := newPacer(10)
	for i := range 10 {
		if d := p.next(now); d > 0 {
			t.Errorf("connection %d waits %v, want none", i, d)
		}
	}
	for i := 1; i <= 3; i++ {
		if d, want := p.next(now), time.Duration(i)*100*time.Millisecond; d != want {
			t.Errorf("connection %d waits %v, want %v", 9+i, d, want)
		}
	}
	if d := p.next(now.Add(time.Minute)); d > 0 {
		t.Errorf("after a minute one waits %v, want none", d)
	}
}

// A carrier is a session in memory. far makes its far side.
type carrier struct {
	ctx  context.Context
	wg   sync.WaitGroup
	used atomic.Int64
	far  func() (term.Stream, error)

	spawn func() bool // asked before each goroutine; nil: yes
}

func (c *carrier) Context() context.Context         { return c.ctx }
func (c *carrier) Alive(string) error               { return c.ctx.Err() }
func (c *carrier) Ended(string) error               { return errors.New("ended") }
func (c *carrier) Failed(_ string, err error) error { return err }
func (c *carrier) Used()                            { c.used.Add(1) }
func (c *carrier) Forwarder() term.Forwarder        { return c }

func (c *carrier) Spawn(_ string, f func()) (ok bool) {
	if ok = c.spawn == nil || c.spawn(); ok {
		c.wg.Go(f)
	}
	return ok
}

func (c *carrier) Forward(context.Context, string, int) (term.Stream, error) { return c.far() }

// A stream is one end of a pipe. That of a frozen far side ends only with the session.
type stream struct {
	net.Conn
	frozen bool
	closed chan struct{}
	once   sync.Once
}

func (s *stream) CloseWrite() error       { return nil }
func (s *stream) Closed() <-chan struct{} { return s.closed }

func (s *stream) Close() error {
	if !s.frozen {
		s.end()
	}
	return nil
}

func (s *stream) end() {
	s.once.Do(func() {
		_ = s.Conn.Close()
		close(s.closed)
	})
}

// Every byte counts as use, in both directions; a far side that confirms nothing does not keep a forward from its end.
func TestFrozenFarSide(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var streams []*stream
	c := &carrier{ctx: ctx}
	c.far = func() (term.Stream, error) {
		near, far := net.Pipe()
		s := &stream{Conn: near, frozen: true, closed: make(chan struct{})}
		streams = append(streams, s)
		go func() { _, _ = io.Copy(far, far); _ = far.Close() }()
		return s, nil
	}
	set := NewSet("s", c, access.New(access.Options{}), &Options{Dir: filepath.Join(t.TempDir(), "f")})
	info, err := set.Open(t.Context(), Request{To: "db1:5432"})
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("unix", info.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(client, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if n := c.used.Load(); n < 2 {
		t.Errorf("the session was used %d times, want one for each direction at least", n)
	}
	ended, err := set.Stop(t.Context(), "DB1.:5432")
	if err != nil || len(ended) != 1 || ended[0].Sent != 4 || ended[0].Received != 4 {
		t.Errorf("Stop = %+v, %v; want the forward, with 4 bytes each way", ended, err)
	}
	if _, err := os.Stat(filepath.Dir(info.Socket)); !os.IsNotExist(err) {
		t.Errorf("the folder of the socket: %v, want none", err)
	}
	cancel()
	for _, s := range streams {
		s.end() // as the end of the connection does
	}
	c.wg.Wait()
	if left := set.List(); len(left) != 0 {
		t.Errorf("%d forwards are left, want none", len(left))
	}
}

// TestRefusals: a forward that is not offered is refused before anything is opened.
func TestRefusals(t *testing.T) {
	c := &carrier{ctx: t.Context(), far: func() (term.Stream, error) {
		return nil, term.Errorf(term.Unsupported, "no forwarding")
	}}
	for _, tt := range []struct {
		o    *Options
		r    Request
		kind term.Kind
	}{
		{nil, Request{To: "db1:5432"}, term.PolicyDenied},
		{&Options{}, Request{To: "db1:5432", TCP: true}, term.PolicyDenied},
		{&Options{}, Request{To: "0x7f.1:5432"}, term.InvalidArgument},
		{&Options{}, Request{To: "db1:5432"}, term.Unsupported},
	} {
		set := NewSet("s", c, access.New(access.Options{}), tt.o)
		if _, err := set.Open(t.Context(), tt.r); term.KindOf(err) != tt.kind {
			t.Errorf("Open(%+v) with %+v = %v, want %s", tt.r, tt.o, err, tt.kind)
		}
	}
}

// TestSweep: the sockets of killed processes are removed, and those of others stay.
func TestSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "f")
	live, err := listenAt(dir, 5432, Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer live.close()
	dead, err := listenAt(dir, 5432, Request{})
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.listener.Close() // as the end of its process does: the file stays
	if _, err := os.Stat(dead.socket); err != nil {
		t.Fatal(err)
	}
	third, err := listenAt(dir, 80, Request{})
	if err != nil {
		t.Fatal(err)
	}
	third.close()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(filepath.Dir(live.socket)) {
		t.Errorf("the folder has %v, %v; want that of the live socket alone", entries, err)
	}
}
