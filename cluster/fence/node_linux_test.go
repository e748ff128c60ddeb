package fence

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptyctl/cluster/lease"
	"ptyctl/devlock"
	"ptyctl/session"
	"ptyctl/telnet"
	"ptyctl/term"
)

// The tests of faults need owners that can be stopped and killed: processes of this test program, with sessions over
// Telnet to the judge, which take commands on stdin and answer on stdout. An owner types without a pause.

// A nodeConfig is the configuration of a node, in its environment.
type nodeConfig struct {
	Servers []string
	Name    string
	TTL     time.Duration
	Judge   string // address
	NoFence bool
}

// A command is a line of a node's stdin.
type command struct {
	Do      string // "open" (as soon as the consoles are free), "close" (all)
	Devices []string
}

// A report is a line of a node's stdout.
type report struct {
	What   string // "ready", "opened", "ended", "closed" (all), "failed"
	Device string
	Token  uint64
	Code   session.EndCode
	Reason string
}

// burst is how much is typed at once into a slow console: more than the kernels take.
const burst = 1 << 20

const nodeEnv = "FENCE_TEST_NODE"

// A process is one node, in its own process.
type process struct {
	store   *lease.Store
	fence   *Fence
	manager *session.Manager
	judge   *net.TCPAddr

	mu       sync.Mutex // guards the following
	out      *json.Encoder
	owned    map[string]owned
	sessions []*session.Session
}

// owned is a console that this node has acquired.
type owned struct {
	*devlock.Lease
	at time.Time
}

// nodeMain is the main function of a node.
func nodeMain(text string) {
	var c nodeConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	ctx := context.Background()
	store, err := lease.Open(ctx, lease.Options{Servers: c.Servers, Node: c.Name, Bucket: "fence", TTL: c.TTL, Timeout: time.Minute})
	if err != nil {
		panic(err)
	}
	judge, err := net.ResolveTCPAddr("tcp", c.Judge)
	if err != nil {
		panic(err)
	}
	p := &process{store: store, fence: New(Options{}), judge: judge, out: json.NewEncoder(os.Stdout), owned: make(map[string]owned)}
	p.manager = session.NewManager(session.Config{
		Dialers: map[string]term.Dialer{"telnet": telnet.Dialer{}.Open}, WriteTimeout: time.Hour, MaxBufferBytes: 1 << 30,
		Devices: session.DeviceOptions{Reserve: func(ctx context.Context, device, id string) (session.Reservation, error) {
			return p.reserve(ctx, device, id, !c.NoFence)
		}},
	})
	p.say(report{What: "ready"})
	for in := json.NewDecoder(os.Stdin); ; {
		var c command
		if err := in.Decode(&c); err != nil { // the test has ended
			return
		}
		if c.Do == "close" {
			p.close()
			continue
		}
		for _, d := range c.Devices {
			go p.open(d)
		}
	}
}

func (p *process) say(r report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.out.Encode(r)
}

// reserve is the Reserve of the node's sessions.
func (p *process) reserve(ctx context.Context, device, id string, fenced bool) (session.Reservation, error) {
	l, err := p.store.Acquire(ctx, device, devlock.Owner{Session: id, Started: time.Now()})
	at := time.Now()
	if err != nil {
		return session.Reservation{}, err
	}
	p.mu.Lock()
	p.owned[device] = owned{l, at}
	p.mu.Unlock()
	r := session.Reservation{
		Release: func() { _ = p.store.Release(context.Background(), l) }, Check: l.Check, AfterEnd: l.AfterEnd,
	}
	r.Hold = func(socket syscall.Conn) (func(), error) {
		if tcp, ok := socket.(*net.TCPConn); !ok || tcp.SetWriteBuffer(64<<10) != nil { // soon full
			return nil, errors.ErrUnsupported
		}
		if !fenced {
			return func() {}, nil
		}
		return p.fence.Hold(socket, l)
	}
	return r, nil
}

