package winpipe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// dialWait limits the wait for a server that is busy with other clients. Tests with many raise it.
var dialWait = 2 * time.Second

// Dial connects to a pipe of this user. The error is fs.ErrNotExist if there is no such pipe.
func Dial(ctx context.Context, name string) (*Conn, error) {
	failed := func(err error) error { return &net.OpError{Op: "dial", Net: network, Addr: address(name), Err: err} }
	if !IsName(name) {
		return nil, failed(fmt.Errorf("%q is not a name of a pipe of ptyctl", name))
	}
	h, err := open(ctx, name)
	if err == nil {
		if err = verify(h); err == nil {
			return newConn(h, name, 0), nil
		}
		_ = windows.CloseHandle(h)
	}
	return nil, failed(err)
}

// open opens the client's end. The server can find out who this is, and cannot act for this user.
func open(ctx context.Context, name string) (windows.Handle, error) {
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, err
	}
	const flags = windows.FILE_FLAG_OVERLAPPED | windows.SECURITY_SQOS_PRESENT | windows.SECURITY_IDENTIFICATION
	for end := time.Now().Add(dialWait); ; {
		h, err := windows.CreateFile(name16, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil,
			windows.OPEN_EXISTING, flags, 0)
		if !errors.Is(err, windows.ERROR_PIPE_BUSY) {
			return h, err
		}
		left := time.Until(end)
		if at, ok := ctx.Deadline(); ok {
			left = min(left, time.Until(at))
		}
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case left <= 0:
			return 0, os.ErrDeadlineExceeded
		}
		awaitInstance(name16, left) // the next attempt has its error
	}
}

// verify checks that the pipe belongs to this user, and makes each read one message.
func verify(h windows.Handle) error {
	self, err := user()
	if err != nil {
		return err
	}
	owner, err := ownerOf(h)
	if err != nil {
		return err
	}
	if !owner.Equals(self) {
		return fmt.Errorf("process at the other end belongs to user %s, want %s", owner, self)
	}
	mode := uint32(windows.PIPE_READMODE_MESSAGE)
	return windows.SetNamedPipeHandleState(h, &mode, nil, nil)
}

// ownerOf returns the owner of a pipe.
func ownerOf(h windows.Handle) (*windows.SID, error) {
	access, err := windows.GetSecurityInfo(h, windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return nil, fmt.Errorf("user at the other end unknown: %w", err)
	}
	owner, _, err := access.Owner()
	if err != nil {
		return nil, fmt.Errorf("user at the other end unknown: %w", err)
	}
	return owner, nil
}

var waitNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("WaitNamedPipeW")

// awaitInstance waits until a server waits for a client at the pipe, at most for limit.
func awaitInstance(name *uint16, limit time.Duration) {
	ms := max(limit.Milliseconds(), 1) // 0 is the default of the server
	_, _, _ = waitNamedPipe.Call(uintptr(unsafe.Pointer(name)), uintptr(ms))
}
