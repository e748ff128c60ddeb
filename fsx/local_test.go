//go:build unix

package fsx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/term"
)

// newLocal returns a Local of a new folder, and the folder with its links resolved.
func newLocal(tb testing.TB, l Limits) (*Local, string) {
	tb.Helper()
	root, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	files, err := NewLocal([]string{root}, l)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = files.Close() })
	return files, root
}

func put(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func wantFile(tb testing.TB, path, text string) {
	tb.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if string(got) != text {
		tb.Errorf("%s holds %q, want %q", path, shown(got), shown([]byte(text)))
	}
}

func shown(p []byte) string { return string(p[:min(len(p), 64)]) }

func wantKind(tb testing.TB, err error, kind term.Kind, words ...string) {
	tb.Helper()
	if !errors.Is(err, kind) {
		tb.Fatalf("got error %v, want one of kind %s", err, kind)
	}
	e, _ := errors.AsType[*term.Error](err)
	if kind == term.PolicyDenied && (term.FactOf[term.Denial](e).Setting != term.SettingLocalFiles) {
		tb.Errorf("error %v has the details %+v, want the setting %q", err, e.Facts, term.SettingLocalFiles)
	}
	if kind == term.LimitExceeded && e.Op == "file_write" &&
		(term.FactOf[term.LimitReached](e).Limit != term.LimitFileWrite) {
		tb.Errorf("error %v has the details %+v, want the limit %q", err, e.Facts, term.LimitFileWrite)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			tb.Errorf("error %q does not say %q", err, w)
		}
	}
}

// wantNoLeftovers fails if a temporary file is left.
func wantNoLeftovers(tb testing.TB, dir string) {
	tb.Helper()
	left, err := filepath.Glob(filepath.Join(dir, ".ptyctl-*"))
	if err != nil || len(left) > 0 {
		tb.Errorf("temporary files are left: %v, %v", left, err)
	}
}

func TestReadParts(t *testing.T) { inBoth(t, Limits{Read: 5}, testReadParts) }

func testReadParts(t *testing.T, files term.Files, root string) {
	put(t, filepath.Join(root, "ten"), "0123456789")
	for _, tt := range []struct {
		offset, most int64
		data         string
		next         int64
		truncated    bool
	}{
		{0, 0, "01234", 5, true},
		{5, 0, "56789", 10, false},
		{5, 4, "5678", 9, true},
		{3, 100, "34567", 8, true},
		{10, 0, "", 10, false},
		{99, 0, "", 99, false},
	} {
		d, err := files.Read(t.Context(), term.FileRead{Path: filepath.Join(root, "ten"), Offset: tt.offset, Max: tt.most})
		if err != nil {
			t.Fatal(err)
		}
		if string(d.Data) != tt.data || d.Next != tt.next || d.Truncated != tt.truncated || d.Size != 10 {
			t.Errorf(
				"read %d at %d: got %q, next %d, truncated %v, size %d",
				tt.most,
				tt.offset,
				d.Data,
				d.Next,
				d.Truncated,
				d.Size,
			)
		}
	}
	d, err := files.Read(t.Context(), term.FileRead{Path: "ten", Max: 1})
	if err != nil || string(d.Data) != "0" {
		t.Errorf("a relative path: got %q, %v", d.Data, err)
	}
}

// TestReadUnsized reads files with an unknown size.
func TestReadUnsized(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		return // only Linux has such files
	}
	files, err := NewLocal([]string{"/proc"}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	path := fmt.Sprintf("/proc/%d/status", os.Getpid())
	d, err := files.Read(t.Context(), term.FileRead{Path: path})
	if err != nil || !bytes.Contains(d.Data, []byte("VmRSS")) || d.Truncated {
		t.Errorf("got %q, truncated %v, %v", d.Data, d.Truncated, err)
	}
	d, err = files.Read(t.Context(), term.FileRead{Path: path, Max: 10})
	if err != nil || len(d.Data) != 10 || !d.Truncated {
		t.Errorf("got %q, truncated %v, %v", d.Data, d.Truncated, err)
	}
}

