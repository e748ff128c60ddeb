package netns_test

import (
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ptyctl/cluster/internal/netns"
)

// TestCut: bytes to a machine with a cut cable are lost without an error, and arrive when the cable is whole again.
func TestCut(t *testing.T) {
	if !netns.Inside(t) {
		return
	}
	lan := netns.NewNetwork(t, 77)
	a := netns.NewMachine(t, "a", 1, lan)
	for _, cut := range []netns.State{netns.Dropped, netns.Down} {
		l, err := net.Listen("tcp", lan.Address()+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		host, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		// It answers each line with a line of its own.
		cmd := exec.Command("bash", "-c", `exec 3<>/dev/tcp/$0/$1; while read -r line <&3; do echo "got $line" >&3; done`, host, port)
		if err := a.Start(cmd); err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if from, _, _ := net.SplitHostPort(conn.RemoteAddr().String()); from != a.Address() {
			t.Errorf("the machine calls from %s, want %s", from, a.Address())
		}
		answer := func(within time.Duration) string {
			_ = conn.SetReadDeadline(time.Now().Add(within))
			buf := make([]byte, 100)
			n, _ := conn.Read(buf)
			return string(buf[:n])
		}
		say := func(what string) {
			if _, err := conn.Write([]byte(what + "\n")); err != nil {
				t.Errorf("write: %v", err)
			}
		}
		say("one")
		if got := answer(time.Minute); got != "got one\n" {
			t.Errorf("over the cable: %q", got)
		}
		lan.Put(t, a, cut)
		say("two")
		if got := answer(200 * time.Millisecond); got != "" {
			t.Errorf("over a cable that is cut: %q", got)
		}
		lan.Put(t, a, netns.Joined)
		if got := answer(time.Minute); !strings.HasPrefix(got, "got two") {
			t.Errorf("over a cable that is whole again: %q", got)
		}
		_ = conn.Close()
		_ = cmd.Wait()
	}
}
