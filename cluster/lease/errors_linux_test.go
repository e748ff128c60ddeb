package lease_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/lease"
	"ptyctl/devlock"
)

// unavailable fails the test unless err says why the servers did nothing, and names them without their password.
func unavailable(t *testing.T, err error, want ...lease.Why) {
	t.Helper()
	e, ok := errors.AsType[*lease.UnavailableError](err)
	if !ok {
		t.Fatalf("the error is %v, want an UnavailableError", err)
	}
	if !slices.Contains(want, e.Why) {
		t.Errorf("the error is %v, want %q", err, want)
	}
}

// A logText is written by the goroutines of a connection.
type logText struct {
	mu   sync.Mutex // guards the following
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the text so far.
func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestOptions(t *testing.T) {
	good := lease.Options{Servers: []string{"nats://127.0.0.1:1"}, Node: "a"}
	for want, change := range map[string]func(*lease.Options){
		"Servers is empty": func(o *lease.Options) { o.Servers = nil },
		"Servers[1]":       func(o *lease.Options) { o.Servers = []string{"nats://h", "nats://u:password-1138@h:bad"} },
		"Node is empty":    func(o *lease.Options) { o.Node = "" },
		"TTL is 1s":        func(o *lease.Options) { o.TTL = time.Second },
		"Margin is 20s":    func(o *lease.Options) { o.Margin = 20 * time.Second },
		"not be negative":  func(o *lease.Options) { o.Replicas = -1 },
	} {
		o := good
		change(&o)
		if _, err := lease.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "password-1138") {
			t.Errorf("Open(%+v) = %v, want %q", o, err, want)
		}
	}
}

// No server, and no password in the error.
func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	o := lease.Options{Servers: []string{"nats://ptyctl:password-1138@" + addr}, Node: "a", Timeout: 5 * time.Second}
	_, err = lease.Open(t.Context(), o)
	unavailable(t, err, lease.NoServer)
	if !strings.Contains(err.Error(), "nats://"+addr) || strings.Contains(err.Error(), "password-1138") {
		t.Errorf("the error is %v, want the server without its password", err)
	}
}

// A bucket that another TTL was chosen for is refused: its leases would run out on the servers before they do here.
func TestOtherTTL(t *testing.T) {
	t.Parallel()
	urls := natstest.URLs(natstest.Start(t, 1))
	open(t, lease.Options{Servers: urls, Node: "a", TTL: 20 * time.Second})
	_, err := lease.Open(t.Context(), lease.Options{Servers: urls, Node: "b", TTL: 30 * time.Second})
	if err == nil || !strings.Contains(err.Error(), "TTL of 20s and not of 30s") {
		t.Errorf("Open = %v, want both TTLs", err)
	}
}

