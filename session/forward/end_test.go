//go:build unix

package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"ptyctl/session/access"
	"ptyctl/term"
)

// A frozen far side echoes, passes on the end of the data, and confirms no end of a stream.
type frozen struct {
	carrier
	mu      sync.Mutex
	streams []*stream
}

// freeze returns the forwards of a session with such a far side. It thaws with the test.
func freeze(t *testing.T, o Options, observers ...term.Observer) (*Set, *frozen) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &frozen{carrier: carrier{ctx: ctx}}
	c.far = func() (term.Stream, error) {
		near, far := net.Pipe()
		s := &stream{Conn: near, frozen: true, closed: make(chan struct{})}
		c.mu.Lock()
		c.streams = append(c.streams, s)
		c.mu.Unlock()
		go func() { _, _ = io.CopyN(far, far, 4); _ = far.Close() }()
		return s, nil
	}
	t.Cleanup(func() {
		cancel()
		c.thaw()
		c.wg.Wait()
	})
	o.Dir = filepath.Join(t.TempDir(), "f")
	return NewSet("s", c, access.New(access.Options{Observers: observers}), &o), c
}

// thaw ends all streams.
func (c *frozen) thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.streams {
		s.end()
	}
}

// open opens a forward.
func open(t *testing.T, set *Set, r Request) Info {
	t.Helper()
	info, err := set.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// dialed returns a client of a forward that is closed with the test.
func dialed(t *testing.T, info Info) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", info.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ping exchanges four bytes, after which the far side ends its data.
func ping(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := c.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	if p, err := io.ReadAll(c); string(p) != "ping" || err != nil {
		t.Fatalf("read %q, %v; want what was sent and the end", p, err)
	}
}

// The channel of a far side that confirms no end takes memory, so it has one of the rooms for connections until it does.
func TestUnconfirmedEnd(t *testing.T) {
	set, c := freeze(t, Options{MaxConnections: 1})
	info := open(t, set, Request{To: "db1:5432"})
	first := dialed(t, info)
	ping(t, first)
	_ = first.Close()
	if n, err := io.Copy(io.Discard, dialed(t, info)); n != 0 {
		t.Errorf("a second connection has %d bytes, %v; want its end", n, err)
	}
	if now := set.List()[0]; now.Total != 1 || now.Refused != 1 || now.Connections != 1 {
		t.Errorf("the forward has %+v, want one connection, and one refused", now)
	}
	c.thaw()
	for set.List()[0].Connections > 0 {
		time.Sleep(time.Millisecond)
	}
	ping(t, dialed(t, info))
}

// A diary keeps the ends of forwards.
type diary struct {
	mu   sync.Mutex
	ends []term.Event
}

func (d *diary) Observe(e term.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.Verb == term.VerbForwardEnd {
		d.ends = append(d.ends, e)
	}
}

// Of two calls that stop a forward one has its end, and its bytes are on record once.
func TestStopAtOnce(t *testing.T) {
	seen := new(diary)
	set, _ := freeze(t, Options{}, seen)
	held := halfway(t, open(t, set, Request{To: "db1:5432"}))
	first, second := stopping(t, set), stopping(t, set)
	_, _ = io.Copy(io.Discard, held)
	if n := []int{<-first, <-second}; n[0]+n[1] != 1 {
		t.Errorf("the two calls have ended %v forwards, want one of them one", n)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	bytes := 0
	for _, e := range seen.ends {
		bytes += e.Size
	}
	if bytes != 4 {
		t.Errorf("the ends on record have %d bytes, want 4: %+v", bytes, seen.ends)
	}
}

// While a forward ends, another one to the same address is made, and not the one that ends returned.
func TestOpenBesideStop(t *testing.T) {
	set, _ := freeze(t, Options{}, new(diary))
	info := open(t, set, Request{To: "db1:5432"})
	held := halfway(t, info)
	stopped := stopping(t, set)
	_, _ = io.Copy(io.Discard, held) // it is closed as soon as the forward begins to end, which takes a while
	if next := open(t, set, Request{To: "db1:5432"}); next.Existing || next.Socket == info.Socket {
		t.Errorf("a forward beside one that ends is %+v, want a new one", next)
	}
	if n := <-stopped; n != 1 {
		t.Errorf("the call has ended %d forwards, want 1", n)
	}
}

// halfway returns a connection through a forward while its far side waits for more.
func halfway(t *testing.T, info Info) net.Conn {
	t.Helper()
	held := dialed(t, info)
	if _, err := held.Write([]byte("pi")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(held, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	return held
}

// stopping stops the forwards to db1, and sends how many it has ended.
func stopping(t *testing.T, set *Set) <-chan int {
	ended := make(chan int, 1)
	go func() {
		list, err := set.Stop(t.Context(), "db1:5432")
		if err != nil {
			t.Error(err)
		}
		ended <- len(list)
	}()
	return ended
}

// A session that ends while a forward begins leaves no connection of it.
func TestSessionEndsAtStart(t *testing.T) {
	began := make(chan struct{}, 9)
	dir := filepath.Join(t.TempDir(), "f")
	var client net.Conn
	spawned := 0
	c := &carrier{ctx: t.Context()}
	c.far = func() (term.Stream, error) {
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		began <- struct{}{}
		return &stream{Conn: near, closed: make(chan struct{})}, nil
	}
	var mu sync.Mutex
	c.spawn = func() bool {
		mu.Lock()
		defer mu.Unlock()
		if spawned++; spawned != 2 || client != nil { // the second goroutine is refused
			return true
		}
		sockets, _ := filepath.Glob(filepath.Join(dir, "*", socketName))
		if len(sockets) != 1 {
			t.Errorf("the sockets are %q, want one", sockets)
			return false
		}
		client = dialed(t, Info{Socket: sockets[0]})
		mu.Unlock()
		select { // if it is accepted already
		case <-began:
		case <-time.After(200 * time.Millisecond):
		}
		mu.Lock()
		return false
	}
	set := NewSet("s", c, access.New(access.Options{}), &Options{Dir: dir})
	probe := c.far
	c.far = func() (term.Stream, error) { // the first connection, which looks whether the address is reached
		c.far = probe
		return nil, errors.New("not reached")
	}
	if _, err := set.Open(t.Context(), Request{To: "db1:5432"}); err == nil {
		t.Error("Open = nil, want that the session has ended")
	}
	_ = client.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := client.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the client reads %v, want the end of its connection", err)
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 || len(set.List()) > 0 {
		t.Errorf("the folder has %v, %v, and the list %v; want nothing", entries, err, set.List())
	}
}

// A forward without its socket, which something removed, is of no use, and makes room for one with a socket.
func TestRemovedSocket(t *testing.T) {
	seen := new(diary)
	set, _ := freeze(t, Options{Max: 1}, seen)
	info := open(t, set, Request{To: "db1:5432"})
	if err := os.Remove(info.Socket); err != nil {
		t.Fatal(err)
	}
	next := open(t, set, Request{To: "db1:5432"})
	if next.Existing || next.Socket == info.Socket {
		t.Errorf("the forward is %+v, want a new one", next)
	}
	ping(t, dialed(t, next))
	if _, err := os.Stat(filepath.Dir(info.Socket)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the removed socket: %v, want none", err)
	}
	if list := set.List(); len(list) != 1 || len(seen.ends) != 1 {
		t.Errorf("there are %+v, and the ends %+v on record; want one of each", list, seen.ends)
	}
}

// A request for a port gets that port, even if another forward to the same address exists. Stop ends all of them.
func TestPorts(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	set, _ := freeze(t, Options{TCP: true})
	socket := open(t, set, Request{To: "db1:5432"})
	random := open(t, set, Request{To: "db1:5432", TCP: true})
	named := open(t, set, Request{To: "db1:5432", TCP: true, Port: port})
	if want := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String(); named.Address != want || named.Existing {
		t.Errorf("with port %d: %+v, want %s", port, named, want)
	}
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{Request{To: "db1:5432"}, socket.Socket},
		{Request{To: "db1:5432", TCP: true}, random.Address},
		{Request{To: "DB1:5432", TCP: true, Port: port}, named.Address},
	} {
		if again := open(t, set, tt.r); again.where() != tt.want || !again.Existing {
			t.Errorf("Open(%+v) again = %+v, want %s", tt.r, again, tt.want)
		}
	}
	ended, err := set.Stop(t.Context(), "db1:5432")
	var at []string
	for _, e := range ended {
		at = append(at, e.where())
	}
	if want := []string{socket.Socket, random.Address, named.Address}; err != nil || !slices.Equal(at, want) {
		t.Errorf("Stop = %q, %v; want %q", at, err, want)
	}
}
