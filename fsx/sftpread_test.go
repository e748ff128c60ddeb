//go:build unix

package fsx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"ptyctl/term"
)

// The packets that a false server answers with, which has their ids.
func answer(kind byte, content ...byte) []byte { return append([]byte{kind, 0, 0, 0, 0}, content...) }
func data(s string) []byte                     { return answer(packetData, text(s)...) }
func text(s string) []byte                     { return appendString(nil, s) }

func status(code byte) []byte {
	return answer(packetStatus, append([]byte{0, 0, 0, code}, append(text("why"), text("en")...)...)...)
}

// TestCopyReads: whatever a server answers to the read of a copy, the data is right, or there is an error.
func TestCopyReads(t *testing.T) {
	attrs := answer(105, 0, 0, 0, 4, 0, 0, 0o100644>>8, 0o100644&0xff)
	handle := answer(packetHandle, text("h")...)
	for _, tt := range []struct {
		name    string
		handle  []byte
		answers [][]byte
		want    string
		kind    term.Kind // empty: the end of the file
	}{
		{name: "short", answers: [][]byte{data("some "), data("data"), status(1)}, want: "some data"},
		{name: "empty file", answers: [][]byte{status(1)}},
		{name: "more after it", answers: [][]byte{answer(packetData, append(text("data"), 0, 0)...), status(1)}, want: "data"},
		{name: "too much", answers: [][]byte{data(strings.Repeat("x", 21))}, kind: term.RemoteClosed},
		{name: "nothing", answers: [][]byte{data("")}, kind: term.RemoteClosed},
		{name: "less than announced", answers: [][]byte{answer(packetData, 0, 0, 0, 9, 'x')}, kind: term.RemoteClosed},
		{name: "no length", answers: [][]byte{answer(packetData, 0, 0)}, kind: term.RemoteClosed},
		{name: "no code", answers: [][]byte{answer(packetStatus)}, kind: term.RemoteClosed},
		{name: "other kind", answers: [][]byte{attrs}, kind: term.RemoteClosed},
		{name: "no packet", answers: [][]byte{{1, 2}}, kind: term.RemoteClosed},
		{name: "refused", answers: [][]byte{data("some"), status(3), status(3)}, want: "some", kind: term.AccessDenied},
		{name: "refused once", answers: [][]byte{status(4), data("data"), status(1)}, want: "data"},
		{name: "success", answers: [][]byte{status(0), status(0)}, kind: term.RemoteClosed},
		{
			name: "long handle", handle: answer(packetHandle, text(strings.Repeat("h", 300))...),
			answers: [][]byte{data("data"), status(1)}, want: "data",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.handle == nil {
				tt.handle = handle
			}
			answers := append([][]byte{attrs, tt.handle}, tt.answers...)
			files, err := NewSFTP(t.Context(), newLiar(version(), answers), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = files.Close() }()
			f, err := files.Source(t.Context(), "x", true)
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 20)
			within(t, func() {
				n, err := f.ReadAt(b, 0)
				if got := string(b[:n]); got != tt.want {
					t.Errorf("ReadAt read %q, want %q", got, tt.want)
				}
				if tt.kind == "" && err != io.EOF || tt.kind != "" && !errors.Is(err, tt.kind) {
					t.Errorf("ReadAt returned the error %v, want the kind %q (empty: the end of the file)", err, tt.kind)
				}
			})
		})
	}
}