// A server that is stopped gives no answer; one that has ended cannot be reached. Each call says which, in its time, and
// a canceled call says that.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1)
	var log logText
	s, err := lease.Open(t.Context(), lease.Options{
		Servers: []string{strings.Replace(servers[0].URL, "nats://", "nats://ptyctl:password-1138@", 1)}, Node: "a",
		Timeout: 3 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(t.Context(), "rack1", devlock.Owner{Session: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(context.Context) error{
		"acquire": func(ctx context.Context) error { _, err := s.Acquire(ctx, "rack2", devlock.Owner{}); return err },
		"renew":   func(ctx context.Context) error { return s.Renew(ctx, l) },
		"lookup":  func(ctx context.Context) error { _, err := s.Lookup(ctx, "rack2"); return err },
		"watch":   func(ctx context.Context) error { _, err := s.Watch(ctx, "rack2"); return err },
	}
	all := func(why ...lease.Why) {
		t.Helper()
		failed := make(map[string]chan error)
		for name, call := range calls {
			done := make(chan error, 1)
			failed[name] = done
			go func() { done <- call(context.Background()) }()
		}
		for name := range calls {
			err := <-failed[name]
			if err == nil {
				t.Fatalf("%s has no error", name)
			}
			unavailable(t, err, why...)
			if strings.Contains(err.Error(), "password-1138") {
				t.Errorf("%s shows the password: %v", name, err)
			}
		}
	}
	servers[0].Stop(t)
	all(lease.Slow)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := s.Acquire(ctx, "rack2", devlock.Owner{}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("a canceled call = %v", err)
	}
	servers[0].Kill()
	all(lease.NoServer)
	if err := l.Check(); err != nil { // its time is not over
		t.Errorf("the lease: %v", err)
	}
	err = s.Release(t.Context(), l)
	unavailable(t, err, lease.NoServer)
	if l.Check() == nil {
		t.Error("a lease that was released without a server passes its check")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "password-1138") {
		t.Errorf("the log shows the password: %s", &log)
	}
}

// Without a majority a Lookup may still be answered, and then says that it may be stale. An owner knows better.
func TestStaleLookup(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3)
	urls := natstest.URLs(servers)
	a := open(t, lease.Options{Servers: urls, Node: "a", Bucket: "stale"})
	b := open(t, lease.Options{Servers: urls, Node: "b", Bucket: "stale"})
	if _, err := a.Acquire(t.Context(), "rack1", devlock.Owner{Session: "s1"}); err != nil {
		t.Fatal(err)
	}
	if h, err := b.Lookup(t.Context(), "rack1"); err != nil || h.MayBeStale || h.Owner.Session != "s1" {
		t.Errorf("with a majority: %+v, %v", h, err)
	}
	leader := natstest.Leader(t, servers, "KV_stale")
	for _, s := range servers {
		if s != leader {
			s.Kill()
		}
	}
	for end := time.Now().Add(time.Minute); ; { // the leader notices after a while
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		h, err := b.Lookup(ctx, "rack1")
		cancel()
		if err == nil && h.MayBeStale {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("without a majority: %+v, %v; want that it may be stale", h, err)
		}
	}
	if h, err := a.Lookup(t.Context(), "rack1"); err != nil || h.MayBeStale || h.Owner.Node != "a" {
		t.Errorf("the owner's own answer: %+v, %v", h, err)
	}
}

// A watcher sees that the lease of an owner that has vanished has run out.
func TestWatchSeesExpiry(t *testing.T) {
	t.Parallel()
	urls := natstest.URLs(natstest.Start(t, 1))
	s := open(t, lease.Options{Servers: urls, Node: "a", Bucket: "expiry", TTL: short})
	n := startNode(t, nodeConfig{Servers: urls, Name: "b", Bucket: "expiry", TTL: short})
	n.do(t, command{Do: "acquire", Session: "gone", Devices: []string{"rack1"}})
	owners(t, n.take(t, 1))
	states, err := s.Watch(t.Context(), "rack1")
	if err != nil {
		t.Fatal(err)
	}
	if h := <-states; !h.Held || h.Owner.Node != "b" {
		t.Fatalf("the watch begins with %+v", h)
	}
	n.kill()
	if h := <-states; h.Held {
		t.Errorf("after the owner has gone: %+v", h)
	}
}

// No device is lost among many of one node, although one goroutine renews them all.
func TestManyLeases(t *testing.T) {
	t.Parallel()
	urls := natstest.URLs(natstest.Start(t, 1))
	s := open(t, lease.Options{Servers: urls, Node: "a", Bucket: "many"})
	n := 300
	if os.Getenv("PTYCTL_LONG") != "" {
		n = 5000
	}
	var all []*devlock.Lease
	for i := range n {
		l, err := s.Acquire(t.Context(), fmt.Sprint("d", i), devlock.Owner{Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	for _, l := range all {
		before := l.Until()
		if err := s.Renew(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if !l.Until().After(before) {
			t.Errorf("%s: a renewal has left its end at %v", l.Device(), before)
		}
	}
}

// With the rights in the documentation of the package and no others all calls work, and no server complains.
func TestRights(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var publish []string
	for line := range strings.Lines(string(page)) {
		if subject, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(line, "//")), "publish "); ok {
			publish = append(publish, fmt.Sprintf("%q", strings.ReplaceAll(subject, "BUCKET", "ptyctl-devices")))
		}
	}
	if len(publish) < 5 {
		t.Fatalf("doc.go lists %q", publish)
	}
	urls := natstest.URLs(natstest.StartWith(t, 1, fmt.Sprintf(`
authorization { users: [{
	user: node, password: "password-1138",
	permissions: { publish: [%s], subscribe: ["_INBOX.>"] }
}] }
`, strings.Join(publish, ", "))))
	var log logText
	s, err := lease.Open(t.Context(), lease.Options{
		Servers: []string{strings.Replace(urls[0], "nats://", "nats://node:password-1138@", 1)}, Node: "a",
		Timeout: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	states, err := s.Watch(ctx, "rack1")
	if err != nil {
		t.Fatal(err)
	}
	if h := <-states; h.Held {
		t.Errorf("the watch begins with %+v", h)
	}
	l, err := s.Acquire(t.Context(), "rack1", devlock.Owner{Session: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	if h := <-states; !h.Held {
		t.Errorf("the watch goes on with %+v", h)
	}
	if err := s.Renew(t.Context(), l); err != nil {
		t.Error(err)
	}
	if _, err := s.Acquire(t.Context(), "rack1", devlock.Owner{Session: "s2"}); !errors.As(err, new(*devlock.HeldError)) {
		t.Errorf("a second Acquire = %v", err)
	}
	if h, err := s.Lookup(t.Context(), "rack2"); err != nil || h.Held || h.MayBeStale {
		t.Errorf("Lookup = %+v, %v", h, err)
	}
	if err := s.Release(t.Context(), l); err != nil {
		t.Error(err)
	}
	stop()
	for range states { // until it is closed
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if log.String() != "" {
		t.Errorf("the servers complain: %s", &log)
	}
	if _, err := lease.Open(t.Context(), lease.Options{Servers: urls, Node: "a", Timeout: 2 * time.Second}); err == nil {
		t.Error("a node without a password was let in")
	}
}
