package filecopy

import (
	"context"
	"errors"
	"io"
	"sync"

	"ptyctl/term"
)

// A pump moves the bytes of one file after the other, in blocks. It holds the only memory of a copy that grows with its
// speed: a buffer for each block under way.
type pump struct {
	size             int
	readers, writers int // blocks under way
	checkers         int // blocks read back at a time

	made int
	free chan []byte // buffers not in use
}

// newPump returns a pump between two machines.
func newPump(from, to term.CopyFiles) *pump {
	size, readers := from.Requests()
	most, writers := to.Requests()
	p := &pump{size: min(size, most), readers: readers, writers: writers, checkers: writers}
	p.free = make(chan []byte, p.buffers())
	return p
}

// buffers returns the largest number of buffers.
func (p *pump) buffers() int { return p.readers + p.writers }

// window returns how many of the last bytes of a file that was interrupted may be missing, although later ones are
// there.
func (p *pump) window() int64 { return int64(p.size) * int64(p.buffers()) }

// A stream is one file, or a part of it, that is moved.
type stream struct {
	from     io.ReaderAt
	at, end  int64 // from at to the end of the file, which is expected at end
	stop     bool  // end at end, even if the file has more
	readers  int
	to       io.WriterAt // nil: the bytes go only to each
	writers  int
	each     func(b []byte) error // takes the bytes in order
	finished int64                // where it ended
}

// A block is a part of a file.
type block struct {
	at    int64
	buf   []byte
	n     int
	err   error
	ready chan struct{} // closed when the others are set
}

// move moves a stream. All its goroutines have ended when it returns.
func (p *pump) move(ctx context.Context, s *stream) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var reading, writing sync.WaitGroup
	blocks := make(chan *block, s.readers)
	reading.Go(func() {
		defer close(blocks)
		p.read(ctx, &reading, s, blocks)
	})
	s.finished = s.at
	// In order: no write begins before the one that is s.writers before it has ended, so that whatever fails, the
	// missing data lies in the last of them.
	pending := make(chan chan struct{}, max(s.writers, 1))
	for b := range blocks {
		var over bool
		if over, err = s.take(b); err != nil || b.n == 0 || s.to == nil {
			p.free <- b.buf
		} else {
			if len(pending) == cap(pending) {
				<-<-pending // a write ends soon after ctx, so that nothing else need end this
			}
			done := make(chan struct{})
			pending <- done
			writing.Go(func() {
				defer close(done)
				if _, err := s.to.WriteAt(b.buf[:b.n], b.at); err != nil {
					cancel(err)
				}
				p.free <- b.buf
			})
		}
		if err != nil || over || ctx.Err() != nil {
			break
		}
	}
	writing.Wait()
	if cause := context.Cause(ctx); err == nil {
		err = cause
	}
	cancel(nil)
	for b := range blocks { // read ahead, and not needed
		<-b.ready
		p.free <- b.buf
	}
	reading.Wait()
	return err
}

// take takes the next block that was read. It reports whether it is the last one.
func (s *stream) take(b *block) (over bool, err error) {
	<-b.ready
	if s.stop && b.at+int64(b.n) >= s.end {
		b.n, over = int(s.end-b.at), true
	}
	if b.n > 0 {
		if err := s.each(b.buf[:b.n]); err != nil {
			return true, err
		}
		s.finished = b.at + int64(b.n)
	}
	switch {
	case over:
		return true, nil
	case errors.Is(b.err, io.EOF):
		return true, nil
	}
	return b.err != nil, b.err
}

// read has the blocks read, several at a time as long as the file is expected to go on.
func (p *pump) read(ctx context.Context, group *sync.WaitGroup, s *stream, blocks chan<- *block) {
	for at := s.at; !s.stop || at < s.end; at += int64(p.size) {
		buf := p.take(ctx)
		if buf == nil {
			return
		}
		b := &block{at: at, buf: buf, ready: make(chan struct{})}
		group.Go(func() {
			defer close(b.ready)
			b.n, b.err = s.from.ReadAt(b.buf, b.at)
		})
		select {
		case blocks <- b:
		case <-ctx.Done():
			<-b.ready
			p.free <- b.buf
			return
		}
		if at+int64(p.size) < s.end {
			continue
		}
		// The end is unknown from here on, so the next block waits for the result of this one.
		<-b.ready
		if b.err != nil {
			return
		}
	}
}

// take returns a buffer; nil: ctx has ended.
func (p *pump) take(ctx context.Context) []byte {
	if ctx.Err() != nil {
		return nil
	}
	select {
	case b := <-p.free:
		return b
	default:
	}
	if p.made < p.buffers() {
		p.made++
		return make([]byte, p.size)
	}
	select {
	case b := <-p.free:
		return b
	case <-ctx.Done():
		return nil
	}
}
