package stage

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// A File returns the written data, whether it fits into memory or not, and leaves nothing behind.
func TestFile(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, size := range []int{0, 1, inMemory, inMemory + 1, 2*inMemory + 7} {
		content := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
		var f File
		sink, err := f.Files().Target(t.Context(), term.FileTarget{Mode: 0o640, Modified: time.Unix(1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < size; at += 1 << 20 {
			if _, err := sink.WriteAt(content[at:min(at+1<<20, size)], int64(at)); err != nil {
				t.Fatalf("WriteAt of %d bytes at %d: %v", size, at, err)
			}
		}
		if _, err := f.Files().Source(t.Context(), "/x", true); !errors.Is(err, term.NotFound) {
			t.Errorf("a file of %d bytes that is not whole: %v, want NOT_FOUND", size, err)
		}
		if _, err := sink.Commit(t.Context(), int64(size)); err != nil {
			t.Fatal(err)
		}
		src, err := f.Files().Source(t.Context(), "/folder/x", true)
		if err != nil {
			t.Fatal(err)
		}
		if e := src.Entry(); e.Name != "x" || e.Size != int64(size) || e.Mode != 0o640 || !e.Modified.Equal(time.Unix(1, 0)) {
			t.Errorf("the entry of %d bytes is %+v", size, e)
		}
		got, err := io.ReadAll(io.NewSectionReader(src, 0, int64(size)+10))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes are read, %v; want %d", len(got), err, size)
		}
		if list, _ := filepath.Glob(filepath.Join(temp, "*")); len(list) > 0 && runtime.GOOS != "windows" {
			t.Errorf("the temporary file has the names %v, want none", list)
		}
		f.Close()
		if _, err := src.ReadAt(make([]byte, 1), 0); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("a read of %d bytes after Close: %v, want an error", size, err)
		}
		if _, err := sink.WriteAt([]byte("x"), 0); err == nil {
			t.Error("a write after Close has no error")
		}
	}
}
