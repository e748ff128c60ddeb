package tcppeer

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// The other end of a connection of this machine is found, over IPv4 and IPv6, in this process and in another one. One
// that is not of this machine has no process.
func TestPIDs(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err)
			continue
		}
		defer l.Close()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		far, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer far.Close()
		local, remote := addrPort(far.LocalAddr()), addrPort(far.RemoteAddr())
		if pids := PIDs(local, remote); !slices.Equal(pids, []int{os.Getpid()}) {
			t.Errorf("PIDs(%v, %v) = %d, want this process, %d", local, remote, pids, os.Getpid())
		}
		if pids := PIDs(local, netip.MustParseAddrPort("192.0.2.7:1138")); pids != nil {
			t.Errorf("PIDs of another machine = %d, want none", pids)
		}
		// A program that has inherited the end has it alone, once this process has closed its own.
		file, err := conn.(*net.TCPConn).File()
		if err != nil {
			t.Fatal(err)
		}
		child := exec.Command("sleep", "60")
		child.ExtraFiles = []*os.File{file}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		file.Close()
		conn.Close()
		if pids := PIDs(local, remote); !slices.Equal(pids, []int{child.Process.Pid}) {
			t.Errorf("PIDs of an end that a child has = %d, want %d", pids, child.Process.Pid)
		}
		_ = child.Process.Kill()
		_ = child.Wait()
	}
}

func addrPort(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }
