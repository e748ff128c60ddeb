package winpipe

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// listen makes a pipe for a test.
func listen(t *testing.T) *Listener {
	t.Helper()
	l, err := Listen(NewName(), func(err error) { t.Errorf("a client was refused: %v", err) })
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// ends returns the two ends of a new connection.
func ends(t *testing.T) (client, server *Conn) {
	t.Helper()
	l := listen(t)
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Errorf("Accept: %v", err)
		}
		accepted <- c
	}()
	client, err := Dial(t.Context(), l.name)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	server, _ = (<-accepted).(*Conn)
	if server == nil {
		t.FailNow()
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}

// All bytes must arrive, in messages of any size and read in pieces of any size, and so must the end of each direction
// while the other one goes on.
func TestBothWays(t *testing.T) {
	client, server := ends(t)
	for _, c := range []struct {
		name     string
		from, to *Conn
		piece    int
	}{{"to the server", client, server, 1000}, {"to the client", server, client, maxMessage + 1}} {
		sent := make([]byte, 1<<20+7)
		_, _ = rand.Read(sent)
		var wg sync.WaitGroup
		wg.Go(func() {
			n, err := c.from.Write(sent)
			if err != nil || n != len(sent) {
				t.Errorf("%s: Write = %d, %v, want %d bytes", c.name, n, err, len(sent))
			}
			if err := c.from.CloseWrite(); err != nil {
				t.Errorf("%s: CloseWrite = %v", c.name, err)
			}
			if _, err := c.from.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: Write after CloseWrite = %v, want ErrClosed", c.name, err)
			}
		})
		var got bytes.Buffer
		_, err := io.CopyBuffer(&got, struct{ io.Reader }{c.to}, make([]byte, c.piece))
		wg.Wait()
		if err != nil || !bytes.Equal(got.Bytes(), sent) {
			t.Errorf("%s: read %d bytes, %v, want the %d that were sent", c.name, got.Len(), err, len(sent))
		}
		if n, err := c.to.Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: Read after the end = %d, %v, want EOF again", c.name, n, err)
		}
	}
	if client.ClientPID() != 0 || server.ClientPID() != os.Getpid() {
		t.Errorf("process of the client = %d at its end, %d at the server's, want 0 and %d",
			client.ClientPID(), server.ClientPID(), os.Getpid())
	}
}

// The reader must get the bytes written before the other side closed, and then the end.
func TestClosedAfterWrite(t *testing.T) {
	client, server := ends(t)
	if _, err := server.Write([]byte("last words")); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(client); err != nil || string(text) != "last words" {
		t.Errorf("read %q, %v, want the last words and no error", text, err)
	}
}

func TestDeadline(t *testing.T) {
	client, server := ends(t)
	_ = client.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, err := client.Read(make([]byte, 1))
	if n := net.Error(nil); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &n) || !n.Timeout() {
		t.Errorf("Read after the deadline = %v, want a timeout", err)
	}
	_ = client.SetReadDeadline(time.Time{})
	if _, err := server.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 10)
	if n, err := client.Read(buf); err != nil || string(buf[:n]) != "hello" {
		t.Errorf("Read without a deadline = %q, %v, want hello", buf[:n], err)
	}
	_ = client.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	if n, err := client.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) || n >= 1<<20 {
		t.Errorf("Write that no one reads = %d, %v, want a timeout", n, err)
	}
}

// Close must end a read and an accept in progress.
func TestCloseEndsWaits(t *testing.T) {
	client, _ := ends(t)
	l := listen(t)
	ended := make(chan error, 2)
	go func() {
		_, err := client.Read(make([]byte, 1))
		ended <- err
	}()
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	time.Sleep(20 * time.Millisecond) // either order must do
	_, _ = client.Close(), l.Close()
	for range 2 {
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close a wait has ended with %v, want ErrClosed", err)
		}
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close = %v, want ErrClosed", err)
	}
}

