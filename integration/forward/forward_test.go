package forward

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
)

// A forward leads to its address by whatever spelling, is there once, and is gone when it is stopped.
func TestForward(t *testing.T) {
	sshd := lab.StartSSHD(t)
	db := serve(t, echo)
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, fmt.Sprintf("[forward]\nallow = ['localhost:%d', '127.0.0.?:*']\ntcp = true", db.port))
	c := h.Connect(t)
	id := c.Open(t, sshd)
	f := forward(t, c.Tools, `"session_id":%s,"to":%s`, id, db.to("LOCALHOST."))
	if len(f.Warnings) != 0 {
		t.Errorf("warnings %q, want none", f.Warnings)
	}
	info, err := os.Stat(f.Socket)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("the socket is %v, %v; want mode 0600", info, err)
	}
	if folder, err := os.Stat(filepath.Dir(f.Socket)); err != nil || folder.Mode() != fs.ModeDir|0o700 {
		t.Errorf("its folder is %v, %v; want mode 0700", folder, err)
	}
	if again := forward(t, c.Tools, `"session_id":%s,"to":%s`, id, db.to("localhost")); again.Socket != f.Socket {
		t.Errorf("a second forward has the socket %s, want the same %s", again.Socket, f.Socket)
	}
	port := forward(t, c.Tools, `"session_id":%s,"to":%s,"tcp_port":0`, id, db.to("::ffff:127.0.0.1"))
	if !strings.HasPrefix(port.Address, "127.0.0.1:") || port.Socket != "" {
		t.Errorf("with tcp_port: %+v, want an address of 127.0.0.1", port)
	}
	postgres := forwarded{Socket: filepath.Join(filepath.Dir(f.Socket), fmt.Sprintf(".s.PGSQL.%d", db.port))}
	for _, at := range []forwarded{f, port, postgres} {
		exchange(t, dial(t, at), 300<<10)
	}
	all := status(t, c.Tools, id).Forwards
	if len(all) != 2 || all[0].To != db.to("localhost") || all[0].Total != 2 || all[0].Sent != 600<<10 ||
		all[0].Received != 600<<10 || all[1].To != db.to("127.0.0.1") || all[1].Sent != 300<<10 {
		t.Errorf("status has %+v, want 2 connections and 600 KiB each way, and 300 KiB", all)
	}

	open := dial(t, f)
	ended := forward(t, c.Tools, `"session_id":%s,"to":%s,"stop":true`, id, db.to("localhost"))
	if len(ended.Forwards) != 1 || ended.Forwards[0].Sent != 600<<10 || ended.AlreadyClosed {
		t.Errorf("stop: %+v, want the one forward", ended)
	}
	if n, err := io.Copy(io.Discard, open); n != 0 {
		t.Errorf("a connection of a stopped forward has %d bytes, %v", n, err)
	}
	if _, err := os.Stat(filepath.Dir(f.Socket)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the socket after stop: %v, want none", err)
	}
	if again := forward(t, c.Tools, `"session_id":%s,"to":%s,"stop":true`, id, db.to("localhost")); !again.AlreadyClosed {
		t.Errorf("a second stop: %+v, want already_closed", again)
	}
	c.Close(t, id)
	if _, err := net.Dial("tcp", port.Address); err == nil {
		t.Error("the port is there after the end of the session")
	}
	var starts, ends []string
	for _, e := range lab.AuditLines(t, h.Audit, "forward") {
		if !e.Intent {
			starts = append(starts, fmt.Sprintf("%s %s", e.Outcome, strings.Fields(e.Detail)[0]))
		}
	}
	lab.Eventually(t, "the end of each forward in the audit log", func() bool { // the last comes with the session's end
		ends = nil
		for _, e := range lab.AuditLines(t, h.Audit, "forward_end") {
			if !e.Intent {
				ends = append(ends, fmt.Sprintf("%d %s", e.Bytes, strings.Fields(e.Detail)[0]))
			}
		}
		return len(ends) >= 3
	})
	at, name := db.to("127.0.0.1"), db.to("localhost")
	if got, want := fmt.Sprint(starts), fmt.Sprintf("[ok %s ok %s ok %s]", name, name, at); got != want {
		t.Errorf("the audit log has the starts %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(ends), fmt.Sprintf("[%d %s 0 %s %d %s]", 1200<<10, name, name, 600<<10, at); got != want {
		t.Errorf("the audit log has the ends %s, want %s", got, want)
	}
}