// open opens a console as soon as it is free, and types into it until the session has ended.
func (p *process) open(device string) {
	ctx := term.WithActor(context.Background(), term.Actor{Transport: "stdio", Task: device})
	request := session.OpenRequest{
		Target: term.Target{
			Protocol: "telnet", Host: p.judge.IP.String(), Port: p.judge.Port, Telnet: term.TelnetOptions{Mode: "raw"},
		},
		Device: device, LockTTL: time.Hour,
	}
	opened, err := p.manager.Open(ctx, request)
	for ; err != nil; opened, err = p.manager.Open(ctx, request) {
		_, held := errors.AsType[*devlock.HeldError](err)
		_, late := errors.AsType[*lease.UnavailableError](err) // or the servers were, by more than a lease lasts
		if !held && !late && !p.lost(device) {
			p.say(report{What: "failed", Device: device, Reason: err.Error()})
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s := opened.Session
	p.mu.Lock()
	own := p.owned[device]
	p.sessions = append(p.sessions, s)
	p.mu.Unlock()
	token := own.Token()
	p.say(report{What: "opened", Device: device, Token: token})
	text := fmt.Appendf(nil, "%s %d %d\n", device, token, own.at.UnixNano())
	if slow(device) {
		text = append(text, bytes.Repeat([]byte("s"), burst)...)
	}
	for {
		if _, err := s.Write(ctx, text, session.WriteOptions{}); err != nil {
			break
		}
		text = []byte("show version\r")
		time.Sleep(200 * time.Microsecond)
	}
	<-s.Ended()
	end := s.Info().End
	p.say(report{What: "ended", Device: device, Token: token, Code: end.Code, Reason: end.Reason})
}

// lost reports whether this node had a console and its lease has ended: a machine with much to do may take longer to
// open a session than a lease lasts.
func (p *process) lost(device string) bool {
	p.mu.Lock()
	own := p.owned[device]
	p.mu.Unlock()
	return own.Lease != nil && own.Check() != nil
}

// close closes all sessions.
func (p *process) close() {
	p.mu.Lock()
	all := p.sessions
	p.sessions = nil
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() {
			s.Close(term.WithActor(context.Background(), term.Actor{Transport: "stdio", Task: "close"}), session.CloseOptions{Force: true})
		})
	}
	wg.Wait()
	p.say(report{What: "closed"})
}

// A node is a process as its test sees it.
type node struct {
	cmd     *exec.Cmd
	in      *json.Encoder
	reports chan report
	ended   chan struct{}

	mu   sync.Mutex        // guards over
	over map[report]report // the sessions that have ended, by device and token
}

// startNode starts a node, and ends it with the test.
func startNode(tb testing.TB, c nodeConfig) *node {
	tb.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		tb.Fatal(err)
	}
	n := &node{cmd: exec.Command(os.Args[0]), ended: make(chan struct{}), reports: make(chan report, 10_000), over: make(map[report]report)}
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
		defer close(n.reports)
		for lines := json.NewDecoder(bufio.NewReader(out)); ; {
			var r report
			if err := lines.Decode(&r); err != nil {
				return
			}
			if r.What != "ended" {
				n.reports <- r
				continue
			}
			n.mu.Lock()
			n.over[report{Device: r.Device, Token: r.Token}] = r
			n.mu.Unlock()
		}
	}()
	tb.Cleanup(n.kill)
	n.take(tb, "ready", 1)
	return n
}

// end returns the "ended" of the session of an "opened", if it has ended. Its node does not open the console again.
func (n *node) end(opened report) (r report, ended bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, ended = n.over[report{Device: opened.Device, Token: opened.Token}]
	return r, ended
}

// lose waits until the sessions of all these consoles have ended, and reports whether each knew that it had lost its
// lease. If the fence learns of a renewal too late, it cuts a connection before its lease is over; such a session is lost.
func (n *node) lose(tb testing.TB, opened map[string]report) (all bool) {
	tb.Helper()
	all = true
	for device, r := range opened {
		var end report
		eventually(tb, device+": its session ends", func() (ended bool) {
			end, ended = n.end(r)
			return ended
		})
		switch end.Code {
		case session.EndReservation:
		case session.EndLost:
			tb.Logf("%s: the session has ended with %+v", device, end)
			all = false
		default:
			tb.Errorf("%s: the session has ended with %+v", device, end)
		}
	}
	return all
}

// kill ends the process with SIGKILL, and waits for that.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	<-n.ended
}

// do sends a command.
func (n *node) do(tb testing.TB, c command) {
	tb.Helper()
	if err := n.in.Encode(c); err != nil {
		tb.Fatal(err)
	}
}

// take waits for so many reports of a kind, by device. Others are dropped.
func (n *node) take(tb testing.TB, what string, count int) map[string]report {
	tb.Helper()
	got := make(map[string]report)
	for limit := time.After(2 * time.Minute); len(got) < count; {
		select {
		case r, ok := <-n.reports:
			switch {
			case !ok:
				tb.Fatalf("a node has ended after %d of %d reports of %q", len(got), count, what)
			case r.What == "failed":
				tb.Fatalf("%s: %s", r.Device, r.Reason)
			case r.What == what:
				got[r.Device] = r
			}
		case <-limit:
			tb.Fatalf("%d of %d reports of %q", len(got), count, what)
		}
	}
	return got
}

// release has the node close its consoles.
func (n *node) release(tb testing.TB) {
	tb.Helper()
	n.do(tb, command{Do: "close"})
	n.take(tb, "closed", 1)
}

// gone reports whether a process has ended. The process that adopts orphans may not have waited for it yet.
func gone(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || bytes.Contains(text[bytes.LastIndexByte(text, ')'):], []byte(" Z "))
}

// sockets returns how many sockets a process has. Only root may look at a fence process; for others it is many.
func sockets(pid int) (n int) {
	folder := "/proc/" + strconv.Itoa(pid) + "/fd/"
	entries, err := os.ReadDir(folder)
	if os.IsPermission(err) {
		return 1 << 10
	}
	for _, e := range entries {
		if to, err := os.Readlink(folder + e.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
