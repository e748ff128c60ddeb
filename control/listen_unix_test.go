//go:build unix

package control

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain also runs helper processes: one listens until it is killed, another connects
// as a different user and prints the answer.
func TestMain(m *testing.M) {
	switch path := os.Getenv("CONTROL_TEST_SOCKET"); os.Getenv("CONTROL_TEST_DO") {
	case "listen":
		if _, err := Listen(path, nil); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("listening")
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "connect":
		c, err := net.Dial("unix", path)
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		text, err := io.ReadAll(c)
		fmt.Printf("read %q, %v\n", text, err)
	default:
		os.Exit(m.Run())
	}
}

// another starts this program as a process with the task do. The process ends with its
// input, at the latest at the end of the test.
func another(tb testing.TB, program, do, path string, uid int) (*exec.Cmd, string) {
	tb.Helper()
	cmd := exec.Command(program)
	cmd.Env = []string{"CONTROL_TEST_DO=" + do, "CONTROL_TEST_SOCKET=" + path, "GORACE=atexit_sleep_ms=0"}
	cmd.Dir = "/"
	if uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	buf := make([]byte, 1024)
	n, err := out.Read(buf)
	if err != nil {
		tb.Fatalf("the other process said nothing: %v", err)
	}
	return cmd, strings.TrimSpace(string(buf[:n]))
}

// place returns a path for a socket in a folder that does not exist yet.
func place(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "ptyctl", "s.sock")
}