// exchange sends bytes in pieces of any size, ends, and wants them back in the same order. Then the connection ends.
func exchange(t testing.TB, c net.Conn, size int) {
	t.Helper()
	data := make([]byte, size)
	random := rand.NewChaCha8([32]byte{7})
	_, _ = random.Read(data)
	sizes := rand.New(random)
	var wg sync.WaitGroup
	wg.Go(func() {
		for rest := data; len(rest) > 0; {
			n := min(1+sizes.IntN(80<<10), len(rest))
			if _, err := c.Write(rest[:n]); err != nil {
				t.Error(err)
				return
			}
			rest = rest[n:]
		}
		closeWrite(t, c)
	})
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back, %v; want the %d that were sent", len(got), err, len(data))
	}
	wg.Wait()
}

// The end of the data passes from the far side, too, and the other direction goes on.
func TestHalfClose(t *testing.T) {
	sshd := lab.StartSSHD(t)
	got := make(chan string, 1)
	db := serve(t, func(c net.Conn) {
		_, _ = c.Write([]byte("hello"))
		_ = c.(*net.TCPConn).CloseWrite()
		p, _ := io.ReadAll(c)
		got <- string(p)
	})
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, "[forward]\nallow = ['localhost:*']")
	c := h.Connect(t)
	id := c.Open(t, sshd)
	f := forward(t, c.Tools, `"session_id":%s,"to":%s`, id, db.to("localhost"))
	<-got // of the first connection, which looks whether the address is reached
	client := dial(t, f)
	if p, err := io.ReadAll(client); string(p) != "hello" || err != nil {
		t.Errorf("read %q, %v; want hello and the end", p, err)
	}
	if _, err := client.Write([]byte("and good-bye")); err != nil {
		t.Error(err)
	}
	closeWrite(t, client)
	if s := <-got; s != "and good-bye" {
		t.Errorf("the far side got %q, want all of it", s)
	}
}

