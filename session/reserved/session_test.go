package reserved_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/devlock"
	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/session/reserved"
	"ptyctl/term"
)

// leased reserves consoles with leases that last ttl and that only the test renews.
type leased struct {
	ttl   time.Duration
	lease *devlock.Lease
	freed int
}

func (l *leased) reserve(_ context.Context, device, id string) (session.Reservation, error) {
	l.lease = devlock.NewLease(device, devlock.Owner{Session: id}, 1)
	if err := l.lease.Extend(time.Now().Add(l.ttl)); err != nil {
		return session.Reservation{}, err
	}
	return session.Reservation{
		Release:  func() { l.freed++; l.lease.End(l.lease.Released()) },
		Check:    l.lease.Check,
		AfterEnd: l.lease.AfterEnd,
	}, nil
}

// console opens the console of a device that is present.
func console(t *testing.T, l *leased, pipe func() (near, far net.Conn)) (*session.Manager, *session.Session, net.Conn) {
	far := make(chan net.Conn, 2)
	dial := func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
		near, there := pipe()
		far <- there
		return &sessiontest.Plain{ReadWriteCloser: near}, nil
	}
	m := sessiontest.Manage(t, dial, session.Config{Devices: session.DeviceOptions{Reserve: l.reserve}})
	r := sessiontest.Target("terminal-server")
	r.Device, r.LockTTL = "rack1", time.Hour
	res, err := m.Open(sessiontest.Task("t"), r)
	if err != nil || res.State != session.Open {
		t.Fatalf("Open = %+v, %v", res, err)
	}
	return m, res.Session, <-far
}

func typeIn(t *testing.T, s *session.Session, text string) {
	t.Helper()
	if _, err := s.Write(sessiontest.Task("t"), []byte(text), session.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// The check fails by the clock, also when nothing has ended the lease: the write is refused, and the far side gets no
// byte of it.
func TestWriteAfterTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leased{ttl: 25 * time.Second}
		_, s, far := console(t, l, sessiontest.WidePipe)
		typeIn(t, s, "show version\r")
		sessiontest.Take(t, far, len("show version\r"))
		time.Sleep(20 * time.Second)
		if err := l.lease.Extend(time.Now().Add(l.ttl)); err != nil { // a renewal
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		typeIn(t, s, "reload\r")
		sessiontest.Take(t, far, len("reload\r"))
		time.Sleep(5 * time.Second)

		got := make(chan []byte)
		go func() {
			text, _ := io.ReadAll(far)
			got <- text
		}()
		res, err := s.Write(sessiontest.Task("t"), []byte("yes\r"), session.WriteOptions{})
		e := sessiontest.WantKind(t, err, term.Locked)
		if e.Reason != term.ReasonReservationEnded || res.Written != 0 || e.Session != s.ID() || e.Op != "write" ||
			!strings.Contains(e.Msg, "not renewed before") || !errors.As(err, new(*devlock.LostError)) {
			t.Errorf("the write is refused with %+v after %d bytes", e, res.Written)
		}
		_, err = s.Write(sessiontest.Task("t"), nil, session.WriteOptions{Key: "break"})
		sessiontest.WantKind(t, err, term.Unsupported) // this transport has no such key
		if err := s.Resize(sessiontest.Task("t"), 100, 30); !errors.Is(err, term.Locked) {
			t.Errorf("Resize = %v, want LOCKED", err)
		}
		l.lease.End(nil)
		if text := <-got; len(text) != 0 {
			t.Errorf("after the lease the far side got %q", text)
		}
	})
}