func TestWrite(t *testing.T) {
	mode := func(m fs.FileMode) *fs.FileMode { return &m }
	for _, tt := range []struct {
		name       string
		before     string // "" means no file
		beforeMode fs.FileMode
		w          term.FileWrite
		want       string
		wantMode   fs.FileMode // 0 means any
		created    bool
		sameFile   bool // the file must be the same one as before
	}{
		{name: "new", w: term.FileWrite{Data: []byte("new")}, want: "new", created: true},
		{name: "new with mode", w: term.FileWrite{Data: []byte("new"), Mode: mode(0o777)}, want: "new", wantMode: 0o777, created: true},
		{name: "keeps the mode", before: "old", beforeMode: 0o640, w: term.FileWrite{Data: []byte("new")}, want: "new", wantMode: 0o640},
		{name: "other mode", before: "old", beforeMode: 0o640, w: term.FileWrite{Data: []byte("new"), Mode: mode(0o600)}, want: "new", wantMode: 0o600},
		{name: "empty", before: "old", beforeMode: 0o644, w: term.FileWrite{}, want: "", wantMode: 0o644},
		{name: "append", before: "old", beforeMode: 0o640, w: term.FileWrite{Data: []byte("+new"), Append: true}, want: "old+new", wantMode: 0o640, sameFile: true},
		{name: "append to nothing", w: term.FileWrite{Data: []byte("new"), Append: true}, want: "new", created: true},
		{name: "over it", before: "longer", beforeMode: 0o640, w: term.FileWrite{Data: []byte("new"), NonAtomic: true}, want: "new", wantMode: 0o640, sameFile: true},
		{name: "over it with mode", before: "longer", beforeMode: 0o640, w: term.FileWrite{Data: []byte("new"), NonAtomic: true, Mode: mode(0o606)}, want: "new", wantMode: 0o606, sameFile: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBoth(t, Limits{}, func(t *testing.T, files term.Files, root string) {
				path := filepath.Join(root, "file")
				var before fs.FileInfo
				if tt.before != "" {
					put(t, path, tt.before)
					if err := os.Chmod(path, tt.beforeMode); err != nil {
						t.Fatal(err)
					}
					before, _ = os.Stat(path)
				}
				tt.w.Path = path
				out, err := files.Write(t.Context(), tt.w)
				if err != nil {
					t.Fatal(err)
				}
				wantFile(t, path, tt.want)
				after, _ := os.Stat(path)
				if tt.wantMode != 0 && after.Mode().Perm() != tt.wantMode {
					t.Errorf("mode is %v, want %v", after.Mode(), tt.wantMode)
				}
				if before != nil && os.SameFile(before, after) != tt.sameFile {
					t.Errorf("the same file: %v, want %v", !tt.sameFile, tt.sameFile)
				}
				want := term.FileWritten{
					Bytes:   int64(len(tt.w.Data)),
					Size:    int64(len(tt.want)),
					Mode:    after.Mode(),
					Created: tt.created,
					Atomic:  !tt.w.Append && !tt.w.NonAtomic,
				}
				if out != want {
					t.Errorf("got %+v, want %+v", out, want)
				}
				wantNoLeftovers(t, root)
			})
		})
	}
}

// TestOutside checks every way to name a file outside of the root.
func TestOutside(t *testing.T) {
	files, root := newLocal(t, Limits{})
	outside := t.TempDir()
	put(t, filepath.Join(outside, "secret"), "outside")
	up, err := filepath.Rel(root, outside)
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"absolute": filepath.Join(outside, "secret"), "relative": filepath.Join(up, "secret"), "folder": outside, "etc": "/etc",
		"chain": "absolute", "new": filepath.Join(outside, "made"), "parent": "..", "dangling": "/nowhere/at/all",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		filepath.Join(outside, "secret"), up + "/secret", root + "/" + up + "/secret", "/etc/passwd", "..", "../..",
		root + "/..", root + "-sibling", "/", root + "/absolute", root + "/relative", root + "/folder/secret",
		root + "/chain", root + "/etc/passwd", "absolute", "./relative",
		root + "/parent/x", root + "/new", root + "/dangling", root + "/folder",
	} {
		t.Run(path, func(t *testing.T) {
			_, err := files.Read(t.Context(), term.FileRead{Path: path})
			wantKind(t, err, term.PolicyDenied)
			for _, w := range []term.FileWrite{{}, {Append: true}, {NonAtomic: true}} {
				w.Path, w.Data = path, []byte("x")
				_, err = files.Write(t.Context(), w)
				wantKind(t, err, term.PolicyDenied)
			}
			_, err = files.List(t.Context(), term.FileList{Path: path})
			wantKind(t, err, term.PolicyDenied)
		})
	}
	wantFile(t, filepath.Join(outside, "secret"), "outside")
	if left, _ := os.ReadDir(outside); len(left) != 1 {
		t.Errorf("something was made outside: %v", left)
	}
	if e, err := files.Stat(t.Context(), root+"/absolute"); err != nil || e.Type() != "link" ||
		e.Target != filepath.Join(outside, "secret") {
		t.Errorf("stat of a link: %+v, %v", e, err)
	}
}

