package filecopy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"sync"
	"sync/atomic"

	"ptyctl/term"
)

// A copy with Copy.Resume gathers its data in a file beside the target, which stays when the copy is interrupted. Its
// name holds a checksum of the source's machine, path, size and time of modification. So a copy of another
// file, or of the same one after a change, never goes on with it.
//
// Several writes are under way at a time, so the end of that file may have holes: the last pump.window bytes are never
// trusted. If the copy is to be verified, all others are compared with the source before it goes on, and one difference
// makes it begin at the start. Otherwise they are taken as they are.

// Parts are the names of these files that running copies of this process use: two copies must not gather in one.
type Parts struct {
	mu   sync.Mutex // guards used
	used map[string]bool
}

// take reserves the file until release is called.
func (p *Parts) take(name string) (release func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used[name] {
		return nil, &term.Error{
			Op: "copy", Kind: term.Busy, Msg: "the same copy runs already; wait for its end",
		}
	}
	if p.used == nil {
		p.used = make(map[string]bool)
	}
	p.used[name] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.used, name)
	}, nil
}

// partName returns the name of the file that gathers the data.
func (x *copying) partName(j job, e term.FileEntry) string {
	id := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %d", x.From.Machine, j.from, e.Size, e.Modified.Unix()))
	name := path.Base(j.to)
	if len(name) > maxPartName { // the whole name must fit where the target's does
		name = name[:maxPartName]
	}
	return fmt.Sprintf(".%s.%x.ptyctl-part", name, id[:4])
}

const maxPartName = 200

// resume decides how much of the data of an earlier copy is right, and returns it with its checksum; nil: no one has
// looked at it. Data that is taken as it is has none: that of the source could be another.
func (x *copying) resume(ctx context.Context, src term.FileSource, sink term.FileSink, size int64) (
	at int64, sum hash.Hash, err error,
) {
	at, sum = max(min(sink.Held(), size)-x.pump.window(), 0), sha256.New()
	switch {
	case at == 0:
	case !x.verifies(size):
		sum = nil
	default:
		check := &comparer{with: sink}
		s := stream{
			from: src, end: at, stop: true, readers: x.pump.readers, to: check, writers: x.pump.checkers, each: hashing(sum),
		}
		err = x.pump.move(ctx, &s)
		if s.finished < at || check.differs.Load() {
			at, sum = 0, sha256.New()
		}
		if errors.Is(err, errDiffers) {
			err = nil
		}
	}
	if err == nil && sink.Held() > at {
		err = sink.Truncate(at)
	}
	return at, sum, err
}

// errDiffers ends a comparison.
var errDiffers = errors.New("the two files differ")

// A comparer compares the data written to it with a file.
type comparer struct {
	with    io.ReaderAt
	differs atomic.Bool
}

// WriteAt implements io.WriterAt.
func (c *comparer) WriteAt(b []byte, off int64) (int, error) {
	is := make([]byte, len(b))
	n, err := c.with.ReadAt(is, off)
	if !bytes.Equal(is[:n], b) {
		c.differs.Store(true)
		return 0, errDiffers
	}
	if n == len(b) {
		err = nil
	}
	return n, err
}
