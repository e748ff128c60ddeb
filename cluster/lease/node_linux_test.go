package lease_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"ptyctl/cluster/lease"
	"ptyctl/devlock"
)

// The tests of faults need nodes that can be stopped and killed: processes of this test program, which take commands on
// stdin and answer on stdout. While a node has a console, it types into it without a pause: see the judge.

// A nodeConfig is the configuration of a node, in its environment.
type nodeConfig struct {
	Servers []string
	Name    string
	Bucket  string
	TTL     time.Duration
	Judge   string // address
}

// A command is a line of a node's stdin.
type command struct {
	ID      int
	Do      string   // "acquire", "await" (acquire as soon as it is free), "renew" (all), "release" (all)
	Session string   // of the first device's owner, and the prefix of the others
	Devices []string // acquired at the same time
	Timeout time.Duration
}

// A reply is a line of a node's stdout: an answer to a command for one device, or with ID 0 the end of a lease.
type reply struct {
	ID      int
	Device  string
	Token   uint64 `json:",omitempty"`
	Session string `json:",omitempty"` // of the owner
	Node    string `json:",omitempty"` // of the owner, if the device was refused
	Err     string `json:",omitempty"`
	Why     string `json:",omitempty"` // of an UnavailableError
	Lost    bool   `json:",omitempty"`
}

const nodeEnv = "LEASE_TEST_NODE"

// TestMain also runs the nodes.
func TestMain(m *testing.M) {
	text := os.Getenv(nodeEnv)
	if text == "" {
		os.Exit(m.Run())
	}
	var c nodeConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	if err := serve(c); err != nil {
		fmt.Fprintln(os.Stderr, "node", c.Name, err)
		os.Exit(1)
	}
}

// clock returns CLOCK_MONOTONIC, which all processes of this machine share.
func clock() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// A process is one node, in its own process.
type process struct {
	store *lease.Store
	judge string

	mu     sync.Mutex // guards the following
	out    *json.Encoder
	leases []*devlock.Lease
}

func serve(c nodeConfig) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, err := lease.Open(ctx, lease.Options{
		Servers: c.Servers, Node: c.Name, Bucket: c.Bucket, TTL: c.TTL, Timeout: time.Minute, Replicas: 3,
		NATS: []nats.Option{nats.IgnoreDiscoveredServers()}, // the way to the servers may be cut
	})
	if err != nil {
		return err
	}
	p := &process{store: store, judge: c.Judge, out: json.NewEncoder(os.Stdout)}
	p.say(reply{Device: "ready"})
	in := json.NewDecoder(os.Stdin)
	for {
		var c command
		if err := in.Decode(&c); err != nil { // the test has ended
			return nil
		}
		go p.carryOut(c)
	}
}

func (p *process) say(r reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.out.Encode(r)
}

func (p *process) carryOut(c command) {
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	if c.Do == "release" {
		p.mu.Lock()
		leases := p.leases
		p.leases = nil
		p.mu.Unlock()
		r := reply{ID: c.ID, Device: "all"}
		for _, l := range leases {
			if err := p.store.Release(ctx, l); err != nil {
				r.Err = err.Error()
			}
		}
		p.say(r)
		return
	}
	if c.Do == "renew" {
		p.mu.Lock()
		leases := p.leases
		p.mu.Unlock()
		for _, l := range leases {
			wg.Go(func() {
				r := reply{ID: c.ID, Device: l.Device(), Token: l.Token()}
				if err := p.store.Renew(ctx, l); err != nil {
					r.Err = err.Error()
				}
				p.say(r)
			})
		}
		return
	}
	for i, device := range c.Devices {
		wg.Go(func() { p.take(ctx, c, device, fmt.Sprintf("%s-%d", c.Session, i)) })
	}
}

// take acquires a device, and types into it from then on.
func (p *process) take(ctx context.Context, c command, device, session string) {
	r := reply{ID: c.ID, Device: device, Session: session}
	o := devlock.Owner{PID: os.Getpid(), Session: session, Started: time.Now()}
	l, err := p.store.Acquire(ctx, device, o)
	for c.Do == "await" && err != nil && ctx.Err() == nil {
		p.awaitFree(ctx, device)
		l, err = p.store.Acquire(ctx, device, o)
	}
	if err == nil {
		r.Token = l.Token()
		if p.judge != "" {
			if err := p.use(l); err != nil {
				r.Err = err.Error()
			}
		}
		p.mu.Lock()
		p.leases = append(p.leases, l)
		p.mu.Unlock()
		p.say(r)
		return
	}
	r.Err = err.Error()
	if held, ok := errors.AsType[*devlock.HeldError](err); ok {
		r.Session, r.Node = held.Owner.Session, held.Owner.Node
	}
	if failed, ok := errors.AsType[*lease.UnavailableError](err); ok {
		r.Why = string(failed.Why)
	}
	p.say(r)
}

