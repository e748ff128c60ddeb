package reserved_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

// A socketed connection has a socket, as far as a Hold is concerned.
type socketed struct {
	net.Conn
	closed func()
}

func (s socketed) SyscallConn() (syscall.RawConn, error) { return nil, errors.ErrUnsupported }

func (s socketed) Close() error {
	s.closed()
	return s.Conn.Close()
}

// A diary notes what happens, in order.
type diary struct {
	mu   sync.Mutex
	said []string
}

func (d *diary) note(what string) func() {
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.said = append(d.said, what)
	}
}

func (d *diary) is(want ...string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Equal(d.said, want)
}

// A console's socket is held before the session is open, and released when its connection has been closed.
func TestHold(t *testing.T) {
	for name, tt := range map[string]struct {
		hold    error // of the Hold
		handed  bool  // the Dialer calls the Hold
		line    string
		fails   error // of the dial, after the Hold
		open    bool
		want    []string
		message string
	}{
		"held":                   {handed: true, open: true, want: []string{"held", "closed", "released", "freed"}},
		"the Hold fails":         {handed: true, hold: errors.New("no process"), want: []string{"closed", "freed"}, message: "no process"},
		"the dial fails":         {handed: true, fails: io.ErrUnexpectedEOF, want: []string{"held", "closed", "released", "freed"}, message: "unexpected EOF"},
		"nothing to hold":        {want: []string{"closed", "freed"}, message: "has no socket"},
		"a line of this machine": {line: "/dev/ttyS0", open: true, want: []string{"closed", "freed"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := new(diary)
				dial := func(ctx context.Context, _ term.Target, _ term.Prompter, _ term.Approve) (term.Transport, error) {
					near, far := sessiontest.WidePipe()
					t.Cleanup(func() { far.Close() })
					conn := socketed{near, sync.OnceFunc(d.note("closed"))}
					if tt.handed {
						if _, err := term.HoldSocket(ctx, conn); err != nil {
							_ = conn.Close()
							return nil, err
						}
					}
					if tt.fails != nil {
						_ = conn.Close()
						return nil, tt.fails
					}
					return &sessiontest.Plain{ReadWriteCloser: conn}, nil
				}
				m := sessiontest.Manage(t, dial, session.Config{Devices: session.DeviceOptions{
					Line: func(term.Target) string { return tt.line },
					Reserve: func(context.Context, string, string) (session.Reservation, error) {
						return session.Reservation{
							Release: d.note("freed"),
							Hold: func(syscall.Conn) (func(), error) {
								if tt.hold != nil {
									return nil, tt.hold
								}
								d.note("held")()
								return sync.OnceFunc(d.note("released")), nil
							},
						}, nil
					},
				}})
				r := sessiontest.Target("terminal-server")
				r.Device = "rack1"
				res, err := m.Open(sessiontest.Task("t"), r)
				switch {
				case tt.open && err != nil:
					t.Fatal(err)
				case tt.open:
					res.Session.Close(sessiontest.Task("t"), session.CloseOptions{})
				case err == nil || !strings.Contains(err.Error(), tt.message):
					t.Errorf("Open = %v, want %q", err, tt.message)
				}
				synctest.Wait()
				if !d.is(tt.want...) {
					t.Errorf("what happened: %q, want %q", d.said, tt.want)
				}
			})
		})
	}
}

// A connection that is shut down when the reservation has ended breaks, and the session says why.
func TestCutConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cuts := make(chan error)
		over := errors.New("the lease has ended: no server answers")
		var ended error
		dial := func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			near, far := sessiontest.WidePipe()
			t.Cleanup(func() { far.Close() })
			return &sessiontest.Plain{ReadWriteCloser: cut{near, cuts}}, nil
		}
		m := sessiontest.Manage(t, dial, session.Config{Devices: session.DeviceOptions{
			Reserve: func(context.Context, string, string) (session.Reservation, error) {
				return session.Reservation{Release: func() {}, Check: func() error { return ended }}, nil
			},
		}})
		r := sessiontest.Target("terminal-server")
		r.Device = "rack1"
		res, err := m.Open(sessiontest.Task("t"), r)
		if err != nil {
			t.Fatal(err)
		}
		ended = over
		synctest.Wait()
		cuts <- syscall.ECONNRESET
		<-res.Session.Ended()
		if end := res.Session.Info().End; end.Code != session.EndReservation || !strings.Contains(end.Reason, over.Error()) {
			t.Errorf("the session has ended with %+v", end)
		}
	})
}

// A cut connection has no bytes, and breaks when the test says how.
type cut struct {
	net.Conn
	breaks <-chan error
}

func (c cut) Read([]byte) (int, error) { return 0, <-c.breaks }
