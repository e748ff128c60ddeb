package nodes_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/nodes"
)

// short is the TTL of most of these tests.
const short = 2 * time.Second

// nodeEnv tells this test program to be a node that can be killed.
const nodeEnv = "NODES_TEST_NODE"

// TestMain also runs the nodes.
func TestMain(m *testing.M) {
	text := os.Getenv(nodeEnv)
	if text == "" {
		os.Exit(m.Run())
	}
	var c struct{ Servers, Name string }
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	nc, err := nats.Connect(c.Servers, nats.ReconnectBufSize(-1))
	if err == nil {
		_, err = nodes.Join(context.Background(), nodes.Options{Conn: nc, TTL: short}, self(c.Name))
	}
	fmt.Println("joined:", err)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}

func self(name string) nodes.Node {
	return nodes.Node{
		Name: name, Version: "1.2.3", WireMin: 1, WireMax: 1, Key: make([]byte, 32),
		Labels: map[string]string{"site": "fra"}, MaxSessions: 10, Started: time.Now(),
	}
}

// connect connects to servers, until the test ends.
func connect(tb testing.TB, urls []string) *nats.Conn {
	tb.Helper()
	nc, err := nats.Connect(strings.Join(urls, ","), nats.ReconnectBufSize(-1), nats.MaxReconnects(-1),
		nats.ReconnectWait(50*time.Millisecond), nats.PingInterval(500*time.Millisecond), nats.IgnoreDiscoveredServers())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

// join joins, and closes the registry with the test.
func join(tb testing.TB, urls []string, o nodes.Options, name string) *nodes.Registry {
	tb.Helper()
	o.Conn = connect(tb, urls)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := nodes.Join(ctx, o, self(name))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Close)
	return r
}

// sees waits until a registry has a node in a state.
func sees(tb testing.TB, r *nodes.Registry, name string, want nodes.State) {
	tb.Helper()
	natstest.Eventually(tb, fmt.Sprintf("%s is %s", name, want), func() bool { return r.Lookup(name).State == want })
}

// taken fails the test unless err says that another process has the name.
func taken(tb testing.TB, err error, name string) {
	tb.Helper()
	e, ok := errors.AsType[*nodes.NameTakenError](err)
	if !ok || e.Name != name || e.Node.Version != "1.2.3" || e.Free <= 0 || !strings.Contains(err.Error(), fmt.Sprintf("is node %q", name)) {
		tb.Fatalf("the error is %#v, want that another process is node %s", err, name)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	urls := natstest.URLs(natstest.Start(t, 1))
	o := nodes.Options{TTL: 6 * time.Second, Every: time.Second}
	a, b := join(t, urls, o, "a"), join(t, urls, o, "b")
	watcher, err := nodes.Observe(t.Context(), nodes.Options{Conn: connect(t, urls), TTL: o.TTL})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	for _, r := range []*nodes.Registry{a, b, watcher} {
		sees(t, r, "a", nodes.Live)
		sees(t, r, "b", nodes.Live)
		if all := r.All(); len(all) != 2 || all[0].Name != "a" || all[0].Labels["site"] != "fra" || len(all[1].Key) != 32 {
			t.Errorf("All = %+v", all)
		}
	}
	o.Conn = connect(t, urls)
	_, err = nodes.Join(t.Context(), o, self("a"))
	taken(t, err, "a")
	o.Wait = time.Minute // the other process writes, so this does not wait for it
	_, err = nodes.Join(t.Context(), o, self("a"))
	taken(t, err, "a")

	if err := b.Update(func(n *nodes.Node) { n.Sessions, n.Name, n.Labels = 9, "liar", map[string]string{"zone": "z"} }); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the load of b", func() bool { n := a.Lookup("b"); return n.Sessions == 9 && n.Labels["zone"] == "z" })
	if s := a.Lookup("liar").State; s != nodes.Unknown {
		t.Errorf("Update has changed the name: liar is %s", s)
	}
	if err := b.Update(func(n *nodes.Node) { n.Sessions = -1 }); err == nil {
		t.Error("a negative count was taken")
	}
	// One more session and b is full. This is counted here, before b says so.
	need := nodes.Need{Labels: map[string]string{"zone": "z"}}
	if n, err := a.Place(need); err != nil || n.Name != "b" {
		t.Errorf("Place = %+v, %v", n, err)
	}
	changed := a.Changed()
	if err := b.Update(func(n *nodes.Node) { n.Draining = true }); err != nil {
		t.Fatal(err)
	}
	<-changed
	if n := a.Lookup("b"); !n.Draining {
		t.Errorf("the change is not that b drains: %+v", n)
	}
	if _, err := a.Place(need); !isPlaceError(err, nodes.AllDraining) {
		t.Errorf("Place on a draining node = %v", err)
	}
	changed = a.Changed()
	if err := b.Leave(t.Context()); err != nil {
		t.Error(err)
	}
	<-changed
	if s := a.Lookup("b").State; s != nodes.Unknown {
		t.Errorf("b has left, and is %s", s)
	}
	if b.Alive() || b.Leave(t.Context()) != nil {
		t.Error("a node that has left is alive, or cannot leave twice")
	}
	join(t, urls, nodes.Options{TTL: o.TTL}, "b") // at once
}

func isPlaceError(err error, why nodes.PlaceWhy) bool {
	e, ok := errors.AsType[*nodes.PlaceError](err)
	return ok && e.Why == why
}

// The name of a process that was killed is refused, and free when its time is over.
func TestKilled(t *testing.T) {
	t.Parallel()
	urls := natstest.URLs(natstest.Start(t, 1))
	a := join(t, urls, nodes.Options{TTL: short}, "a")
	text, err := json.Marshal(map[string]string{"Servers": urls[0], "Name": "k"})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeEnv+"="+string(text))
	if _, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "joined: <nil>\n" {
		t.Errorf("the node says %q", line)
	}
	sees(t, a, "k", nodes.Live)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	o := nodes.Options{Conn: connect(t, urls), TTL: short}
	_, err = nodes.Join(t.Context(), o, self("k"))
	taken(t, err, "k")
	sees(t, a, "k", nodes.Silent)
	o.Wait = short
	k, err := nodes.Join(t.Context(), o, self("k"))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	sees(t, a, "k", nodes.Live)
}

