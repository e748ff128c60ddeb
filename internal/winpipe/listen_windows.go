package winpipe

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// NewName returns a name for a pipe that cannot be guessed, so that no other process can have taken it.
func NewName() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// A Listener is the server of a pipe. A system call waits for each client, with a thread of its own.
type Listener struct {
	name    string
	access  *windows.SecurityAttributes
	owner   *windows.SID
	refused func(error)

	closing windows.Handle // an event: Close was called
	once    sync.Once      // for Close

	mu     sync.Mutex          // held by Accept; guards the following
	next   windows.Handle      // waits for the next client; 0: it could not be made
	io     *windows.Overlapped // of that wait; on the heap, which the kernel needs
	closed bool
}

// Listen makes a pipe of this user. refused is called for each client that is not of this user; nil: they are closed
// and nothing is said.
func Listen(name string, refused func(error)) (*Listener, error) {
	if refused == nil {
		refused = func(error) {}
	}
	owner, err := user()
	if err != nil {
		return nil, err
	}
	access, err := onlyFor(owner)
	if err != nil {
		return nil, err
	}
	l := &Listener{name: name, access: access, owner: owner, refused: refused, io: new(windows.Overlapped)}
	if l.closing, err = windows.CreateEvent(nil, 1, 0, nil); err != nil {
		return nil, err
	}
	if l.io.HEvent, err = windows.CreateEvent(nil, 1, 0, nil); err == nil {
		if l.next, err = l.instance(windows.FILE_FLAG_FIRST_PIPE_INSTANCE); err == nil {
			return l, nil
		}
		_ = windows.CloseHandle(l.io.HEvent)
	}
	_ = windows.CloseHandle(l.closing)
	return nil, fmt.Errorf("pipe %s: %w", name, err)
}

// instance makes one more end for a client. The name must be new if flags say that it is the first.
func (l *Listener) instance(flags uint32) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(l.name)
	if err != nil {
		return 0, err
	}
	return windows.CreateNamedPipe(name,
		windows.PIPE_ACCESS_DUPLEX|windows.FILE_FLAG_OVERLAPPED|flags,
		windows.PIPE_TYPE_MESSAGE|windows.PIPE_READMODE_MESSAGE|windows.PIPE_REJECT_REMOTE_CLIENTS,
		windows.PIPE_UNLIMITED_INSTANCES, maxMessage, maxMessage, 0, l.access)
}

// Accept implements net.Listener. It closes the connections of other users.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		h, err := l.connected()
		if err != nil {
			return nil, &net.OpError{Op: "accept", Net: network, Addr: address(l.name), Err: err}
		}
		// Before anything else, so that there is always one for the next client.
		l.next, err = l.instance(0)
		if err != nil {
			l.next = 0 // and the next Accept tries again
		}
		pid, err := l.client(h)
		if err == nil {
			return newConn(h, l.name, pid), nil
		}
		l.refused(err)
		_ = windows.CloseHandle(h)
	}
}

// connected returns an end that has a client. Requires l.mu.
func (l *Listener) connected() (windows.Handle, error) {
	for {
		if l.closed {
			return 0, net.ErrClosed
		}
		if l.next == 0 {
			h, err := l.instance(0)
			if err != nil {
				return 0, scarce{err}
			}
			l.next = h
		}
		h := l.next
		err := l.connect(h)
		if err == nil {
			l.next = 0
			return h, nil
		}
		if errors.Is(err, net.ErrClosed) {
			return 0, err // Close closes h
		}
		var made error
		if l.next, made = l.instance(0); made != nil { // before h is closed, so that the pipe is always there
			l.next = 0
		}
		_ = windows.CloseHandle(h)
		if !errors.Is(err, windows.ERROR_NO_DATA) { // a client that has gone already
			return 0, scarce{err}
		}
	}
}

// connect waits for a client at h, or for Close. Requires l.mu.
func (l *Listener) connect(h windows.Handle) error {
	*l.io = windows.Overlapped{HEvent: l.io.HEvent}
	err := windows.ConnectNamedPipe(h, l.io)
	if errors.Is(err, windows.ERROR_PIPE_CONNECTED) {
		return nil
	}
	if !errors.Is(err, windows.ERROR_IO_PENDING) {
		return err
	}
	which, waited := windows.WaitForMultipleObjects([]windows.Handle{l.closing, l.io.HEvent}, false, windows.INFINITE)
	closing := waited != nil || which == windows.WAIT_OBJECT_0
	if closing {
		_ = windows.CancelIoEx(h, l.io)
	}
	var n uint32
	err = windows.GetOverlappedResult(h, l.io, &n, true) // at once, as the wait is over or canceled
	if closing {
		return errors.Join(net.ErrClosed, waited)
	}
	return err
}

// client returns the process that has connected, or an error if it is not one of this user.
func (l *Listener) client(h windows.Handle) (pid int, err error) {
	sid, err := clientUser(h)
	if err != nil {
		return 0, fmt.Errorf("user at the other end unknown: %w", err)
	}
	if !sid.Equals(l.owner) {
		return 0, fmt.Errorf("process at the other end belongs to user %s, want %s", sid, l.owner)
	}
	var id uint32
	if err := windows.GetNamedPipeClientProcessId(h, &id); err != nil {
		return 0, fmt.Errorf("process at the other end unknown: %w", err)
	}
	return int(id), nil
}

// Close implements net.Listener. It ends Accept, and leaves the connections open.
func (l *Listener) Close() error {
	err := net.ErrClosed
	l.once.Do(func() {
		_ = windows.SetEvent(l.closing)
		l.mu.Lock() // after Accept
		defer l.mu.Unlock()
		l.closed = true
		err = nil
		if l.next != 0 {
			err = windows.CloseHandle(l.next)
		}
		err = errors.Join(err, windows.CloseHandle(l.io.HEvent), windows.CloseHandle(l.closing))
	})
	return err
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return address(l.name) }

// scarce is the error of a system that has nothing left for one more client, and may have later.
type scarce struct{ error }

func (e scarce) Unwrap() error { return e.error }
func (scarce) Timeout() bool   { return false }
func (scarce) Temporary() bool { return true }

// onlyFor returns the rights to a pipe for one user, and no inherited ones. Of an elevated process, less trusted
// processes of the same user may not write to the pipe, or they would do as they like with its rights.
func onlyFor(owner *windows.SID) (*windows.SecurityAttributes, error) {
	text := fmt.Sprintf("O:%sD:P(A;;FA;;;%[1]s)", owner)
	if windows.GetCurrentProcessToken().IsElevated() {
		text += "S:(ML;;NW;;;HI)"
	}
	access, err := windows.SecurityDescriptorFromString(text)
	if err != nil {
		return nil, fmt.Errorf("rights of the pipe: %w", err)
	}
	return &windows.SecurityAttributes{
		Length: uint32(unsafe.Sizeof(windows.SecurityAttributes{})), SecurityDescriptor: access,
	}, nil
}
