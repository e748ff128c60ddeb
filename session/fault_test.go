package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/internal/leaktest"
	"ptyctl/session/redact"
	"ptyctl/term"
)

// A rigged terminal panics in the method that a test chooses.
type rigged struct {
	io.ReadWriteCloser
	far             io.Writer // the terminal's other end, for the test to write
	write, describe bool
	closed          atomic.Bool
}

func (*rigged) Resize(int, int) error { return nil }

func (r *rigged) Close() error {
	r.closed.Store(true)
	return r.ReadWriteCloser.Close()
}

func (r *rigged) Write(p []byte) (int, error) {
	if r.write {
		panic("secret")
	}
	return r.ReadWriteCloser.Write(p)
}

func (r *rigged) Describe() term.Description {
	if r.describe {
		panic("secret")
	}
	return term.Description{}
}

// A fault in any goroutine of a session ends the session as Failed, without the panic's text in its error. Its
// transport is closed, its neighbour lives on, and the log has the text.
func TestFaultsEndTheSessionAlone(t *testing.T) {
	faults := map[string]func(s *Session, r *rigged){
		"writer": func(s *Session, r *rigged) {
			r.write = true
			begin := time.Now()
			_, err := s.Write(context.Background(), []byte("x"), WriteOptions{})
			if !errors.Is(err, term.Internal) || time.Since(begin) != 0 {
				t.Errorf("the write: %v after %v", err, time.Since(begin))
			}
		},
		"writer of a secret": func(s *Session, r *rigged) {
			r.write = true
			if _, err := s.Write(context.Background(), []byte("hunter22-1138\r"), WriteOptions{Sensitive: true}); !errors.Is(
				err,
				term.Internal,
			) {
				t.Errorf("the write: %v", err)
			}
		},
		"key pressed for a command": func(s *Session, r *rigged) {
			r.write = true
			done := make(chan struct{})
			s.writer.press(Holder{}, "\x03", func() { close(done) })
			<-done
		},
		"redaction": func(s *Session, r *rigged) {
			s.redact = redact.New(
				func([]byte, []redact.Echo) { panic("secret") },
				func(keep func()) bool { return s.group.spawn("redact", keep) },
			)
			e, err := s.redact.Expect([]byte("hunter22-1138"))
			if err != nil {
				t.Fatal(err)
			}
			e.Sending()
			if _, err := io.WriteString(r.far, "hunter22"); err != nil { // waits for the rest, which does not come
				t.Fatal(err)
			}
		},
		"anything else": func(s *Session, _ *rigged) { s.group.spawn("other", func() { panic("secret") }) },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				leaktest.Secret(t, "hunter22-1138")
				near, far := bufpipe.New(0)
				r := &rigged{ReadWriteCloser: near, far: far}
				s := New(r, Options{Logger: slog.New(slog.NewTextHandler(io.MultiWriter(&log, leaktest.Writer(t, "log")), nil))})
				other, _ := bufpipe.New(0)
				neighbour := New(&rigged{ReadWriteCloser: other}, Options{})
				defer neighbour.Close(t.Context(), CloseOptions{})
				fault(s, r)
				<-s.Ended()
				synctest.Wait()
				i := s.Info()
				if i.State != Failed || !errors.Is(i.End.Err, term.Internal) ||
					!strings.Contains(i.End.Reason, "a fault in ptyctl") ||
					strings.Contains(i.End.Reason, "secret") {
					t.Errorf("%s, %+v", i.State, i.End)
				}
				if !r.closed.Load() {
					t.Error("the transport was not closed")
				}
				if began := time.Now(); !s.Close(t.Context(), CloseOptions{}) || time.Since(began) != 0 {
					t.Errorf("Close took %v", time.Since(began))
				}
				if !strings.Contains(log.String(), "panic") {
					t.Errorf("the log: %s", &log)
				}
				if neighbour.State() != Open {
					t.Error("the neighbour has ended")
				}
			})
		})
	}
}

// A transport that the session cannot own is closed, too.
func TestFaultBeforeTheSessionOwnsTheTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, _ := bufpipe.New(0)
		r := &rigged{ReadWriteCloser: near, describe: true}
		m := NewManager(
			Config{
				Dialers: map[string]term.Dialer{
					"ssh": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) { return r, nil },
				},
			},
		)
		defer m.Close(t.Context())
		if _, err := m.Open(t.Context(), OpenRequest{Target: term.Target{Protocol: "ssh", Host: "x"}}); !errors.Is(
			err,
			term.Internal,
		) {
			t.Errorf("error of the opening = %v, want Internal", err)
		}
		synctest.Wait()
		if !r.closed.Load() {
			t.Error("the transport was not closed")
		}
	})
}

// A command that obeys is stopped by its server before the connection goes, also when ptyctl shuts down; one that does
// not cannot hold it up beyond five seconds.
func TestShutdownIsPolite(t *testing.T) {
	for _, obeys := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			near, _ := bufpipe.New(0)
			told := false
			release := make(chan struct{})
			tr := &commanded{rigged: rigged{ReadWriteCloser: near}}
			tr.exec = func(ctx context.Context) {
				<-ctx.Done()
				if !obeys {
					<-release
				}
				time.Sleep(time.Second) // as far as the signal and back
				told = !tr.closed.Load()
			}
			m := NewManager(
				Config{
					Dialers: map[string]term.Dialer{
						"ssh": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
							return tr, nil
						},
					},
				},
			)
			r, err := m.Open(t.Context(), OpenRequest{Target: term.Target{Protocol: "ssh", Host: "x"}})
			if err != nil {
				t.Fatal(err)
			}
			go r.Session.Exec(t.Context(), ExecRequest{Command: "x", Lane: LaneChannel, Timeout: time.Hour})
			synctest.Wait()
			begin := time.Now()
			m.Close(t.Context())
			took := time.Since(begin)
			if obeys && (took != time.Second || !told) || took > 5*time.Second {
				t.Errorf("obeys %v: took %v, told %v", obeys, took, told)
			}
			if r.Session.State() != Closed {
				t.Errorf("state %s", r.Session.State())
			}
			close(release)
			time.Sleep(2 * time.Second) // abandoned commands end
		})
	}
}

type commanded struct {
	rigged
	exec func(ctx context.Context)
}

func (c *commanded) Exec(ctx context.Context, _ term.ExecRequest, _, _ io.Writer) (term.Exit, error) {
	c.exec(ctx)
	return term.Exit{}, ctx.Err()
}
