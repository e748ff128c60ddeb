//go:build unix

package fsx

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ptyctl/term"
)

// sftpServer returns the path of OpenSSH's sftp-server. scripts/install-test-deps
// installs it.
func sftpServer(tb testing.TB) string {
	tb.Helper()
	for _, path := range []string{"/usr/lib/openssh/sftp-server", "/usr/lib/ssh/sftp-server", "/usr/libexec/sftp-server"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	tb.Fatal("there is no sftp-server: run scripts/install-test-deps")
	return ""
}

// A serverChannel is the channel to a server's process.
type serverChannel struct {
	io.Reader
	io.WriteCloser
	cmd   *exec.Cmd
	close func() error
}

func (c *serverChannel) Close() error { return c.close() }

// startSFTP starts a server in dir, and returns its channel. It ends with the
// channel, or the test.
func startSFTP(tb testing.TB, dir string, args ...string) *serverChannel {
	tb.Helper()
	cmd := exec.Command(sftpServer(tb), append([]string{"-d", dir, "-e"}, args...)...)
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
	c := &serverChannel{Reader: out, WriteCloser: in, cmd: cmd}
	c.close = sync.OnceValue(func() error {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = out.Close()
		_ = cmd.Wait()
		return nil
	})
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// newSFTP opens a new folder through a server.
func newSFTP(tb testing.TB, l Limits) (files *SFTP, root string, channel *serverChannel) {
	tb.Helper()
	root, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	channel = startSFTP(tb, root)
	if files, err = NewSFTP(tb.Context(), channel, l); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = files.Close() })
	return files, root, channel
}

// inBoth runs a test with local files, and with those of a server.
func inBoth(t *testing.T, l Limits, test func(t *testing.T, files term.Files, root string)) {
	t.Run("local", func(t *testing.T) {
		files, root := newLocal(t, l)
		test(t, files, root)
	})
	t.Run("sftp", func(t *testing.T) {
		files, root, _ := newSFTP(t, l)
		test(t, files, root)
	})
}