// A node that was killed and is started at once gets its name when its time is over.
func TestKilledAndStarted(t *testing.T) {
	t.Parallel()
	urls := natstest.URLs(natstest.Start(t, 3))
	o := nodes.Options{Conn: connect(t, urls), TTL: short, Wait: short}
	killed, err := nodes.Join(t.Context(), o, self("k"))
	if err != nil {
		t.Fatal(err)
	}
	killed.Close() // it leaves its key, as a killed one does
	again, err := nodes.Join(t.Context(), o, self("k"))
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// Without servers a node knows that it is not alive, and that it cannot know about the others. Nothing has to be done
// when the servers are back, even without their data.
func TestServersGone(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1)
	urls := natstest.URLs(servers)
	a, b := join(t, urls, nodes.Options{TTL: short}, "a"), join(t, urls, nodes.Options{TTL: short}, "b")
	both := func(state nodes.State, alive bool) {
		t.Helper()
		for _, r := range []*nodes.Registry{a, b} {
			sees(t, r, "a", state)
			sees(t, r, "b", state)
			natstest.Eventually(t, fmt.Sprintf("Alive is %v", alive), func() bool { return r.Alive() == alive })
		}
	}
	both(nodes.Live, true)
	servers[0].Kill()
	both(nodes.Silent, false)
	e, ok := errors.AsType[*nodes.UnavailableError](a.Err())
	if !ok || !strings.Contains(e.Error(), "no NATS server can be reached") || !strings.Contains(e.Error(), servers[0].URL) {
		t.Errorf("Err = %v, want that no server can be reached, and which", a.Err())
	}
	if _, err := a.Place(nodes.Need{}); !isPlaceError(err, nodes.NoNode) {
		t.Errorf("Place = %v", err)
	}
	servers[0].Run(t)
	both(nodes.Live, true)

	js, err := jetstream.New(connect(t, urls))
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), "KV_ptyctl-nodes"); err != nil {
		t.Fatal(err)
	}
	if err := b.Update(func(n *nodes.Node) { n.Draining = true }); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "b drains", func() bool { return a.Lookup("b").Draining })
	both(nodes.Live, true)
	if err := b.Leave(t.Context()); err != nil {
		t.Error(err)
	}
	sees(t, a, "b", nodes.Unknown)
}

