package record

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

// A disk is a file on a disk that may be full, or slow.
type disk struct {
	mu sync.Mutex // guards all but stuck
	bytes.Buffer
	room  int           // bytes that fit; -1: any number
	stuck chan struct{} // writes wait until it is closed
	syncs int
}

func (d *disk) Write(p []byte) (int, error) {
	if d.stuck != nil {
		<-d.stuck
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.room >= 0 && len(p) > d.room {
		n, _ := d.Buffer.Write(p[:d.room])
		d.room = 0
		return n, syscall.ENOSPC
	}
	if d.room >= 0 {
		d.room -= len(p)
	}
	return d.Buffer.Write(p)
}

func (d *disk) Truncate(n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Buffer.Truncate(int(n))
	return nil
}

func (d *disk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncs++
	return nil
}

// state returns how often the disk was synced, and how many seals are on it.
func (d *disk) state() (syncs, seals int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs, strings.Count(d.String(), "# ptyctl seal ")
}

func (d *disk) empty() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = -1
}

// fill records so many lines to w until its disk is full, and one more once there is room.
func fill(t *testing.T, d *disk, w io.Writer, lines int) {
	t.Helper()
	room := d.room
	var failed []error
	r := New(w, Options{Failed: func(err error) { failed = append(failed, err) }})
	opening(r, 80, 24)
	for i := range lines {
		r.Observe(output(fmt.Sprintf("line %d of the output\r\n", i)))
		time.Sleep(time.Second)
	}
	time.Sleep(gather)
	synctest.Wait()
	d.empty()
	time.Sleep(6 * time.Second)
	r.Observe(output("after\r\n"))
	if err := r.Close(); err != nil {
		t.Fatalf("room for %d: Close = %v", room, err)
	}
	if len(failed) != 2 || failed[0] == nil || failed[1] != nil {
		t.Errorf("room for %d: told %v, want an error, and that it is over", room, failed)
	}
}

// TestDiskFull: missing output is marked once there is room, and the picture is right again.
func TestDiskFull(t *testing.T) {
	for _, room := range []int{0, 10, 700, 1000, 1200} {
		synctest.Test(t, func(t *testing.T) {
			d := &disk{room: room}
			fill(t, d, d, 20)
			rep, err := verify("a.cast", bytes.NewReader(d.Bytes()), nil, nil)
			if err != nil || !rep.Ended {
				t.Fatalf("room for %d: Verify = %+v, %v in\n%s", room, rep, err, d.Bytes())
			}
			path := filepath.Join(t.TempDir(), "a.cast")
			if err := os.WriteFile(path, d.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := Play(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Seek(time.Hour); err != nil {
				t.Fatal(err)
			}
			text := p.Shown.Snapshot().Text()
			if !strings.Contains(text, "line 0 of") || !strings.Contains(text, "line 19 of the output\nafter\n") {
				t.Errorf("room for %d: the last picture is\n%s", room, text)
			}
			if alone := p.Terminal.Snapshot().Text(); alone != text {
				t.Errorf("room for %d: the terminal alone is\n%s\nwant\n%s", room, alone, text)
			}
			if !strings.Contains(d.String(), "bytes of the recording: it was not writable") {
				t.Errorf("room for %d: no marker in\n%s", room, d.String())
			}
			if e, err := p.Next(); err == nil {
				t.Errorf("%+v after the end", e)
			}
			_ = p.Close()
		})
	}
}

// TestSlowDisk: output that the queue has no room for is counted and marked.
func TestSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: -1, stuck: make(chan struct{})}
		r := New(d, Options{Queue: 1000})
		opening(r, 80, 24)
		r.Observe(output("first\r\n"))
		time.Sleep(gather)
		synctest.Wait()
		text := strings.Repeat("x", 98) + "\r\n"
		for range 15 {
			r.Observe(output(text))
		}
		r.Observe(term.Event{Verb: term.VerbWrite, Size: 3})
		close(d.stuck)
		time.Sleep(gather)
		synctest.Wait()
		r.Observe(output("last\r\n"))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if want := `"m", "dropped 500 bytes of output and 1 events: the disk is too slow"]`; !strings.Contains(d.String(), want) {
			t.Errorf("no %s in\n%s", want, d.String())
		}
		if r.Dropped() != 500 || !strings.Contains(d.String(), "last") {
			t.Errorf("dropped %d bytes, want 500 in\n%s", r.Dropped(), d.String())
		}
	})
}

