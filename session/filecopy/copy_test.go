//go:build unix

package filecopy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ptyctl/fsx"
	"ptyctl/term"
)

// A bench has two folders, and files of this machine that reach them.
type bench struct {
	t        *testing.T
	from, to string
	here     *fsx.Local
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t}
	for _, dir := range []*string{&b.from, &b.to} {
		real, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		*dir = real
	}
	var err error
	if b.here, err = fsx.NewLocal([]string{b.from, b.to}, fsx.Limits{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.here.Close() })
	return b
}

// A server is OpenSSH's sftp-server and the channel to it. Bytes to it pass through to.
type server struct {
	io.Reader
	in    io.WriteCloser
	to    func(p []byte) []byte // nil: unchanged
	close func() error
}

func (s *server) Write(p []byte) (int, error) {
	if s.to == nil {
		return s.in.Write(p)
	}
	return s.in.Write(s.to(p))
}

func (s *server) Close() error { return s.close() }

// far starts a server, and returns the files that it shows.
func (b *bench) far(to func(p []byte) []byte) (*fsx.SFTP, *server) {
	b.t.Helper()
	cmd := exec.Command("/usr/lib/openssh/sftp-server") // of scripts/install-test-deps
	in, err := cmd.StdinPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	s := &server{Reader: out, in: in, to: to}
	s.close = sync.OnceValue(func() error {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = out.Close()
		_ = cmd.Wait()
		return nil
	})
	files, err := fsx.NewSFTP(b.t.Context(), s, fsx.Limits{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = files.Close() })
	return files, s
}

// end returns an end of a copy.
func end(files term.CopyFiles, dir, name string) End {
	return End{
		Path: filepath.Join(dir, name), Machine: "m",
		Open: func(context.Context) (term.CopyFiles, error) { return files, nil },
	}
}

// noise returns bytes that repeat nowhere.
func noise(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{5}).Read(data)
	return data
}

func (b *bench) write(name string, data []byte) {
	b.t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// want compares the content of the target's folder, without the names of parts.
func (b *bench) want(when string, data []byte, parts int) {
	b.t.Helper()
	got, err := os.ReadFile(filepath.Join(b.to, "file"))
	if !bytes.Equal(got, data) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.t.Errorf("%s: the target has %d bytes, %v; want the %d that it should have", when, len(got), err, len(data))
	}
	entries, err := os.ReadDir(b.to)
	if err != nil {
		b.t.Fatal(err)
	}
	var others []string
	for _, e := range entries {
		if e.Name() != "file" {
			others = append(others, e.Name())
		}
	}
	if len(others) != parts || slices.ContainsFunc(others, func(n string) bool { return !strings.HasSuffix(n, ".ptyctl-part") }) {
		b.t.Errorf("%s: beside the target are %q, want %d parts", when, others, parts)
	}
}

// TestVerify: a damaged copy replaces nothing, whether or not it could be resumed.
func TestVerify(t *testing.T) {
	for _, resume := range []bool{false, true} {
		b := newBench(t)
		b.write(filepath.Join(b.from, "file"), noise(3<<20))
		b.write(filepath.Join(b.to, "file"), []byte("old"))
		var once atomic.Bool
		far, _ := b.far(func(p []byte) []byte {
			if len(p) < 64<<10 || once.Swap(true) {
				return p
			}
			p = bytes.Clone(p)
			p[len(p)/2] ^= 1
			return p
		})
		c := Copy{From: end(b.here, b.from, "file"), To: end(far, b.to, "file"), Resume: resume}
		r, err := c.Run(t.Context())
		if !errors.Is(err, term.IOError) || !strings.Contains(err.Error(), "checksum") || r.Verified {
			t.Errorf("a damaged copy: %+v, %v", r, err)
		}
		if !once.Load() {
			t.Fatal("no byte was changed")
		}
		b.want("after it", []byte("old"), 0)
	}
}