// A node that loses all its packets is silent on both sides. If another process has its name meanwhile, the node says
// so, and joins again when that process leaves.
func TestPartition(t *testing.T) {
	t.Parallel()
	urls := natstest.URLs(natstest.Start(t, 3))
	var through []string
	var cut atomic.Bool
	for _, u := range urls {
		through = append(through, natstest.Proxy(t, u, &cut))
	}
	o := nodes.Options{TTL: short, Replicas: 3}
	b, a := join(t, urls, o, "b"), join(t, through, o, "a")
	sees(t, b, "a", nodes.Live)
	sees(t, a, "b", nodes.Live)
	cut.Store(true)
	sees(t, b, "a", nodes.Silent)
	sees(t, a, "b", nodes.Silent)
	natstest.Eventually(t, "a is not alive", func() bool { return !a.Alive() })
	if a.Lookup("a").State != nodes.Silent || !errors.As(a.Err(), new(*nodes.UnavailableError)) {
		t.Errorf("a sees itself %s, and says %v", a.Lookup("a").State, a.Err())
	}
	cut.Store(false)
	sees(t, b, "a", nodes.Live)
	sees(t, a, "b", nodes.Live)
	natstest.Eventually(t, "a is alive again", a.Alive)

	cut.Store(true)
	sees(t, b, "a", nodes.Silent)
	o.Wait = time.Minute
	thief := join(t, urls, o, "a")
	cut.Store(false)
	natstest.Eventually(t, "a knows that its name is taken", func() bool { return errors.As(a.Err(), new(*nodes.NameTakenError)) })
	taken(t, a.Err(), "a")
	if err := thief.Leave(t.Context()); err != nil {
		t.Error(err)
	}
	natstest.Eventually(t, "a is alive again", a.Alive)
	sees(t, b, "a", nodes.Live)
}

// No node becomes silent while the servers elect a leader.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3)
	urls := natstest.URLs(servers)
	o := nodes.Options{Replicas: 3}
	a, b := join(t, urls, o, "a"), join(t, urls, o, "b")
	sees(t, a, "b", nodes.Live)
	changed := a.Changed()
	natstest.Leader(t, servers, "KV_ptyctl-nodes").Kill()
	if err := b.Update(func(n *nodes.Node) { n.Draining = true }); err != nil {
		t.Fatal(err)
	}
	<-changed // the first, so b was not silent before
	if n := a.Lookup("b"); !n.Draining || n.State != nodes.Live || !b.Alive() {
		t.Errorf("after the leader was killed: %+v", n)
	}
}

func TestOptions(t *testing.T) {
	nc := connect(t, natstest.URLs(natstest.Start(t, 1)))
	for want, change := range map[string]func(*nodes.Options, *nodes.Node){
		"Conn is nil":       func(o *nodes.Options, _ *nodes.Node) { o.Conn = nil },
		"Group is":          func(o *nodes.Options, _ *nodes.Node) { o.Group = "a.b" },
		"TTL is 1s":         func(o *nodes.Options, _ *nodes.Node) { o.TTL = time.Second },
		"Every is 8s":       func(o *nodes.Options, _ *nodes.Node) { o.Every = 8 * time.Second },
		"not be negative":   func(o *nodes.Options, _ *nodes.Node) { o.Wait = -1 },
		"node name":         func(_ *nodes.Options, n *nodes.Node) { n.Name = "a.b" },
		"no range":          func(_ *nodes.Options, n *nodes.Node) { n.WireMax = 0 },
		"the key has":       func(_ *nodes.Options, n *nodes.Node) { n.Key = nil },
		"has a TTL of 20s ": func(o *nodes.Options, _ *nodes.Node) { o.Group = "other" },
	} {
		o, n := nodes.Options{Conn: nc}, self("a")
		change(&o, &n)
		if o.Group == "other" {
			r, err := nodes.Observe(t.Context(), nodes.Options{Conn: nc, Group: "other", TTL: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
		}
		if _, err := nodes.Join(t.Context(), o, n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Join = %v, want %q", err, want)
		}
	}
}