// TestFull: beyond its limit a recording has markers, and no output.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: -1}
		r := New(d, Options{MaxBytes: 10 << 10})
		opening(r, 80, 24)
		for range 20 {
			r.Observe(output(strings.Repeat("x", 1000)))
			time.Sleep(2 * gather)
		}
		r.Observe(term.Event{Verb: term.VerbWrite, Size: 3})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if n := d.Len(); n > 12<<10 || !strings.Contains(d.String(), "write 3 bytes") ||
			!strings.Contains(d.String(), "output is left out from here on") ||
			!strings.Contains(d.String(), `"left out 9,000 bytes of output in all"`) {
			t.Errorf("%d bytes:\n%s", n, d.String())
		}
	})
}

// TestSyncs: the file is forced to disk at seals, and not more than once a second.
func TestSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: -1}
		r := New(d, Options{})
		opening(r, 80, 24)
		for range 100 {
			r.Observe(output(strings.Repeat("x", 64<<10)))
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if syncs, seals := d.state(); syncs > 2 || seals < 20 {
			t.Errorf("%d seals and %d syncs within a second", seals, syncs)
		}
		time.Sleep(2 * sealEvery) // so that the last seal is there
		synctest.Wait()
		n, _ := d.state()
		time.Sleep(time.Hour)
		synctest.Wait()
		if all, _ := d.state(); all != n || n > 3 {
			t.Errorf("%d syncs, and %d without any output", n, all-n)
		}
		_ = r.Close()
	})
}

// TestQueue: events come out of a queue with their data as they were put in, whatever their sizes, and the memory for
// them is given back.
func TestQueue(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1, 2})
	r := rand.New(random)
	q := newQueue(1 << 30)
	var put, got []item
	var in, out []byte
	for range 200 {
		for range r.IntN(60) {
			data := make([]byte, []int{0, 1, 10, 4095, 4096, 4097, 16 << 10, chunkBytes, chunkBytes + 1}[r.IntN(9)])
			_, _ = random.Read(data) // never fails
			it := item{time.Duration(len(put)), nil, len(data)}
			if r.IntN(3) == 0 {
				it.event = &term.Event{Verb: term.VerbExecOutput}
			}
			q.put(it.at, it.event, data)
			clear(data[:len(data)/2]) // the caller uses it for something else
			put, in = append(put, it), append(in, data[len(data)/2:]...)
		}
		b, missed := q.take()
		b.each(func(it item, data []byte) {
			if len(data) != it.data {
				t.Fatalf("event %d has %d bytes, and comes with %d", it.at, it.data, len(data))
			}
			got, out = append(got, it), append(out, data[len(data)/2:]...)
		})
		for i, p := range b.parts {
			if p != nil {
				t.Fatalf("part %d of %d was not given back", i, len(b.parts))
			}
		}
		if missed.any() {
			t.Fatalf("%+v lost", missed)
		}
		if q.shed(); cap(q.spare.small)+cap(q.batch.small) > 2*smallBytes || cap(q.spare.items) > keptItems {
			t.Fatalf("an idle queue keeps %d and %d bytes and %d events", cap(q.spare.small), cap(q.batch.small), cap(q.spare.items))
		}
	}
	if len(got) != len(put) || !bytes.Equal(out, in) {
		t.Fatalf("%d events with %d bytes came out, want %d with %d", len(got), len(out), len(put), len(in))
	}
	for i := range put {
		if got[i] != put[i] {
			t.Fatalf("event %d came out as %+v, want %+v", i, got[i], put[i])
		}
	}
}
