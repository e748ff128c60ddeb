package control

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/winpipe"
)

// TestMain also is a helper process: it listens until it is killed.
func TestMain(m *testing.M) {
	path := os.Getenv("CONTROL_TEST_SOCKET")
	if path == "" {
		os.Exit(m.Run())
	}
	said := "listening\n"
	if _, err := Listen(path, nil); err != nil {
		said = err.Error() + "\n"
	}
	_, _ = os.Stdout.WriteString(said)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func listen(t *testing.T, path string) net.Listener {
	t.Helper()
	l, err := Listen(path, nil)
	if err != nil {
		t.Fatalf("Listen(%q) = %v", path, err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ptyctl", "s.sock")
	l := listen(t, path)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Errorf("Accept = %v", err)
			return
		}
		if pid, err := PeerPID(c); err != nil || pid != os.Getpid() {
			t.Errorf("PeerPID = %d, %v, want this process, %d", pid, err, os.Getpid())
		}
		_, _ = c.Write([]byte("hello"))
		_ = c.Close()
	}()
	c, err := dial(t.Context(), path)
	if err != nil {
		t.Fatalf("dial = %v", err)
	}
	if text, err := io.ReadAll(c); err != nil || string(text) != "hello" {
		t.Errorf("read %q, %v, want hello", text, err)
	}
	_ = c.Close()

	// The path belongs to the process that lives, and its file cannot be removed by accident.
	if _, err := Listen(path, nil); !errors.As(err, new(*InUseError)) {
		t.Errorf("Listen at the path of a live process = %v, want an InUseError", err)
	}
	if err := os.Remove(path); err == nil {
		t.Error("the file of a live process was removed")
	}
	if err := l.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close the file is there: %v", err)
	}
	if _, err := dial(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("dial after Close = %v, want ErrNotExist", err)
	}
	next := listen(t, path)
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the second Close = %v, want ErrClosed", err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the second Close has removed the file of the next one: %v", err)
	}
	_ = next.Close()
}

// A killed process leaves its file, and as long as a client has its end open also its pipe. It must count as gone.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ptyctl", "1.sock")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CONTROL_TEST_SOCKET="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if n, err := out.Read(buf); err != nil || string(buf[:n]) != "listening\n" {
		t.Fatalf("the other process says %q, %v, want listening", buf[:n], err)
	}
	c, err := dial(t.Context(), path)
	if err != nil {
		t.Fatalf("dial = %v", err)
	}
	defer c.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := dial(t.Context(), path); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial after the kill = %v, want ECONNREFUSED", err)
	}
	listen(t, filepath.Join(filepath.Dir(path), "2.sock"))
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the next process has left the file of the killed one: %v", err)
	}
}

// A file that is not a socket is never touched, and a client does not follow it.
func TestForeignFiles(t *testing.T) {
	for _, text := range []string{"", "mine", `\\evil\pipe\ptyctl-aaaa` + "\n", winpipe.NewName()} {
		path := filepath.Join(t.TempDir(), "s.sock")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Listen(path, nil); err == nil || !strings.Contains(err.Error(), "not touched") {
			t.Errorf("Listen at a file with %q = %v, want that it was not touched", text, err)
		}
		if _, err := dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not a socket") {
			t.Errorf("dial of a file with %q = %v, want that it is no socket", text, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("the file now has %q, %v, want %q", now, err, text)
		}
	}
	if _, err := Listen("s.sock", nil); err == nil {
		t.Error("Listen with a relative path succeeded")
	}
}
