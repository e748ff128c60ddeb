package groups

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"sync"

	"ptyctl/fleet/mask"
)

// Bounds of the replacements: a stream is masked up to here, so that an endless one costs little, and a longer line is
// masked in parts.
const (
	maxMasked = 1 << 20
	maxLine   = 8 << 10
)

// A digest identifies all bytes of a stream.
type digest struct {
	sum   [sha256.Size]byte
	bytes int64
}

// An output is the kept part of a stream that has ended.
type output struct {
	digest
	lines int64
	head  []byte // all, if tail is nil
	tail  []byte
}

// A stream takes the bytes of one stream of one host. It is a writer.
type stream struct {
	keep int

	mu     sync.Mutex
	closed bool
	mask   *mask.Mask // nil: the bytes are taken as they are
	masked int        // bytes that were masked
	line   []byte     // the begin of a line that is not complete
	sum    hash.Hash  // nil: no byte has arrived
	output
	cut bool // tail was cut
}

func newStream(keep int, m *mask.Mask) *stream { return &stream{keep: keep, mask: m} }

// Write takes all bytes. Its error is nil.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return len(p), nil
	}
	if s.mask == nil || s.masked > maxMasked {
		s.flush()
		s.take(p)
		return len(p), nil
	}
	for rest := p; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 {
			n = len(rest)
		}
		n = min(n, maxLine-len(s.line))
		s.line = append(s.line, rest[:n]...)
		if rest = rest[n:]; s.line[len(s.line)-1] == '\n' || len(s.line) == maxLine {
			s.flush()
		}
	}
	return len(p), nil
}

// flush takes the line with its replacements.
func (s *stream) flush() {
	if len(s.line) == 0 {
		return
	}
	s.masked += len(s.line)
	text := bytes.TrimRight(s.line, "\r\n")
	end := s.line[len(text):]
	s.take(s.mask.Line(text))
	s.take(end)
	s.line = s.line[:0]
}

// take counts bytes and keeps those of the begin and of the end.
func (s *stream) take(p []byte) {
	if len(p) == 0 {
		return
	}
	if s.sum == nil {
		s.sum = sha256.New()
	}
	s.sum.Write(p) // a hash returns no error
	s.bytes += int64(len(p))
	s.lines += int64(bytes.Count(p, []byte{'\n'}))
	if n := min(len(p), s.keep-len(s.head)); n > 0 {
		s.head = append(s.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > s.keep {
		p, s.cut = p[len(p)-s.keep:], true
	}
	if len(s.tail)+len(p) > 2*s.keep {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-s.keep:]...)
		s.cut = true
	}
	s.tail = append(s.tail, p...)
}

// close reports whether the stream was open, and ends it.
func (s *stream) close() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := !s.closed
	s.closed = true
	return was
}

// finish returns the kept part of a closed stream. If bytes were dropped, the tail begins with a whole line if it has
// one.
func (s *stream) finish() output {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	o := s.output
	if s.sum != nil {
		s.sum.Sum(o.sum[:0])
	}
	if over := len(o.tail) - s.keep; over > 0 {
		o.tail, s.cut = o.tail[over:], true
	}
	if !s.cut {
		o.head, o.tail = append(o.head, o.tail...), nil
		return o
	}
	if i := bytes.IndexByte(o.tail, '\n'); i >= 0 && i+1 < len(o.tail) {
		o.tail = o.tail[i+1:]
	}
	o.tail = bytes.Clone(o.tail) // of exactly this size, as it is kept
	if i := bytes.LastIndexByte(o.head, '\n'); i >= 0 {
		o.head = o.head[:i+1]
	}
	return o
}
