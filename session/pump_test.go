package session_test

import (
	"io"
	"runtime"
	"testing"
	"time"

	"ptyctl/session"
)

// A flood sends n bytes, as fast as they are taken, then waits until it is closed.
type flood struct {
	chunk int
	left  int64
	done  chan struct{} // closed when all is out
	end   chan struct{}
	line  []byte
}

func newFlood(n int64, chunk int, line string) *flood {
	f := &flood{chunk: chunk, left: n, done: make(chan struct{}), end: make(chan struct{})}
	for len(f.line) < chunk+len(line) {
		f.line = append(f.line, line...)
	}
	return f
}

func (f *flood) Read(p []byte) (int, error) {
	if f.left == 0 {
		close(f.done)
		f.left = -1
	}
	if f.left < 0 {
		<-f.end
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), int64(f.chunk), f.left)], f.line)
	f.left -= int64(n)
	return n, nil
}

func (f *flood) Write(p []byte) (int, error) { return len(p), nil }

func (f *flood) Close() error {
	select {
	case <-f.end:
	default:
		close(f.end)
	}
	return nil
}

// Output without a reader is taken in bounded memory, and another session lives on beside it.
func TestUnreadOutput(t *testing.T) {
	const size = 256 << 20
	f := newFlood(size, 4096, "a line of output\r\n")
	s := session.New(&plain{ReadWriteCloser: f}, session.Options{})
	defer s.Close(t.Context(), session.CloseOptions{})
	other, far := start(t, 0, session.Options{})
	io.WriteString(far, "alive")
	if c := other.Read(t.Context(), session.ReadRequest{Timeout: time.Minute}); string(c.Data) != "alive" {
		t.Errorf("the other session: %s, %q", c.Reason, c.Data)
	}
	select {
	case <-f.done:
	case <-time.After(time.Minute):
		t.Fatal("the far side is blocked")
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 32<<20 {
		t.Errorf("%d bytes of memory", m.HeapAlloc)
	}
	c := s.Read(t.Context(), session.ReadRequest{MaxBytes: 100})
	if st := c.Buffer; st.End != size || st.Start != size-2<<20 || st.Allocated > 2<<20 {
		t.Errorf("buffer = %+v, want the last 2 MiB of the flood in at most 2 MiB", st)
	}
	if c.Dropped != size-2<<20 || c.Start != c.Dropped || len(c.Data) != 100 {
		t.Errorf("%d bytes at %d, dropped %d", len(c.Data), c.Start, c.Dropped)
	}
	if i := s.Info(); i.BytesIn != size || i.Dropped != c.Dropped {
		t.Errorf("info = %+v, want all bytes counted and as many dropped as the read says", i)
	}
}