// Many clients that come at once must all be served, also while some go at once.
func TestManyClients(t *testing.T) {
	defer func(usual time.Duration) { dialWait = usual }(dialWait)
	dialWait = time.Minute // 100 in turn, on a machine that may be busy
	l := listen(t)
	const clients = 50
	var server, wg sync.WaitGroup
	server.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				t.Errorf("Accept: %v", err)
				return
			}
			server.Go(func() {
				_, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
				_ = c.Close()
			})
		}
	})
	for range clients {
		wg.Go(func() {
			gone, err := Dial(t.Context(), l.name)
			if err != nil {
				t.Errorf("Dial: %v", err)
				return
			}
			if _, err := gone.Write([]byte("x")); err != nil { // whether it is served or not
				t.Errorf("Write: %v", err)
			}
			_ = gone.Close()
			c, err := Dial(t.Context(), l.name)
			if err != nil {
				t.Errorf("Dial: %v", err)
				return
			}
			_, _ = c.Write([]byte("hello"))
			_ = c.CloseWrite()
			if text, err := io.ReadAll(c); err != nil || string(text) != "hello" {
				t.Errorf("echo = %q, %v, want hello", text, err)
			}
			_ = c.Close()
		})
	}
	wg.Wait()
	_ = l.Close()
	server.Wait()
}

// Only the owner may have rights, and none are inherited.
func TestRights(t *testing.T) {
	client, _ := ends(t)
	self, err := user()
	if err != nil {
		t.Fatal(err)
	}
	var h windows.Handle
	raw, err := client.file.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { h = windows.Handle(fd) })
	}
	if err != nil {
		t.Fatal(err)
	}
	access, err := windows.GetSecurityInfo(h, windows.SE_KERNEL_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.TrimSuffix(access.String(), "S:P") // which Wine adds: no list for the audit
	if want := "O:" + self.String() + "D:P(A;;FA;;;" + self.String() + ")"; got != want {
		t.Errorf("rights of the pipe = %s, want %s", got, want)
	}
}

// A pipe of another owner must get nothing. Administrators is one that an elevated process may name.
func TestAnotherOwner(t *testing.T) {
	access, err := windows.SecurityDescriptorFromString("O:BAD:P(A;;FA;;;WD)")
	if err != nil {
		t.Fatal(err)
	}
	name := NewName()
	name16, _ := windows.UTF16PtrFromString(name)
	h, err := windows.CreateNamedPipe(name16, windows.PIPE_ACCESS_DUPLEX|windows.FILE_FLAG_OVERLAPPED,
		windows.PIPE_TYPE_MESSAGE, 1, maxMessage, maxMessage, 0, &windows.SecurityAttributes{
			Length: uint32(unsafe.Sizeof(windows.SecurityAttributes{})), SecurityDescriptor: access,
		})
	if errors.Is(err, windows.ERROR_INVALID_OWNER) {
		t.Skip("this process is not elevated, and may name no other owner")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer windows.CloseHandle(h)
	if _, err := Dial(t.Context(), name); err == nil || !strings.Contains(err.Error(), "belongs to user S-1-5-32-544") {
		t.Errorf("Dial of a pipe of Administrators = %v, want a refusal that names them", err)
	}
}

func TestDialFails(t *testing.T) {
	if _, err := Dial(t.Context(), NewName()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Dial without a pipe = %v, want ErrNotExist", err)
	}
	for _, name := range []string{
		"", `\\.\pipe\ptyctl-`, `\\evil\pipe\ptyctl-aaaa`, `\\.\pipe\ptyctl-a\b`, `\\.\pipe\docker`, `C:\ptyctl-a`,
		`\\.\pipe\ptyctl-A`, `\\.\pipe\ptyctl-a..`,
	} {
		if _, err := Dial(t.Context(), name); err == nil || !strings.Contains(err.Error(), "not a name") {
			t.Errorf("Dial(%q) = %v, want a refusal of the name", name, err)
		}
	}
	if name := NewName(); !IsName(name) {
		t.Errorf("IsName(%q) of NewName = false", name)
	}
	l := listen(t)
	c, err := Dial(t.Context(), l.name) // takes the only end, as no one accepts
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Dial(ctx, l.name); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial of a busy server after an interrupt = %v, want Canceled", err)
	}
}

func TestPair(t *testing.T) {
	read, write, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	_ = read.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := read.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read after the deadline = %v, want ErrDeadlineExceeded", err)
	}
	_ = read.SetReadDeadline(time.Time{})
	_, _ = write.WriteString("ready\n")
	_ = write.Close()
	if text, err := io.ReadAll(read); err != nil || string(text) != "ready\n" {
		t.Errorf("read %q, %v, want ready and the end", text, err)
	}
}
