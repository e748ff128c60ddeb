package sshx_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// A socketed connection has a socket, as far as a Hold is concerned.
type socketed struct{ net.Conn }

func (socketed) SyscallConn() (syscall.RawConn, error) { return nil, errors.ErrUnsupported }

// TestHold: the socket of the first hop is held before a byte is sent, and released when it is closed. The connection to
// a jump host is not shared with a session that has no Hold, nor the other way round.
func TestHold(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		jump := l.Server(sshtest.Addr1, sshserver.Config{AllowForward: true})
		end := l.Server(sshtest.Addr2, sshserver.Config{})
		plain := l.Opts.Dial
		l.Opts.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := plain(ctx, network, address)
			return socketed{c}, err
		}
		var held, released atomic.Int32
		ctx := term.WithHold(t.Context(), func(socket syscall.Conn) (func(), error) {
			if _, ok := socket.(socketed); !ok {
				t.Errorf("a %T is held", socket)
			}
			held.Add(1)
			return sync.OnceFunc(func() { released.Add(1) }), nil
		})
		n := sshx.NewNetwork(l.Opts)
		target := sshtest.To("192.0.2.2", "")
		target.SSH.ProxyJump = "u@192.0.2.1"
		shared, err := n.OpenShell(t.Context(), target, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		own, err := n.OpenShell(ctx, target, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := jump.Stats().Accepted, end.Stats().Accepted; a != 2 || b != 2 || held.Load() != 1 {
			t.Errorf("%d connections to the jump host and %d to the host, of which %d are held; want 2, 2 and 1", a, b, held.Load())
		}
		if err := own.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if released.Load() != 1 {
			t.Errorf("%d connections were released", released.Load())
		}
		again, err := n.OpenShell(t.Context(), target, nil, nil) // which may share the first one
		if err != nil || jump.Stats().Accepted != 2 {
			t.Fatalf("%v; %d connections to the jump host", err, jump.Stats().Accepted)
		}
		_, _ = shared.Close(), again.Close()

		refused := errors.New("no fence")
		_, err = n.OpenShell(term.WithHold(t.Context(), func(syscall.Conn) (func(), error) { return nil, refused }), target, nil, nil)
		synctest.Wait()
		if !errors.Is(err, refused) || jump.Stats().Open != 0 {
			t.Errorf("OpenShell = %v, and %d connections are open", err, jump.Stats().Open)
		}
	})
}

// TestHoldOfCommand: the connection of a ProxyCommand has no socket, and is not made.
func TestHoldOfCommand(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Config("Host 192.0.2.1\n  ProxyCommand touch " + l.Path("ran") + "\n")
		l.Opts.AllowExecDirectives = true
		ctx := term.WithHold(t.Context(), func(syscall.Conn) (func(), error) { return func() {}, nil })
		_, err := sshx.Dialer(l.Opts)(ctx, sshtest.To("192.0.2.1", ""), nil, nil)
		if !errors.Is(err, term.Unsupported) || !strings.Contains(err.Error(), "a ProxyCommand has no socket") {
			t.Errorf("the dial = %v", err)
		}
	})
}