// TestCancel: a copy that is canceled leaves everything as it was.
func TestCancel(t *testing.T) {
	for _, put := range []bool{true, false} {
		b := newBench(t)
		b.write(filepath.Join(b.from, "file"), noise(16<<20))
		b.write(filepath.Join(b.to, "file"), []byte("old"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		far, _ := b.far(nil)
		c := Copy{From: end(far, b.from, "file"), To: end(b.here, b.to, "file")}
		if put {
			c = Copy{From: end(b.here, b.from, "file"), To: end(far, b.to, "file")}
		}
		c.Progress = func(moved, _ int64) {
			if moved > 4<<20 {
				cancel()
			}
		}
		if r, err := c.Run(ctx); !errors.Is(err, term.Canceled) || r.Bytes == 0 {
			t.Errorf("a copy that is canceled: %+v, %v", r, err)
		}
		b.want("after it", []byte("old"), 0)
		select {
		case <-far.Lost():
			t.Error("the connection is lost after a cancel")
		default:
		}
	}
}

// TestSizes: files of any size arrive, whatever size they report.
func TestSizes(t *testing.T) {
	b := newBench(t)
	far, _ := b.far(nil)
	block, _ := far.Requests()
	for _, n := range []int{0, 1, block - 1, block, block + 1, 3 * block, 1 << 20, 40*block + 7} {
		data := noise(n)
		b.write(filepath.Join(b.from, "file"), data)
		for name, c := range map[string]Copy{
			"put": {From: end(b.here, b.from, "file"), To: end(far, b.to, "file")},
			"get": {From: end(far, b.from, "file"), To: end(b.here, b.to, "file")},
			"far": {From: end(far, b.from, "file"), To: end(far, b.to, "file")},
		} {
			r, err := c.Run(t.Context())
			if err != nil || r.Bytes != int64(n) || !r.Verified || r.Changed {
				t.Errorf("%s of %d bytes: %+v, %v", name, n, r, err)
			}
			b.want(name, data, 0)
			_ = os.Remove(filepath.Join(b.to, "file"))
		}
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		return // not Linux
	}
	c := Copy{From: end(far, "/proc/self", "status"), To: end(b.here, b.to, "file")}
	if r, err := c.Run(t.Context()); err != nil || r.Bytes == 0 || !r.Changed {
		t.Errorf("a file with more bytes than it says: %+v, %v", r, err)
	}
}

// TestTwins: names that differ only in case are two files where the file system says so.
func TestTwins(t *testing.T) {
	b := newBench(t)
	if err := os.Mkdir(filepath.Join(b.from, "tree"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"readme", "README", "other"} {
		b.write(filepath.Join(b.from, "tree", name), []byte(name))
	}
	for i := range 2 { // the second finds the folder of the first
		c := Copy{From: end(b.here, b.from, "tree"), To: end(b.here, b.to, "tree"), Recursive: true}
		r, err := c.Run(t.Context())
		if err != nil || r.Files != 3 || r.Skips != 0 || r.Created != (i == 0) {
			t.Errorf("copy %d of a tree of three files: %+v, %v; want all of them", i, r, err)
		}
	}
	for _, name := range []string{"readme", "README"} {
		if text, err := os.ReadFile(filepath.Join(b.to, "tree", name)); err != nil || string(text) != name {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
}

// TestNotFound: the error for a target that cannot be made names the missing part, and says nothing untrue.
func TestNotFound(t *testing.T) {
	b := newBench(t)
	b.write(filepath.Join(b.from, "file"), []byte("text"))
	if err := os.Mkdir(filepath.Join(b.from, "tree"), 0o700); err != nil {
		t.Fatal(err)
	}
	far, _ := b.far(nil)
	for _, tt := range []struct {
		to   string
		kind term.Kind
		says string
	}{
		{filepath.Join(b.to, "none/file"), term.NotFound, "the folder of"},
		{"~/file", term.NotFound, "~ is not expanded"},
		{"/proc/file", term.Unsupported, "its folder is there"},
	} {
		if _, err := os.Stat("/proc/self/status"); err != nil && strings.HasPrefix(tt.to, "/proc") {
			continue // not Linux
		}
		for _, name := range []string{"file", "tree"} {
			c := Copy{From: end(b.here, b.from, name), To: end(far, "", tt.to), Recursive: name == "tree"}
			if _, err := c.Run(t.Context()); !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("copy of %s to %s: %v; want %s, and %q in it", name, tt.to, err, tt.kind, tt.says)
			}
		}
	}
	c := Copy{From: end(far, "", "~/file"), To: end(b.here, b.to, "file")}
	if _, err := c.Run(t.Context()); !errors.Is(err, term.NotFound) ||
		!strings.Contains(err.Error(), "~ is not expanded") {
		t.Errorf("copy of ~/file: %v; want NOT_FOUND that tells of ~", err)
	}
}

// A folding shows files as a file system does that takes upper and lower case for the same.
type folding struct{ *fsx.Local }

// folded returns the name that a file has there.
func folded(path string) string {
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if strings.EqualFold(e.Name(), filepath.Base(path)) {
			return filepath.Join(filepath.Dir(path), e.Name())
		}
	}
	return path
}

func (f folding) Stat(ctx context.Context, path string) (term.FileEntry, error) {
	return f.Local.Stat(ctx, folded(path))
}

func (f folding) Target(ctx context.Context, t term.FileTarget) (term.FileSink, error) {
	t.Path = folded(t.Path)
	return f.Local.Target(ctx, t)
}

// TestTwinsFolded: of two names that are one at the target, the second does not replace the first.
func TestTwinsFolded(t *testing.T) {
	b := newBench(t)
	if err := os.Mkdir(filepath.Join(b.from, "tree"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"readme", "reaDme", "other"} {
		b.write(filepath.Join(b.from, "tree", name), []byte(name))
	}
	c := Copy{
		From:      end(b.here, b.from, "tree"),
		To:        end(folding{b.here}, b.to, "tree"),
		Recursive: true,
	}
	r, err := c.Run(t.Context())
	if err != nil || r.Files != 2 || r.Failed != 1 || !strings.Contains(r.Skipped[0].Err.Error(), "upper and lower case") {
		t.Errorf("copy: %+v, %v", r, err)
	}
	if text, err := os.ReadFile(filepath.Join(b.to, "tree/reaDme")); err != nil || string(text) != "reaDme" {
		t.Errorf("the file holds %q, %v; want the first of the two", text, err)
	}
}

// TestTooLarge: invented sizes of a far side with an overflowing sum make no negative number.
func TestTooLarge(t *testing.T) {
	x := &copying{Copy: &Copy{MaxBytes: 10}}
	size := int64(math.MaxInt64)
	if err := x.tooLarge(size + 1); !errors.Is(err, term.LimitExceeded) || strings.Contains(err.Error(), "-") {
		t.Errorf("tooLarge of an overflow: %v, want LIMIT_EXCEEDED without a negative number", err)
	}
}

// A lengthy lists one more file in each folder, with a name that no file system has.
type lengthy struct{ *fsx.Local }

func (l lengthy) Entries(ctx context.Context, path string, most int) ([]term.FileEntry, error) {
	entries, err := l.Local.Entries(ctx, path, most)
	return append(entries, term.FileEntry{Name: strings.Repeat("x", 200<<10), Mode: 0o600}), err
}

// TestLongNames: names of any length from a far side are not kept, and do not end the copy of the others.
func TestLongNames(t *testing.T) {
	b := newBench(t)
	if err := os.Mkdir(filepath.Join(b.from, "tree"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.write(filepath.Join(b.from, "tree", "other"), []byte("other"))
	c := Copy{From: end(lengthy{b.here}, b.from, "tree"), To: end(b.here, b.to, "tree"), Recursive: true}
	r, err := c.Run(t.Context())
	if err != nil || r.Files != 1 || r.Skips != 1 || r.Failed != 0 || len(r.Skipped[0].Path) > 2*maxSkipPath {
		t.Errorf("copy: %d files, %d skipped, %d failed, %v; want one file, and the long name skipped",
			r.Files, r.Skips, r.Failed, err)
	}
}
