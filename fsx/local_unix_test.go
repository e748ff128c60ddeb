//go:build unix

package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptyctl/term"
)

// within fails the test if f blocks: a FIFO must never block a call.
func within(tb testing.TB, f func()) {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		tb.Fatal("the call hangs")
	}
}

func TestNoRegularFile(t *testing.T) {
	files, root := newLocal(t, Limits{})
	fifo := filepath.Join(root, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	devices, err := NewLocal([]string{"/dev"}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = devices.Close() }()
	within(t, func() {
		for _, tt := range []struct {
			files *Local
			path  string
			what  string
		}{
			{files, fifo, "a FIFO"},
			{devices, "/dev/null", "a device"},
			{devices, "/dev/zero", "a device"},
			{devices, "/dev/tty", "a device"},
		} {
			_, err := tt.files.Read(t.Context(), term.FileRead{Path: tt.path})
			wantKind(t, err, term.Unsupported, tt.what)
			for _, w := range []term.FileWrite{{}, {Append: true}, {NonAtomic: true}} {
				w.Path, w.Data = tt.path, []byte("x")
				_, err = tt.files.Write(t.Context(), w)
				wantKind(t, err, term.Unsupported, tt.what)
			}
		}
		if e, err := files.Stat(t.Context(), fifo); err != nil || e.Type() != "other" {
			t.Errorf("stat: %+v, %v", e, err)
		}
	})
}

// TestFIFORace replaces a file by a FIFO while it is being opened.
func TestFIFORace(t *testing.T) {
	files, root := newLocal(t, Limits{})
	file := filepath.Join(root, "file")
	within(t, func() {
		swapping(t, func() {
			put(t, filepath.Join(root, "regular"), "text")
			_ = os.Rename(filepath.Join(root, "regular"), file)
			_ = syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600)
			_ = os.Rename(filepath.Join(root, "fifo"), file)
		}, func() {
			if d, err := files.Read(t.Context(), term.FileRead{Path: file}); err == nil && string(d.Data) != "text" {
				t.Errorf("read %q", d.Data)
			}
			if _, err := files.Write(t.Context(), term.FileWrite{Path: file, Data: []byte("text"), NonAtomic: true}); errors.Is(
				err,
				term.Internal,
			) {
				t.Error(err)
			}
		})
	})
}

// TestLinkRace replaces a file and a folder by symbolic links that lead out, while
// they are in use.
func TestLinkRace(t *testing.T) {
	files, root := newLocal(t, Limits{})
	outside := t.TempDir()
	secret := filepath.Join(outside, "file")
	put(t, secret, "outside")
	dir, spare := filepath.Join(root, "dir"), filepath.Join(root, "spare")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "file"), "inside")
	link := filepath.Join(root, "link")
	refused, read := 0, 0
	swapping(t, func() {
		_ = os.Rename(dir, spare)
		_ = os.Symlink(outside, dir)
		_ = os.Remove(dir)
		_ = os.Rename(spare, dir)
		_ = os.Symlink(secret, link)
		_ = os.Rename(link, filepath.Join(dir, "file"))
		put(t, link, "inside")
		_ = os.Rename(link, filepath.Join(dir, "file"))
	}, func() {
		for _, path := range []string{filepath.Join(dir, "file"), "dir/file"} {
			switch d, err := files.Read(t.Context(), term.FileRead{Path: path}); {
			case err == nil && string(d.Data) == "outside":
				t.Fatal("a link led out")
			case err == nil:
				read++
			case errors.Is(err, term.PolicyDenied):
				refused++
			case !errors.Is(err, term.NotFound) && !errors.Is(err, term.InvalidArgument) && !errors.Is(err, term.Unsupported):
				t.Fatalf("error %v", err)
			}
			for _, w := range []term.FileWrite{{}, {NonAtomic: true}} {
				w.Path, w.Data = path, []byte("inside")
				_, _ = files.Write(t.Context(), w)
			}
		}
		if l, err := files.List(t.Context(), term.FileList{Path: dir}); err == nil && len(l.Entries) > 0 &&
			l.Entries[0].Name == "made-outside" {
			t.Fatal("a folder outside was listed")
		}
	})
	t.Logf("%d reads, %d refused", read, refused)
	if refused == 0 || read == 0 {
		t.Errorf("%d reads and %d refusals: there was no race", read, refused)
	}
	wantFile(t, secret, "outside")
	if left, _ := os.ReadDir(outside); len(left) != 1 {
		t.Errorf("something was made outside: %v", left)
	}
}

// swapping calls swap repeatedly while act is called many times.
func swapping(tb testing.TB, swap, act func()) {
	tb.Helper()
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				swap()
			}
		}
	})
	defer swapper.Wait()
	defer close(stop)
	for range 1000 {
		act()
	}
}

func TestPermission(t *testing.T) {
	if os.Getuid() == 0 {
		asNobody(t)
		return
	}
	testPermission(t)
}

func testPermission(t *testing.T) {
	files, root := newLocal(t, Limits{})
	locked := filepath.Join(root, "locked")
	put(t, locked, "old")
	if err := os.Chmod(locked, 0o400); err != nil {
		t.Fatal(err)
	}
	hidden := filepath.Join(root, "hidden")
	put(t, hidden, "old")
	if err := os.Chmod(hidden, 0); err != nil {
		t.Fatal(err)
	}
	sealed := filepath.Join(root, "sealed")
	if err := os.Mkdir(sealed, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(sealed, "file"), "old")
	if err := os.Chmod(sealed, 0o500); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(sealed, 0o700) }()
	_, err := files.Read(t.Context(), term.FileRead{Path: hidden})
	wantKind(t, err, term.AccessDenied, "permission denied", "hidden")
	for _, path := range []string{locked, hidden, filepath.Join(sealed, "file"), filepath.Join(sealed, "new")} {
		_, err = files.Write(t.Context(), term.FileWrite{Path: path, Data: []byte("new")})
		wantKind(t, err, term.AccessDenied, "permission denied", filepath.Base(path))
	}
	wantFile(t, locked, "old")
	wantNoLeftovers(t, root)
}
