package netns

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A Network is a bridge that machines are joined to. This process is at it, too.
type Network struct {
	number int
	bridge string
	cables map[*Machine]string // this side's ends
}

// NewNetwork makes a network with the addresses 10.NUMBER.0.0/24.
func NewNetwork(tb testing.TB, number int) *Network {
	tb.Helper()
	n := &Network{number: number, bridge: fmt.Sprint("net", number), cables: make(map[*Machine]string)}
	ip(tb, nil, "link", "add", n.bridge, "type", "bridge")
	ip(tb, nil, "addr", "add", n.Address()+"/24", "dev", n.bridge)
	ip(tb, nil, "link", "set", n.bridge, "up")
	return n
}

// Address returns the address of this process.
func (n *Network) Address() string { return fmt.Sprintf("10.%d.0.254", n.number) }

// A State is that of a cable.
type State int

// The states.
const (
	Joined  State = iota
	Dropped       // the link is up, and packets are lost
	Down          // the machine sees that it has no carrier
)

// Put brings a machine's cable to a state.
func (n *Network) Put(tb testing.TB, m *Machine, s State) {
	tb.Helper()
	cable := n.cables[m]
	switch s {
	case Joined:
		ip(tb, nil, "link", "set", cable, "master", n.bridge, "up")
	case Dropped:
		ip(tb, nil, "link", "set", cable, "nomaster")
	case Down:
		ip(tb, nil, "link", "set", cable, "down")
	}
}

// A Machine is a network namespace.
type Machine struct {
	Name   string
	number int
	first  *Network
	file   *os.File
}

// NewMachine makes a machine at networks, with one address in each: 10.NETWORK.0.NUMBER.
func NewMachine(tb testing.TB, name string, number int, networks ...*Network) *Machine {
	tb.Helper()
	m := &Machine{Name: name, number: number, first: networks[0]}
	if err := locked(func() error {
		err := os.NewSyscallError("unshare", unix.Unshare(unix.CLONE_NEWNET))
		if err == nil {
			m.file, err = os.Open(ofThread)
		}
		return err
	}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = m.file.Close() }) // its last process and this file keep it
	ip(tb, m, "link", "set", "lo", "up")
	for i, n := range networks {
		near, far := fmt.Sprintf("c%d-%d", n.number, number), fmt.Sprint("eth", i)
		ip(tb, nil, "link", "add", near, "type", "veth", "peer", "name", far, "netns", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), m.file.Fd()))
		ip(tb, m, "addr", "add", m.At(n)+"/24", "dev", far)
		ip(tb, m, "link", "set", far, "up")
		n.cables[m] = near
		n.Put(tb, m, Joined)
	}
	return m
}

// At returns the machine's address in a network.
func (m *Machine) At(n *Network) string { return fmt.Sprintf("10.%d.0.%d", n.number, m.number) }

// Address returns the machine's address in its first network.
func (m *Machine) Address() string { return m.At(m.first) }

// Start starts a process on the machine.
func (m *Machine) Start(cmd *exec.Cmd) error {
	return locked(func() error {
		if err := unix.Setns(int(m.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return os.NewSyscallError("setns", err)
		}
		return cmd.Start()
	})
}

// ofThread is the network namespace of the calling thread.
const ofThread = "/proc/thread-self/ns/net"

// locked calls f on a thread that no other goroutine uses, and then returns the thread to its namespace.
func locked(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := os.Open(ofThread)
	if err != nil {
		return err
	}
	defer home.Close()
	err = f()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		panic(fmt.Sprintf("a thread cannot leave a namespace: %v", back)) // others would be on the wrong machine
	}
	return err
}

// ip runs a command of iproute2 on a machine; nil: here.
func ip(tb testing.TB, m *Machine, args ...string) {
	tb.Helper()
	var said strings.Builder
	cmd := exec.Command("ip", args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	start := cmd.Start
	if m != nil {
		start = func() error { return m.Start(cmd) }
	}
	err := start()
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		tb.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
}