// TestCopyReadsTogether: blocks and other requests may be under way at the same time, and when the server ends, no
// block is waited for.
func TestCopyReadsTogether(t *testing.T) {
	const size, blocks = 8 << 20, 200
	files, root, channel := newSFTP(t, Limits{})
	want := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(want)
	put(t, filepath.Join(root, "big"), string(want))
	f, err := files.Source(t.Context(), "big", true)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			r, b := rand.New(rand.NewPCG(1, uint64(i))), make([]byte, files.payload)
			for range blocks / 8 {
				at := r.IntN(size)
				n, err := f.ReadAt(b, int64(at))
				end := min(at+len(b), size)
				if !bytes.Equal(b[:n], want[at:end]) || (err == nil) != (n == len(b)) {
					t.Errorf("ReadAt(%d) read %d bytes, want the %d of the file there; error %v", at, n, end-at, err)
				}
			}
		})
	}
	for range 20 {
		if _, err := files.Stat(t.Context(), "big"); err != nil {
			t.Errorf("Stat during the reads: %v", err)
		}
		if _, err := files.Write(t.Context(), term.FileWrite{Path: "other", Data: want[:1<<20]}); err != nil {
			t.Errorf("Write during the reads: %v", err)
		}
	}
	all.Wait()
	for range 8 {
		all.Go(func() {
			for b := make([]byte, files.payload); ; {
				if _, err := f.ReadAt(b, 0); err != nil {
					wantIO(t, err, term.RemoteClosed)
					return
				}
			}
		})
	}
	_ = channel.cmd.Process.Kill()
	within(t, all.Wait)
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, term.RemoteClosed) {
		t.Errorf("ReadAt after the end: %v, want the kind %s", err, term.RemoteClosed)
	}
}

// TestReadsPackets: the two parts of the library's packet must reach the server with none between them.
func TestReadsPackets(t *testing.T) {
	var sent bytes.Buffer
	r := newReads(strings.NewReader(""), &sent)
	head := binary.BigEndian.AppendUint32(nil, 9)
	head = append(head, 6, 0, 0)
	if _, err := r.Write(head); err != nil {
		t.Fatal(err)
	}
	asked := make(chan error)
	go func() { asked <- r.ask("h", 0, &read{into: make([]byte, 4), done: make(chan struct{})}) }()
	if _, err := r.Write([]byte("012345")); err != nil {
		t.Fatal(err)
	}
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	for _, want := range []byte{6, packetRead} {
		if kind, content, err := readPacket(&sent); err != nil || kind != want {
			t.Errorf("the server gets a packet of type %d %q, %v, want type %d", kind, content, err, want)
		}
	}
}

// TestReadsCut: the end of the connection within an answer must not look like the end of the file.
func TestReadsCut(t *testing.T) {
	content := binary.BigEndian.AppendUint32(nil, firstReadID+1)
	for _, whole := range [][]byte{
		packet(packetData, appendString(slices.Clip(content), "some data")),
		packet(packetStatus, appendString(append(slices.Clip(content), 0, 0, 0, statusEOF), "the end")),
	} {
		for n := range len(whole) {
			r := newReads(bytes.NewReader(whole[:n]), io.Discard)
			done := make(chan error)
			go func() {
				_, _, err := r.readAt("h", make([]byte, 9), 0)
				done <- err
			}()
			for sent := false; !sent; {
				runtime.Gosched()
				r.mu.Lock()
				sent = len(r.waiting) > 0
				r.mu.Unlock()
			}
			if n, err := r.Read(make([]byte, 99)); err == nil {
				t.Errorf("Read returned %d bytes of an answer that was cut, want an error", n)
			}
			r.end()
			if err := <-done; err == nil || errors.Is(err, io.EOF) {
				t.Errorf("after %d bytes of the answer %x, readAt returned %v, want an error other than the end of the file",
					n, whole, err)
			}
		}
	}
}

// A closing channel takes some requests, and reports its end to those after them.
type closing struct {
	*liar
	left int
}

func (c *closing) Write(p []byte) (int, error) {
	if c.left--; c.left < 0 {
		return 0, io.EOF
	}
	return c.liar.Write(p)
}