func listen(tb testing.TB, path string) net.Listener {
	tb.Helper()
	l, err := Listen(path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

func TestListen(t *testing.T) {
	path := place(t)
	l := listen(t, path)
	for _, c := range []struct {
		path string
		want fs.FileMode
	}{{filepath.Dir(path), 0o700}, {path, 0o600}} {
		info, err := os.Lstat(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != c.want {
			t.Errorf("%s has the mode %#o, want %#o", c.path, got, c.want)
		}
	}
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("hello"))
			_ = c.Close()
		}
	}()
	c, err := dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(c); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	_ = c.Close()

	// The path belongs to the other process while that lives.
	if _, err := Listen(path, nil); err == nil {
		t.Error("two listen at one path")
	} else if used := new(InUseError); !errors.As(err, &used) || used.Path != path {
		t.Errorf("Listen at the path of a live process = %v, want an InUseError", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket was left: %v", err)
	}
	listen(t, path)
}

// Close removes only the listener's own socket.
func TestCloseLeavesTheNext(t *testing.T) {
	path := place(t)
	l := listen(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	listen(t, path)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the next one's socket is gone: %v", err)
	}
}

// Files that are not sockets of this user stay unchanged.
func TestForeignFiles(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for _, c := range []struct {
		name string
		put  func(path string) error
		want string
	}{
		{"a file", func(p string) error { return os.WriteFile(p, []byte("kept"), 0o600) }, "not a socket"},
		{"a link", func(p string) error { return os.Symlink(outside, p) }, "not a socket"},
		{"a folder", func(p string) error { return os.Mkdir(p, 0o700) }, "not a socket"},
		{"a FIFO", func(p string) error { return syscall.Mkfifo(p, 0o600) }, "not a socket"},
		{"an open folder", func(p string) error { return os.Chmod(filepath.Dir(p), 0o755) }, "open to others"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := place(t)
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := c.put(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(path)
			if _, err := Listen(path, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if after, _ := os.Lstat(path); before != nil && !os.SameFile(before, after) {
				t.Error("it is another now")
			}
		})
	}
	for _, path := range []string{"relative.sock", "/" + strings.Repeat("x", 200)} {
		if _, err := Listen(path, nil); err == nil || !strings.Contains(err.Error(), "absolute path of at most") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The socket of a killed process is replaced, and other dead sockets in the folder are
// removed.
func TestStaleSocket(t *testing.T) {
	path := place(t)
	sibling := filepath.Join(filepath.Dir(path), "4194305.sock")
	for _, p := range []string{path, sibling} {
		cmd, said := another(t, os.Args[0], "listen", p, os.Getuid())
		if said != "listening" {
			t.Fatal(said)
		}
		if _, err := Listen(p, nil); err == nil {
			t.Fatal("the socket of a living process was taken")
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if _, err := os.Lstat(p); err != nil {
			t.Fatal(err)
		}
	}
	listen(t, path)
	if _, err := os.Lstat(sibling); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dead process's socket is still there: %v", err)
	}
}

// Of several processes that start at once, one gets the path, even if a dead socket is
// there.
func TestRace(t *testing.T) {
	path := place(t)
	cmd, said := another(t, os.Args[0], "listen", path, os.Getuid())
	if said != "listening" {
		t.Fatal(said)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	var wg sync.WaitGroup
	said2 := make(chan string, 8)
	for range cap(said2) {
		wg.Go(func() {
			_, said := another(t, os.Args[0], "listen", path, os.Getuid())
			said2 <- said
		})
	}
	wg.Wait()
	close(said2)
	won := 0
	for said := range said2 {
		switch {
		case said == "listening":
			won++
		case !strings.Contains(said, "another process serves "+path):
			t.Errorf("a loser says %q", said)
		}
	}
	if won != 1 {
		t.Errorf("%d processes listen at one path", won)
	}
	if !alive(path) {
		t.Error("no server answers there")
	}
}

// A process of another user is refused on the kernel's word, even if the folder and the
// socket let it in. The tests of the program use two real users; here only root can act
// as another user.
func TestOtherUser(t *testing.T) {
	var log lines
	served := make(chan net.Conn, 1)
	serve := func(uid int) string {
		path := place(t)
		l, err := Listen(path, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		l.(*listener).uid = uid
		var wg sync.WaitGroup
		wg.Go(func() {
			if c, err := l.Accept(); err == nil {
				served <- c
			}
		})
		t.Cleanup(func() {
			_ = l.Close()
			wg.Wait()
		})
		return path
	}
	refused := func(uid int) {
		t.Helper()
		if text, want := log.String(), fmt.Sprintf("belongs to user %d", uid); !strings.Contains(text, want) {
			t.Errorf("the log says %q, want %q", text, want)
		}
		select {
		case <-served:
			t.Error("a foreign connection was served")
		default:
		}
	}

	c, err := net.Dial("unix", serve(os.Getuid()+1)) // now this process is the other user
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(c); len(text) > 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("we were told %q, %v", text, err)
	}
	_ = c.Close()
	refused(os.Getuid())

	path := serve(os.Getuid())
	if os.Getuid() == 0 {
		const nobody = 65534
		program := openCopy(t)
		if _, said := another(t, program, "connect", path, nobody); !strings.Contains(said, "permission denied") {
			t.Errorf("another user at the closed folder: %s", said)
		}
		dir := filepath.Dir(path)
		if err := errors.Join(admit(filepath.Dir(dir)), os.Chmod(dir, 0o755), os.Chmod(path, 0o666)); err != nil {
			t.Fatal(err)
		}
		if _, said := another(t, program, "connect", path, nobody); said != `read "", <nil>` {
			t.Errorf("another user at an open folder: %s", said)
		}
		refused(nobody)
	}
	if c, err := dial(t.Context(), path); err != nil {
		t.Errorf("no client is let in any more: %v", err)
	} else {
		_ = c.Close()
		_ = (<-served).Close()
	}
}

// openCopy returns a copy of this program that every user can run.
func openCopy(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	text, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(admit(dir), os.WriteFile(filepath.Join(dir, "program"), text, 0o755))
	}
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, "program")
}

// admit gives all users access to a temporary folder of a test.
func admit(dir string) error {
	return errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755))
}

// A client sends nothing to a server of another user.
func TestOtherServer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("only root can be another user here; the tests of the whole program do it with two real users")
		return
	}
	path := place(t)
	program := openCopy(t)
	dir := filepath.Dir(path)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 65534, 65534), admit(filepath.Dir(dir))); err != nil {
		t.Fatal(err)
	}
	if _, said := another(t, program, "listen", path, 65534); said != "listening" {
		t.Fatal(said)
	}
	if _, err := dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
		t.Errorf("Dial to another user's server = %v, want a refusal", err)
	}
}

func TestSockets(t *testing.T) {
	dir := filepath.Dir(filepath.Dir(place(t)))
	t.Setenv("XDG_RUNTIME_DIR", dir)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if found, err := Sockets(); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
	var want []Socket
	for _, pid := range []int{7, 12, 5000} {
		path, err := Path(pid)
		if err != nil {
			t.Fatal(err)
		}
		listen(t, path)
		want = append(want, Socket{pid, path})
	}
	for _, name := range []string{"07.sock", "x.sock", "8.sock"} {
		if err := os.WriteFile(filepath.Join(dir, "ptyctl", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Sockets()
	if err != nil || fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("%v, %v; want %v", found, err, want)
	}
	if err := os.Chmod(filepath.Join(dir, "ptyctl"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Sockets(); err == nil || !strings.Contains(err.Error(), "open to others") {
		t.Errorf("Dial to a server that needs a token = %v, want a refusal", err)
	}
}

// lines is a log that may be written and read concurrently.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
