package lease_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/lease"
	"ptyctl/devlock"
	"ptyctl/session"
	"ptyctl/term"
)

// A line is a transport on a connection.
type line struct{ net.Conn }

// Resize implements term.Transport.
func (line) Resize(int, int) error { return nil }

// TestSession: a session ends by itself if no server renews its lease. It says why, and leaves its console, which
// another node then opens.
func TestSession(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1)
	manager := func(node string, dials chan<- net.Conn) *session.Manager {
		store := open(t, lease.Options{Servers: natstest.URLs(servers), Node: node, Bucket: "session", TTL: short})
		m := session.NewManager(session.Config{
			Dialers: map[string]term.Dialer{"test": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
				near, far := net.Pipe()
				dials <- far
				return line{near}, nil
			}},
			Devices: session.DeviceOptions{Reserve: func(ctx context.Context, device, id string) (session.Reservation, error) {
				l, err := store.Acquire(ctx, device, devlock.Owner{Session: id, Started: time.Now()})
				if err != nil {
					return session.Reservation{}, err
				}
				return session.Reservation{
					Release:  func() { l.End(l.Released()) }, // its key expires
					Check:    l.Check,
					AfterEnd: l.AfterEnd,
				}, nil
			}},
		})
		t.Cleanup(func() { m.Close(context.Background()) })
		return m
	}
	consoles := make(chan net.Conn, 2)
	a, b := manager("a", consoles), manager("b", consoles)
	ctx := term.WithActor(t.Context(), term.Actor{Transport: "stdio", Task: "t"})
	request := session.OpenRequest{Target: term.Target{Protocol: "test", Host: "rack"}, Device: "rack1", LockTTL: time.Hour}
	first, err := a.Open(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	far := <-consoles
	typed := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(far)
		typed <- string(text)
	}()
	if _, err := first.Session.Write(ctx, []byte("show version\r"), session.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(ctx, request); err == nil || !strings.Contains(err.Error(), `of node "a"`) {
		t.Errorf("the other node's Open = %v, want the owner", err)
	}
	servers[0].Stop(t)
	<-first.Session.Ended()
	if end := first.Session.Info().End; end.Code != session.EndReservation || !strings.Contains(end.Reason, "no server has renewed it") {
		t.Errorf("the session has ended with %+v", end)
	}
	if _, err := first.Session.Write(ctx, []byte("reload\r"), session.WriteOptions{}); err == nil {
		t.Error("a write after the lease was taken")
	}
	if text := <-typed; text != "show version\r" {
		t.Errorf("the console got %q", text)
	}
	servers[0].Continue(t)
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { // the key may not have expired yet
		second, err := b.Open(ctx, request)
		if err == nil {
			if second.State != session.Open {
				t.Errorf("the other node's session is %s", second.State)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