// TestCopyReadsUnsent: nor must the end of a channel, which x/crypto/ssh reports to a write as io.EOF.
func TestCopyReadsUnsent(t *testing.T) {
	attrs := []byte{105, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0o100644 >> 8, 0o100644 & 0xff}
	for _, size := range []int{1, 300} { // the client library makes the requests for a long handle
		handle := append([]byte{packetHandle, 0, 0, 0, 0}, appendString(nil, strings.Repeat("h", size))...)
		c := &closing{newLiar(version(), [][]byte{attrs, handle}), 3}
		files, err := NewSFTP(t.Context(), c, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := files.Source(t.Context(), "x", true)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := f.ReadAt(make([]byte, 20), 0); !errors.Is(err, term.RemoteClosed) || errors.Is(err, io.EOF) {
			t.Errorf("ReadAt on a closed channel, with a handle of %d bytes, returned %d, %v, want the kind %s",
				size, n, err, term.RemoteClosed)
		}
		_ = files.Close()
	}
}

// TestReadsAsLibrary: a read with concurrent requests returns the same data as the client library.
func TestReadsAsLibrary(t *testing.T) {
	const size = 3<<20 + 12345
	files, root, _ := newSFTP(t, Limits{Read: 2 * size})
	want := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{4}).Read(want)
	put(t, filepath.Join(root, "big"), string(want))
	f, _, err := files.open(opRead, "big")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	fast := blocks{files, remoteFile{f, files.reads.opened()}}
	if fast.f.handle == "" {
		t.Fatal("the handle of the open file is not known")
	}
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 100 {
		at, n := random.IntN(size+1000), random.IntN(size)
		if i%10 == 0 {
			at, n = size-files.payload*(i/10), files.payload*(i/10) // to the very end
		}
		one, other := make([]byte, n), make([]byte, n)
		n1, err1 := fast.ReadAt(one, int64(at))
		n2, err2 := f.ReadAt(other, int64(at))
		if n1 != n2 || !bytes.Equal(one, other) || !errors.Is(err1, err2) {
			t.Fatalf("ReadAt(%d bytes, %d) = %d, %v, as the library reads it %d, %v", n, at, n1, err1, n2, err2)
		}
	}
	for _, r := range []term.FileRead{{}, {Offset: 1}, {Offset: size - 1}, {Offset: size}, {Offset: 77, Max: 1 << 20}} {
		r.Path = "big"
		d, err := files.Read(t.Context(), r)
		end := size
		if r.Max > 0 {
			end = min(end, int(r.Offset+r.Max))
		}
		if err != nil || !bytes.Equal(d.Data, want[r.Offset:end]) || d.Truncated != (end < size) || d.Next != int64(end) {
			t.Errorf("Read(%+v) = %d bytes up to %d, truncated %t, %v; want the bytes up to %d", r, len(d.Data), d.Next, d.Truncated, err, end)
		}
	}
}

// TestReadsAnswers: whatever a server answers to several requests, a read has the right data, or an error.
func TestReadsAnswers(t *testing.T) {
	size := make([]byte, 12)
	size[3], size[10] = 5, 80 // 20,480 bytes
	attrs := answer(105, append(size, 0, 0, 0o100644>>8, 0o100644&0xff)...)
	full := strings.Repeat("x", block)
	for _, tt := range []struct {
		name    string
		answers [][]byte
		want    string
		kind    term.Kind // empty: none
	}{
		{name: "end", answers: [][]byte{status(1)}},
		{name: "short, and the rest", answers: [][]byte{data("some "), data("data"), status(1)}, want: "some data"},
		{name: "too much", answers: [][]byte{data(full + "too much"), status(1), status(1)}, want: full[:20480]}, // it looks for more in two requests
		{name: "far too much", answers: [][]byte{data(strings.Repeat(full, 4))}, kind: term.RemoteClosed},
		{name: "nothing", answers: [][]byte{data("")}, kind: term.RemoteClosed},
		{name: "refused", answers: [][]byte{data("some"), status(3), status(3)}, kind: term.AccessDenied},
		{name: "success", answers: [][]byte{status(0), status(0)}, kind: term.RemoteClosed},
		{name: "other kind", answers: [][]byte{attrs}, kind: term.RemoteClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answers := append([][]byte{attrs, answer(packetHandle, text("h")...)}, tt.answers...)
			files, err := NewSFTP(t.Context(), newLiar(version(), answers), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = files.Close() }()
			within(t, func() {
				d, err := files.Read(t.Context(), term.FileRead{Path: "x"})
				if string(d.Data) != tt.want || tt.kind == "" && err != nil || tt.kind != "" && !errors.Is(err, tt.kind) {
					t.Errorf("Read = %d bytes, want %d; error %v, want the kind %q", len(d.Data), len(tt.want), err, tt.kind)
				}
			})
		})
	}
}
