package winpipe

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/windows"
)

// DialService connects to a named pipe of another program, such as an SSH agent, which carries bytes and no messages.
// The pipe must belong to this user, the system or its administrators: a pipe of another user would see all data sent
// to it. The other side can find out who this is, and cannot act for this user. The error is fs.ErrNotExist if there is
// no such pipe.
func DialService(ctx context.Context, name string) (net.Conn, error) {
	failed := func(err error) error { return &net.OpError{Op: "dial", Net: network, Addr: address(name), Err: err} }
	if !IsLocal(name) {
		return nil, failed(fmt.Errorf("%q is not a name of a pipe of this machine", name))
	}
	h, err := open(ctx, strings.ReplaceAll(name, "/", `\`))
	if err != nil {
		return nil, failed(err)
	}
	if err := trusted(h); err != nil {
		_ = windows.CloseHandle(h)
		return nil, failed(err)
	}
	return &service{File: os.NewFile(uintptr(h), name), name: name}, nil
}

// trusted checks that the owner of a pipe may see this user's data.
func trusted(h windows.Handle) error {
	self, err := user()
	if err != nil {
		return err
	}
	owner, err := ownerOf(h)
	if err != nil {
		return err
	}
	if owner.Equals(self) || owner.IsWellKnown(windows.WinLocalSystemSid) ||
		owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) {
		return nil
	}
	return fmt.Errorf("process at the other end belongs to user %s, want %s or the system", owner, self)
}

// A service is a connection to a pipe of another program.
type service struct {
	*os.File
	name string
}

// LocalAddr implements net.Conn.
func (s *service) LocalAddr() net.Addr { return address(s.name) }

// RemoteAddr implements net.Conn.
func (s *service) RemoteAddr() net.Addr { return address(s.name) }