// A session ends with its lease, says why, closes the connection at once, and can be opened again.
func TestSessionEndsWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leased{ttl: time.Minute}
		m, s, far := console(t, l, sessiontest.WidePipe)
		first := l.lease
		reading := make(chan error, 1)
		go func() {
			_, err := far.Read(make([]byte, 1))
			reading <- err
		}()
		ended := time.Now()
		first.End(&devlock.LostError{Device: "rack1", Why: "no server answers"})
		<-s.Ended()
		if err := <-reading; !errors.Is(err, io.EOF) || time.Since(ended) != 0 {
			t.Errorf("the connection was closed with %v after %v, want at once", err, time.Since(ended))
		}
		end := s.Info().End
		if end.Code != session.EndReservation || !strings.Contains(end.Reason, "no server answers") || s.State() != session.Closed {
			t.Errorf("the session has ended with %+v, state %s", end, s.State())
		}
		_, err := s.Write(sessiontest.Task("t"), []byte("x"), session.WriteOptions{})
		if e := sessiontest.WantKind(t, err, term.AlreadyClosed); !strings.Contains(e.Msg, "no server answers") {
			t.Errorf("a later write is refused with %v", e)
		}
		if l.freed != 1 {
			t.Errorf("the reservation was released %d times", l.freed)
		}
		r := sessiontest.Target("terminal-server")
		r.Device = "rack1"
		again, err := m.Open(sessiontest.Task("t"), r)
		if err != nil || again.Session == s || again.Existing {
			t.Errorf("Open afterwards = %+v, %v; want a new session", again, err)
		}
		// A closed session does not end a second time with another reason.
		second := l.lease
		again.Session.Close(sessiontest.Task("t"), session.CloseOptions{})
		second.End(nil)
		synctest.Wait()
		if end := again.Session.Info().End; end.Code != session.EndClosed {
			t.Errorf("a closed session has ended with %+v", end)
		}
	})
}

// A lease that ends while the session connects ends the dial.
func TestLeaseEndsDuringTheDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leased{ttl: time.Minute}
		dial := func(ctx context.Context, _ term.Target, _ term.Prompter, _ term.Approve) (term.Transport, error) {
			time.Sleep(time.Second)
			l.lease.End(nil)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		m := sessiontest.Manage(t, dial, session.Config{Devices: session.DeviceOptions{Reserve: l.reserve}})
		r := sessiontest.Target("terminal-server")
		r.Device = "rack1"
		if _, err := m.Open(sessiontest.Task("t"), r); err == nil || !strings.Contains(err.Error(), "no longer has its device") {
			t.Errorf("Open = %v, want the end of the reservation", err)
		}
		if l.freed != 1 {
			t.Errorf("the reservation was released %d times", l.freed)
		}
	})
}

// A piece that waits for the far side goes no further than the lease: the next one is refused.
func TestLongWriteStopsWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leased{ttl: 30 * time.Second}
		_, s, far := console(t, l, sessiontest.NarrowPipe)
		data := strings.Repeat("x", 64<<10)
		wrote := make(chan error, 1)
		var res session.WriteResult
		go func() {
			var err error
			res, err = s.Write(sessiontest.Task("t"), []byte(data), session.WriteOptions{Timeout: time.Hour})
			wrote <- err
		}()
		sessiontest.Take(t, far, 10<<10)
		synctest.Wait()
		time.Sleep(30 * time.Second)
		got := 10 << 10
		buf := make([]byte, len(data))
		go func() {
			for {
				n, err := far.Read(buf)
				got += n
				if err != nil {
					return
				}
			}
		}()
		err := <-wrote
		l.lease.End(nil)
		<-s.Ended()
		synctest.Wait()
		sessiontest.WantKind(t, err, term.Locked)
		if res.Written < 10<<10 || res.Written > 16<<10 || got > 16<<10 {
			t.Errorf("%d bytes were written and %d arrived, want the piece that was under way and no other", res.Written, got)
		}
	})
}

// If a write fails because the end of the reservation cut the connection, its error says so. Other errors stay as
// they are.
func TestWriteCut(t *testing.T) {
	var over error
	check := reserved.Check(func() error { return over })
	broken := &sessiontest.Plain{ReadWriteCloser: cutWriter{func() { over = errors.New("the lease has ended") }}}
	if _, err := check.Transport(broken).Write([]byte("x")); !errors.Is(err, term.Locked) || !strings.Contains(err.Error(), "the lease has ended") {
		t.Errorf("a write over which the reservation ends: %v, want Locked", err)
	}
	over = nil
	broken.ReadWriteCloser = cutWriter{func() {}}
	if _, err := check.Transport(broken).Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a write that fails: %v, want the reset", err)
	}
}

// A cutWriter is a connection that was cut.
type cutWriter struct{ before func() }

func (cutWriter) Read([]byte) (int, error) { return 0, io.EOF }
func (cutWriter) Close() error             { return nil }
func (c cutWriter) Write([]byte) (int, error) {
	c.before()
	return 0, syscall.ECONNRESET
}