// awaitFree waits until a watcher sees that the device has no owner, or for a while if no watcher can be had now.
func (p *process) awaitFree(ctx context.Context, device string) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	states, err := p.store.Watch(ctx, device)
	if err != nil {
		<-ctx.Done()
		return
	}
	for h := range states {
		if !h.Held {
			cancel()
		}
	}
}

// use types into the device as long as the lease passes its check, and says when it no longer does.
func (p *process) use(l *devlock.Lease) error {
	c, err := net.Dial("tcp", p.judge)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(c).Encode(stroke{Device: l.Device(), Token: l.Token(), Acquired: clock()}); err != nil {
		return err
	}
	typing := make(chan struct{})
	l.AfterEnd(func(err error) {
		<-typing // the checks fail, too
		r := reply{Device: l.Device(), Token: l.Token(), Lost: true, Err: err.Error()}
		if failed, ok := errors.AsType[*lease.UnavailableError](err); ok {
			r.Why = string(failed.Why)
		}
		p.say(r)
	})
	go func() {
		defer close(typing)
		defer c.Close()
		out := json.NewEncoder(c)
		for {
			at := clock()
			if err := l.Check(); err != nil {
				return
			}
			until := clock() + int64(time.Until(l.Until()))
			if err := out.Encode(stroke{Device: l.Device(), Token: l.Token(), Checked: at, Until: until}); err != nil {
				return
			}
			time.Sleep(200 * time.Microsecond)
		}
	}()
	return nil
}

// A node is a process as its test sees it.
type node struct {
	name    string
	cmd     *exec.Cmd
	in      *json.Encoder
	replies chan reply // of commands
	lost    chan reply // ends of leases
	ended   chan struct{}
	last    int
}

// startNode starts a node, and ends it with the test.
func startNode(tb testing.TB, c nodeConfig) *node {
	tb.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		tb.Fatal(err)
	}
	n := &node{
		name: c.Name, cmd: exec.Command(os.Args[0]), ended: make(chan struct{}),
		replies: make(chan reply, 10_000), lost: make(chan reply, 10_000),
	}
	n.cmd.Env = append(os.Environ(), nodeEnv+"="+string(text), "GORACE=atexit_sleep_ms=10")
	n.cmd.Stderr = os.Stderr
	in, err := n.cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	n.in = json.NewEncoder(in)
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		defer close(n.ended)
		defer func() { _ = n.cmd.Wait() }()
		defer close(n.replies)
		lines := json.NewDecoder(bufio.NewReader(out))
		for {
			var r reply
			if err := lines.Decode(&r); err != nil {
				_, _ = io.Copy(io.Discard, out)
				return
			}
			if r.Lost {
				n.lost <- r
			} else {
				n.replies <- r
			}
		}
	}()
	tb.Cleanup(n.kill)
	if r := <-n.replies; r.Device != "ready" {
		tb.Fatalf("node %s does not start: %+v", c.Name, r)
	}
	return n
}

// release has the node give back its consoles, so that it types into none.
func (n *node) release(tb testing.TB) {
	tb.Helper()
	n.do(tb, command{Do: "release"})
	if r := n.take(tb, 1)["all"]; r.Err != "" {
		tb.Errorf("node %s: %s", n.name, r.Err)
	}
}

// signal sends a signal to the process.
func (n *node) signal(tb testing.TB, s os.Signal) {
	tb.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		tb.Fatal(err)
	}
}

// kill ends the process with SIGKILL, and waits until its output has ended.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	<-n.ended
}

// do sends a command.
func (n *node) do(tb testing.TB, c command) {
	tb.Helper()
	n.last++
	c.ID = n.last
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	if err := n.in.Encode(c); err != nil {
		tb.Fatalf("node %s: %v", n.name, err)
	}
}

// take waits for that many answers to the last command, by device.
func (n *node) take(tb testing.TB, count int) map[string]reply {
	tb.Helper()
	got := make(map[string]reply)
	limit := time.After(2 * time.Minute)
	for len(got) < count {
		select {
		case r, ok := <-n.replies:
			if !ok {
				tb.Fatalf("node %s has ended after %d of %d answers", n.name, len(got), count)
			}
			if r.ID == n.last {
				got[r.Device] = r
			}
		case <-limit:
			tb.Fatalf("node %s has given %d of %d answers", n.name, len(got), count)
		}
	}
	return got
}

// ends waits for the ends of the leases of devices. Those of others are no longer waited for.
func (n *node) ends(tb testing.TB, devices []string) map[string]reply {
	tb.Helper()
	got := make(map[string]reply)
	limit := time.After(2 * time.Minute)
	for len(got) < len(devices) {
		select {
		case r := <-n.lost:
			if slices.Contains(devices, r.Device) {
				got[r.Device] = r
			}
		case <-limit:
			tb.Fatalf("node %s has said the end of %d of %d leases", n.name, len(got), len(devices))
		}
	}
	return got
}