func TestSFTPNoRegularFile(t *testing.T) {
	files, root, _ := newSFTP(t, Limits{})
	fifo := filepath.Join(root, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(fifo, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	within(t, func() {
		for path, what := range map[string]string{
			fifo: "a FIFO", "link": "a FIFO", "/dev/zero": "a device", "/dev/tty": "a device",
		} {
			_, err := files.Read(t.Context(), term.FileRead{Path: path})
			wantKind(t, err, term.Unsupported, what)
			for _, w := range []term.FileWrite{{}, {Append: true}, {NonAtomic: true}} {
				w.Path, w.Data = path, []byte("x")
				_, err = files.Write(t.Context(), w)
				wantKind(t, err, term.Unsupported, what)
			}
		}
	})
}

// TestSFTPLinks: a write must follow a link, and the link must stay.
func TestSFTPLinks(t *testing.T) {
	files, root, _ := newSFTP(t, Limits{})
	put(t, filepath.Join(root, "file"), "old")
	for name, target := range map[string]string{"link": "file", "chain": "link", "dangling": "none"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"link", "chain", filepath.Join(root, "chain")} {
		if _, err := files.Write(t.Context(), term.FileWrite{Path: path, Data: []byte(path)}); err != nil {
			t.Fatal(err)
		}
		wantFile(t, filepath.Join(root, "file"), path)
	}
	if e, err := files.Stat(t.Context(), "chain"); err != nil || e.Type() != "link" || e.Target != "link" {
		t.Errorf("got %+v, %v", e, err)
	}
	_, err := files.Write(t.Context(), term.FileWrite{Path: "dangling", Data: []byte("x")})
	wantKind(t, err, term.InvalidArgument, "symbolic link")
}

// TestSFTPLarge transfers 128 MiB in each direction, in one call and in parts.
func TestSFTPLarge(t *testing.T) {
	const size = 128 << 20
	files, root, _ := newSFTP(t, Limits{Read: size, Write: size})
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{7})
	_, _ = source.Read(data)
	sum := sha256.Sum256(data)
	var last atomic.Int64
	if _, err := files.Write(t.Context(), term.FileWrite{Path: "big", Data: data, Progress: last.Store}); err != nil {
		t.Fatal(err)
	}
	if last.Load() != size {
		t.Errorf("the progress ended at %d", last.Load())
	}
	onDisk, err := os.ReadFile(filepath.Join(root, "big"))
	if err != nil || sha256.Sum256(onDisk) != sum {
		t.Fatalf("what arrived is not what was sent (%v)", err)
	}
	d, err := files.Read(t.Context(), term.FileRead{Path: "big"})
	if err != nil || sha256.Sum256(d.Data) != sum || d.Truncated || d.Size != size {
		t.Fatalf("what came back is not what was sent (%v)", err)
	}

	const part = 4 << 20
	digest := sha256.New()
	for offset := int64(0); ; {
		d, err := files.Read(t.Context(), term.FileRead{Path: "big", Offset: offset, Max: part})
		if err != nil {
			t.Fatal(err)
		}
		digest.Write(d.Data)
		if offset = d.Next; !d.Truncated {
			break
		}
	}
	if !bytes.Equal(digest.Sum(nil), sum[:]) {
		t.Error("the parts that were read are not the file")
	}
	for at := 0; at < size; at += part {
		piece := term.FileWrite{Path: "parts", Data: data[at : at+part], Append: true}
		if _, err := files.Write(t.Context(), piece); err != nil {
			t.Fatal(err)
		}
	}
	if onDisk, err = os.ReadFile(filepath.Join(root, "parts")); err != nil || sha256.Sum256(onDisk) != sum {
		t.Errorf("the parts that were appended are not the file (%v)", err)
	}
}

// TestSFTPInterrupted kills the server during a transfer: the old file must stay,
// and no call may block.
func TestSFTPInterrupted(t *testing.T) {
	files, root, channel := newSFTP(t, Limits{Write: 64 << 20})
	put(t, filepath.Join(root, "file"), "old")
	within(t, func() {
		_, err := files.Write(t.Context(), term.FileWrite{Path: "file", Data: make([]byte, 64<<20), Progress: func(n int64) {
			if n >= 3*piece {
				_ = channel.cmd.Process.Kill()
			}
		}})
		wantKind(t, err, term.RemoteClosed, "lost")
		<-files.Lost()
		_, err = files.Read(t.Context(), term.FileRead{Path: "file"})
		wantKind(t, err, term.RemoteClosed)
	})
	wantFile(t, filepath.Join(root, "file"), "old")
}

// TestSFTPCanceled cancels a transfer with a running server, and one with a stopped
// server.
func TestSFTPCanceled(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		t.Run(fmt.Sprintf("frozen %v", frozen), func(t *testing.T) {
			files, root, channel := newSFTP(t, Limits{Write: 64 << 20})
			put(t, filepath.Join(root, "file"), "old")
			ctx, cancel := context.WithCancel(t.Context())
			within(t, func() {
				_, err := files.Write(ctx, term.FileWrite{Path: "file", Data: make([]byte, 64<<20), Progress: func(n int64) {
					if n >= 3*piece {
						if frozen {
							_ = channel.cmd.Process.Signal(syscall.SIGSTOP)
						}
						time.AfterFunc(10*time.Millisecond, cancel)
					}
				}})
				wantKind(t, err, term.Canceled)
			})
			wantFile(t, filepath.Join(root, "file"), "old")
			if frozen {
				<-files.Lost()
				return
			}
			wantNoLeftovers(t, root)
			d, err := files.Read(t.Context(), term.FileRead{Path: "file"})
			if err != nil || string(d.Data) != "old" {
				t.Errorf("after the cancel: %q, %v", d.Data, err)
			}
		})
	}
}