// TestInside checks links that stay below the root, in every spelling.
func TestInside(t *testing.T) {
	files, root := newLocal(t, Limits{})
	if err := os.MkdirAll(filepath.Join(root, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "a", "b", "file"), "old")
	for name, target := range map[string]string{
		"abs": filepath.Join(root, "a"), "rel": "a/b", "a/up": "../rel/file", "abs2": "abs/b/../../a/up",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for i, path := range []string{"abs/b/file", "rel/file", "a/up", "abs2", root + "/abs2"} {
		text := fmt.Sprintf("written %d", i)
		if _, err := files.Write(t.Context(), term.FileWrite{Path: path, Data: []byte(text)}); err != nil {
			t.Fatal(err)
		}
		wantFile(t, filepath.Join(root, "a", "b", "file"), text)
		d, err := files.Read(t.Context(), term.FileRead{Path: path})
		if err != nil || string(d.Data) != text {
			t.Errorf("%s: got %q, %v", path, d.Data, err)
		}
	}
	if info, err := os.Lstat(filepath.Join(root, "abs2")); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("a write through a link has replaced it: %v, %v", info, err)
	}
	for _, loop := range [][2]string{{"loop1", "loop2"}, {"loop2", "loop1"}} {
		if err := os.Symlink(loop[1], filepath.Join(root, loop[0])); err != nil {
			t.Fatal(err)
		}
	}
	_, err := files.Read(t.Context(), term.FileRead{Path: "loop1"})
	wantKind(t, err, term.InvalidArgument, "loop")
}

func TestMistakes(t *testing.T) { inBoth(t, Limits{Write: 4}, testMistakes) }