// A forward ends with its session, however that ends, and leaves nothing behind but its end in the audit log.
func TestEnds(t *testing.T) {
	t.Parallel()
	sshd := lab.StartSSHD(t)
	db := serve(t, echo)
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, "[forward]\nallow = ['localhost:*']")
	c := h.Connect(t)
	open := func() int { // files; a recording stays open for a second
		return len(slices.DeleteFunc(lab.OpenFiles(t, c.PID), func(f string) bool { return strings.HasSuffix(f, ".cast") }))
	}
	files := -1
	for _, tt := range []struct {
		name string
		end  func(t *testing.T, id string)
	}{
		{"first", func(t *testing.T, id string) { c.Close(t, id) }},
		{"closed", func(t *testing.T, id string) { c.Close(t, id) }},
		{"exit", func(t *testing.T, id string) {
			c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"exit\r"}`, id)
		}},
		{"connection killed", func(t *testing.T, _ string) {
			for _, p := range sshd.Sessions(t) {
				_ = system.Kill(p.PID, syscall.SIGKILL)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id := c.Open(t, sshd)
			f := forward(t, c.Tools, `"session_id":%s,"to":%s`, id, db.to("localhost"))
			var clients []net.Conn
			for range 5 {
				client := dial(t, f)
				_, _ = client.Write([]byte("x"))
				if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				clients = append(clients, client)
			}
			tt.end(t, id)
			for _, client := range clients {
				_, _ = io.Copy(io.Discard, client) // until it ends
			}
			lab.Eventually(t, "the folder of the socket is gone", func() bool {
				_, err := os.Stat(filepath.Dir(f.Socket))
				return errors.Is(err, fs.ErrNotExist)
			})
			c.Refused(t, "ALREADY_CLOSED", lab.ToolSession, `{"action":"forward","session_id":%s,"to":%s}`, id, db.to("localhost"))
			if files < 0 { // the first session has opened the files that all share
				files = open()
				return
			}
			lab.Eventually(t, "no file of it is open", func() bool { return open() <= files })
		})
	}
	lab.Eventually(t, "each end is on record, with five bytes in each direction", func() bool {
		ends := lab.AuditLines(t, h.Audit, "forward_end")
		for _, e := range ends {
			if e.Bytes != 10 || e.Outcome != "ok" {
				t.Fatalf("the audit log has the end %+v, want one of 10 bytes", e)
			}
		}
		return len(ends) == 4
	})
}

// Two hundred connections at once, half of them idle, starve neither each other nor the terminal.
func TestTwoHundred(t *testing.T) {
	sshd := lab.StartSSHD(t)
	db := serve(t, echo)
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, "[forward]\nallow = ['localhost:*']\nmax_connections = 200")
	c := h.Connect(t)
	id := c.Open(t, sshd)
	f := forward(t, c.Tools, `"session_id":%s,"to":%s`, id, db.to("localhost"))
	var idle []net.Conn
	for range 100 {
		idle = append(idle, dial(t, f))
	}
	var wg sync.WaitGroup
	for range 100 {
		busy := dial(t, f)
		wg.Go(func() { exchange(t, busy, 256<<10) })
	}
	c.Enter(t, id, "echo a''live\r", "alive")
	wg.Wait()
	for _, client := range idle {
		exchange(t, client, 100)
	}
	lab.Eventually(t, "every connection has ended", func() bool {
		s := status(t, c.Tools, id).Forwards[0]
		return s.Connections == 0 && s.Total == 200 && s.Refused+s.Failed == 0 && s.Sent == 100*(256<<10+100)
	})

	// Those beyond the limit are closed at once.
	for range 200 {
		idle = append(idle, dial(t, f))
	}
	lab.Eventually(t, "200 connections are there", func() bool { return status(t, c.Tools, id).Forwards[0].Connections == 200 })
	if n, err := io.Copy(io.Discard, dial(t, f)); n != 0 {
		t.Errorf("connection 201 has %d bytes, %v; want its end", n, err)
	}
	if s := status(t, c.Tools, id).Forwards[0]; s.Refused != 1 {
		t.Errorf("refused %d connections, want 1: %+v", s.Refused, s)
	}
}

// A far side that has closed a connection, or does not make one, ends that connection alone.
func TestFarSide(t *testing.T) {
	sshd := lab.StartSSHD(t)
	db := serve(t, func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, 1))
		_ = c.(*net.TCPConn).SetLinger(0) // a reset
	})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	_ = closed.Close()
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, "[forward]\nallow = ['localhost:*', '127.0.0.1:*']\nmax = 2")
	c := h.Connect(t)
	id := c.Open(t, sshd)
	f := forward(t, c.Tools, `"session_id":%s,"to":%s`, id, db.to("localhost"))
	for range 3 {
		client := dial(t, f)
		_, _ = client.Write([]byte("x"))
		if n, _ := io.Copy(io.Discard, client); n != 0 {
			t.Errorf("%d bytes came back, want the end", n)
		}
	}
	dead := forward(t, c.Tools, `"session_id":%s,"to":%s`, id, nobody)
	if len(dead.Warnings) != 1 || !strings.Contains(dead.Warnings[0], "did not connect to "+nobody) ||
		!strings.Contains(dead.Warnings[0], "refused") {
		t.Errorf("a forward to nobody warns %q, want why", dead.Warnings)
	}
	if n, _ := io.Copy(io.Discard, dial(t, dead)); n != 0 {
		t.Errorf("a connection to nobody has %d bytes, want the end", n)
	}
	if s := status(t, c.Tools, id).Forwards[1]; s.Failed != 1 || !strings.Contains(s.LastError, "refused") {
		t.Errorf("status has %+v, want one that has failed, and why", s)
	}
	r := c.Refused(t, "LIMIT_EXCEEDED", lab.ToolSession, `{"action":"forward","session_id":%s,"to":"localhost:1"}`, id)
	if !strings.Contains(r.Message, "forward.max") {
		t.Errorf("a third forward: %s; want the name of the limit", r.Message)
	}
}