// TestSFTPTurns: actions must wait for each other, and only as long as their
// contexts.
func TestSFTPTurns(t *testing.T) {
	files, root, channel := newSFTP(t, Limits{})
	put(t, filepath.Join(root, "file"), "text")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if d, err := files.Read(t.Context(), term.FileRead{Path: "file"}); err != nil || string(d.Data) != "text" {
				t.Errorf("got %q, %v", d.Data, err)
			}
		})
	}
	all.Wait()
	_ = channel.cmd.Process.Signal(syscall.SIGSTOP)
	within(t, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		for range 3 {
			all.Go(func() {
				_, err := files.Stat(ctx, "file")
				wantIO(t, err, term.IOError)
			})
		}
		all.Wait()
	})
}

// wantIO is wantKind for any goroutine.
func wantIO(t *testing.T, err error, kind term.Kind) {
	if !errors.Is(err, kind) {
		t.Errorf("got error %v, want one of kind %s", err, kind)
	}
}

// TestSFTPReadOnly checks a server that forbids writing.
func TestSFTPReadOnly(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, "file"), "old")
	files, err := NewSFTP(t.Context(), startSFTP(t, root, "-R"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	for _, w := range []term.FileWrite{
		{Path: "file"}, {Path: "new"}, {Path: "file", Append: true}, {Path: "file", NonAtomic: true},
	} {
		_, err := files.Write(t.Context(), w)
		wantKind(t, err, term.AccessDenied, "permission denied")
	}
	wantFile(t, filepath.Join(root, "file"), "old")
}

// TestSFTPWithoutExtensions checks a server that cannot replace a file or force it
// to the disk.
func TestSFTPWithoutExtensions(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, "file"), "old")
	files, err := NewSFTP(t.Context(), startSFTP(t, root, "-P", "posix-rename,fsync,statvfs"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	_, err = files.Write(t.Context(), term.FileWrite{Path: "file", Data: []byte("new")})
	wantKind(t, err, term.Unsupported, "NonAtomic")
	wantFile(t, filepath.Join(root, "file"), "old")
	for _, w := range []term.FileWrite{{Path: "file", NonAtomic: true}, {Path: "other"}} {
		w.Data = []byte("new")
		if _, err = files.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		wantFile(t, filepath.Join(root, w.Path), "new")
	}
	wantNoLeftovers(t, root)
}

// TestNoSFTPServer checks the errors for peers that are not SFTP servers.
func TestNoSFTPServer(t *testing.T) {
	for name, text := range map[string]string{
		"text": "Welcome to this host!\r\n", "nothing": "", "length": "\x00\x00\x00\x05\x02\x00\x00\x00\x09",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewSFTP(t.Context(), &talker{Reader: strings.NewReader(text)}, Limits{})
			wantKind(t, err, term.Unsupported, "not an SFTP server")
		})
	}
	t.Run("silence", func(t *testing.T) {
		in, out := io.Pipe()
		defer func() { _ = out.Close() }()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		within(t, func() {
			_, err := NewSFTP(ctx, &talker{Reader: in, close: in.Close}, Limits{})
			wantKind(t, err, term.IOError)
		})
	})
}

// A talker sends its text for any request.
type talker struct {
	io.Reader
	close func() error
}

func (*talker) Write(p []byte) (int, error) { return len(p), nil }

func (k *talker) Close() error {
	if k.close != nil {
		return k.close()
	}
	return nil
}

// TestSFTPPermission is TestPermission with a server that runs as a user whom
// permissions restrict.
func TestSFTPPermission(t *testing.T) {
	if os.Getuid() == 0 {
		asNobody(t)
		return
	}
	files, root, _ := newSFTP(t, Limits{})
	for name, mode := range map[string]fs.FileMode{"locked": 0o400, "hidden": 0} {
		put(t, filepath.Join(root, name), "old")
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	_, err := files.Read(t.Context(), term.FileRead{Path: "hidden"})
	wantKind(t, err, term.AccessDenied, "permission denied", "hidden")
	for _, path := range []string{"locked", "hidden", "/etc/passwd", "/etc/new"} {
		_, err = files.Write(t.Context(), term.FileWrite{Path: path, Data: []byte("new")})
		wantKind(t, err, term.AccessDenied, "permission denied", path)
	}
	wantFile(t, filepath.Join(root, "locked"), "old")
	wantNoLeftovers(t, root)
}