func testMistakes(t *testing.T, files term.Files, root string) {
	put(t, filepath.Join(root, "file"), "text")
	if err := os.Mkdir(filepath.Join(root, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	read := func(path string) error {
		_, err := files.Read(t.Context(), term.FileRead{Path: path})
		return err
	}
	write := func(path, text string) error {
		_, err := files.Write(t.Context(), term.FileWrite{Path: path, Data: []byte(text)})
		return err
	}
	wantKind(t, read("none"), term.NotFound, `"none"`, "no such file")
	wantKind(t, read("none/file"), term.NotFound)
	wantKind(t, read("~/file"), term.NotFound, "~ is not expanded")
	wantKind(t, write("~/file", "x"), term.NotFound, "~ is not expanded")
	wantKind(t, write("none/file", "x"), term.NotFound, `"none/file"`, "its folder does not exist", "mkdir -p")
	wantKind(t, write("none/", "x"), term.InvalidArgument, `"none/" ends with a slash`, "give the path of a file")
	wantKind(t, write("file/", "x"), term.InvalidArgument, `"file/" ends with a slash`)
	wantKind(t, write("dir/", "x"), term.InvalidArgument, `"dir/" ends with a slash`)
	wantKind(t, read("dir"), term.InvalidArgument, "is a folder; use list")
	wantKind(t, read(""), term.InvalidArgument, "empty")
	wantKind(t, read("a\x00b"), term.InvalidArgument, "NUL")
	wantKind(t, read(strings.Repeat("x", 5000)), term.InvalidArgument, "4096")
	wantKind(t, write("dir", "x"), term.InvalidArgument, "is a folder")
	wantKind(t, write("none/file", "x"), term.NotFound)
	wantKind(t, write("file", "12345"), term.LimitExceeded, "at most 4")
	_, err := files.List(t.Context(), term.FileList{Path: "file"})
	wantKind(t, err, term.InvalidArgument, "not a folder")
	mode := fs.FileMode(0o4755)
	_, err = files.Write(t.Context(), term.FileWrite{Path: "file", Mode: &mode})
	wantKind(t, err, term.InvalidArgument, "octal")
	_, err = files.Read(t.Context(), term.FileRead{Path: "file", Offset: -1})
	wantKind(t, err, term.InvalidArgument)
	wantFile(t, filepath.Join(root, "file"), "text")
}

func TestRoots(t *testing.T) {
	_, root := newLocal(t, Limits{})
	other := t.TempDir()
	two, err := NewLocal([]string{root, other}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = two.Close() }()
	_, err = two.Read(t.Context(), term.FileRead{Path: "file"})
	wantKind(t, err, term.InvalidArgument, "absolute", root, other)
	_, err = two.Read(t.Context(), term.FileRead{Path: "~/file"})
	wantKind(t, err, term.InvalidArgument, "~ is not expanded", root, other)
	one, _ := newLocal(t, Limits{})
	put(t, filepath.Join(one.roots[0].name, "file"), "text")
	_, err = one.Read(t.Context(), term.FileRead{Path: "file/below"})
	wantKind(t, err, term.InvalidArgument, "not a folder")
	_, err = one.Read(t.Context(), term.FileRead{Path: strings.Repeat("x", 300)})
	wantKind(t, err, term.InvalidArgument, "too long")
	if _, err = NewLocal([]string{root, filepath.Join(root, "none")}, Limits{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a root that does not exist: %v", err)
	}
}

// TestCanceled ends a write in the middle: the old file must stay.
func TestCanceled(t *testing.T) {
	files, root := newLocal(t, Limits{Write: 64 << 20, Read: 64 << 20})
	put(t, filepath.Join(root, "file"), "old")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := files.Write(ctx, term.FileWrite{Path: "file", Data: make([]byte, 8*piece), Progress: func(n int64) {
		if n >= 3*piece {
			cancel()
		}
	}})
	wantKind(t, err, term.Canceled)
	wantFile(t, filepath.Join(root, "file"), "old")
	wantNoLeftovers(t, root)

	put(t, filepath.Join(root, "big"), strings.Repeat("x", 8*piece))
	ctx, cancel = context.WithCancel(t.Context())
	var last int64
	_, err = files.Read(ctx, term.FileRead{Path: "big", Progress: func(n int64) { last = n; cancel() }})
	wantKind(t, err, term.Canceled)
	if last > piece {
		t.Errorf("%d bytes were read after the cancel", last)
	}
}

func TestList(t *testing.T) { inBoth(t, Limits{Entries: 7}, testList) }

func testList(t *testing.T, files term.Files, root string) {
	var want []string
	for i := range 40 {
		name := fmt.Sprintf("f%02d", i)
		put(t, filepath.Join(root, name), strings.Repeat("x", i))
		want = append(want, name)
	}
	odd := "\xff not text"
	put(t, filepath.Join(root, odd), "")
	want = append(want, odd)
	var got []string
	for after := ""; ; {
		l, err := files.List(t.Context(), term.FileList{Path: root, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range l.Entries {
			if e.Name != odd && e.Name != fmt.Sprintf("f%02d", e.Size) || e.Type() != "file" || e.Modified.IsZero() {
				t.Errorf("got %+v", e)
			}
			got = append(got, e.Name)
		}
		if !l.More {
			break
		}
		if after = l.Last; len(l.Entries) != 7 {
			t.Fatalf("a page of %d entries", len(l.Entries))
		}
		// Changes in pages already read must not affect later pages.
		_ = os.Remove(filepath.Join(root, "f00"))
		put(t, filepath.Join(root, "a-new-one"), "")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestPage compares the pages with a sorted folder.
func TestPage(t *testing.T) {
	var all []string
	for i := range 10_000 {
		all = append(all, fmt.Sprintf("%04d", (i*7919)%10_000))
	}
	p := newPage("0100", 3)
	for _, name := range all {
		p.add(name)
		if len(p.kept) > 2048 {
			t.Fatal("the page grows with the folder")
		}
	}
	names, last, more := p.names()
	if !slices.Equal(names, []string{"0101", "0102", "0103"}) || last != "0103" || !more {
		t.Errorf("got %q, %q, %v", names, last, more)
	}
}
