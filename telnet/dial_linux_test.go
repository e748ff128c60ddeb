package telnet

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/term"
)

// TestConnectTimeoutTCP dials a port with a full backlog: Linux drops further packets, as a
// firewall does. Two clocks end the attempt, and the socket's is often the first.
func TestConnectTimeoutTCP(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at.(*syscall.SockaddrInet4).Port}
	const limit = 20 * time.Millisecond
	for full := false; !full; {
		nc, err := net.DialTimeout("tcp", address.String(), limit)
		if full = err != nil; !full {
			defer nc.Close()
		}
	}
	for range 5 {
		_, err := Dialer{}.Open(
			t.Context(),
			term.Target{Host: "127.0.0.1", Port: address.Port, ConnectTimeout: limit},
			nil,
			nil,
		)
		if !errors.Is(err, term.ConnectTimeout) || !strings.Contains(err.Error(), "within "+limit.String()) {
			t.Errorf("%v: %v", term.KindOf(err), err)
		}
	}
}
