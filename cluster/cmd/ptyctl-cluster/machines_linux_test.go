package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/internal/netns"
)

// A site has machines in network namespaces, each with a server of NATS and a node, and consoles in a network of their
// own. This process is at both networks.
type site struct {
	lan, consoles *netns.Network
	machines      map[string]*netns.Machine // by the names of their nodes
	nodes         map[string]*node
	servers       []*natstest.Server // n1 is that of a, and so on
}

// names are those of the machines and their nodes.
var names = []string{"a", "b", "c"}

// newSite starts machines. The leases of their consoles last for so many milliseconds.
func newSite(tb testing.TB, lease int) *site {
	tb.Helper()
	s := &site{
		lan: netns.NewNetwork(tb, 77), consoles: netns.NewNetwork(tb, 78),
		machines: make(map[string]*netns.Machine), nodes: make(map[string]*node),
	}
	var places []natstest.Place
	for i, name := range names {
		s.machines[name] = netns.NewMachine(tb, name, i+1, s.lan, s.consoles)
		places = append(places, s.machines[name])
	}
	s.servers = natstest.StartOn(tb, places)
	var starting sync.WaitGroup
	var mu sync.Mutex
	for i, name := range names {
		text := strings.Replace(lines(name, s.servers[i].URL), "lease_ttl_ms = 2000", fmt.Sprint("lease_ttl_ms = ", lease), 1)
		starting.Go(func() {
			n := startBy(tb, s.machines[name].Start, text)
			mu.Lock()
			defer mu.Unlock()
			s.nodes[name] = n
		})
	}
	starting.Wait()
	return s
}

// at opens the console c of a device through a node.
func (s *site) at(name, device string, c *counted) result {
	return s.nodes[name].call(map[string]any{
		"action": "open", "protocol": "telnet", "host": s.consoles.Address(), "port": c.port, "device_id": device,
		"session_type": "console", "telnet": map[string]any{"mode": "raw"},
	})
}

// others returns the names of the other machines.
func (s *site) others(name string) (all []string) {
	for _, n := range names {
		if n != name {
			all = append(all, n)
		}
	}
	return all
}

// A counted console counts the bytes of each connection by the machine that it comes from.
//
// It recognizes bytes of a former owner: those that the kernel has received (tcp_info, tcpi_bytes_received) since it
// accepted a connection of another machine.
type counted struct {
	port int

	mu    sync.Mutex // guards the following
	conns []*countedConn
}

type countedConn struct {
	*net.TCPConn
	from   string
	before uint64 // bytes that had come when the next owner connected
	next   string // the next owner; empty: none yet
}

// newCounted starts a console in a network.
func newCounted(tb testing.TB, n *netns.Network) *counted {
	tb.Helper()
	l, err := net.Listen("tcp", n.Address()+":0")
	if err != nil {
		tb.Fatal(err)
	}
	_, text, _ := net.SplitHostPort(l.Addr().String())
	c := new(counted)
	if c.port, err = strconv.Atoi(text); err != nil {
		tb.Fatal(err)
	}
	var conversations sync.WaitGroup
	conversations.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			next := c.add(tb, conn.(*net.TCPConn))
			conversations.Go(next.read)
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		c.mu.Lock()
		for _, conn := range c.conns {
			_ = conn.Close()
		}
		c.mu.Unlock()
		conversations.Wait()
	})
	return c
}

// add takes a connection.
func (c *counted) add(tb testing.TB, conn *net.TCPConn) *countedConn {
	from, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	next := &countedConn{TCPConn: conn, from: from}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, old := range c.conns {
		if old.from != from && old.next == "" {
			old.before, old.next = old.received(tb), from
		}
	}
	c.conns = append(c.conns, next)
	return next
}

// received returns how many bytes the kernel has taken.
func (c *countedConn) received(tb testing.TB) (n uint64) {
	raw, err := c.SyscallConn()
	if err != nil {
		tb.Errorf("a console's connection: %v", err)
		return 0
	}
	if err := raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			tb.Errorf("a console's connection: %v", err)
			return
		}
		n = info.Bytes_received
	}); err != nil {
		tb.Errorf("a console's connection: %v", err)
	}
	return n
}

// read reads until the connection ends. It stays open, so that it can be asked.
func (c *countedConn) read() {
	buf := make([]byte, 4096)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
	}
}

// owners returns, in order, the machines that have sent bytes.
func (c *counted) owners(tb testing.TB) (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		if conn.received(tb) > 0 {
			all = append(all, conn.from)
		}
	}
	return all
}

// late describes the bytes that came from owners after the next one had connected.
func (c *counted) late(tb testing.TB) (faults []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		if n := conn.received(tb); conn.next != "" && n > conn.before {
			faults = append(faults, fmt.Sprintf("%d bytes of %s after %s had the console", n-conn.before, conn.from, conn.next))
		}
	}
	return faults
}

// connected reports whether the kernel of a machine still has a connection to the console, and so may send something
// (proc_pid_net(5)): one that waits for its end (06, TIME_WAIT) sends nothing.
func (c *counted) connected(tb testing.TB, n *node) bool {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", n.cmd.Process.Pid))
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 3 && strings.HasSuffix(f[2], fmt.Sprintf(":%04X", c.port)) && f[3] != "06" {
			return true
		}
	}
	return false
}
