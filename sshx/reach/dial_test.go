package reach_test

import (
	"net"
	"strings"
	"testing"

	"ptyctl/sshx/reach"
	"ptyctl/term"
)

// progress records no steps.
type progress struct{}

func (progress) Begin(string)   {}
func (progress) Address(string) {}

// A BindAddress of another machine is told from a lack of local ports, which a wait would end.
func TestBindAddressOfAnotherMachine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = (&reach.Endpoint{
		Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Family: "tcp", Attempts: 1, BindAddress: "192.0.2.77",
	}).Reach(t.Context(), progress{})
	if term.KindOf(err) != term.ConnectFailed || !strings.Contains(err.Error(), "BindAddress 192.0.2.77 is no address") {
		t.Errorf("error %v", err)
	}
}
