package fleet

import (
	"crypto/sha256"
	"hash"
	"sync"
)

// A Stream is one output stream of a command on a host: its start and its end, at most half of the limit each, and the
// SHA-256 of all of it. Its methods may be called by any number of goroutines.
type Stream struct {
	mu    sync.Mutex // guards the following
	half  int        // most bytes of head, and of tail
	head  []byte
	tail  []byte // the last bytes, at most twice half
	total int64
	sum   hash.Hash // nil: nothing was dropped so far
	done  bool
}

func newStream(limit int) *Stream { return &Stream{half: max(limit/2, 1)} }

// Write never fails and waits for no reader.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	if s.sum != nil {
		s.sum.Write(p)
	}
	s.total += int64(n)
	if room := s.half - len(s.head); room > 0 {
		k := min(room, len(p))
		s.head = append(s.head, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := min(len(p), 2*s.half-len(s.tail))
		s.tail = append(s.tail, p[:k]...)
		p = p[k:]
		if len(s.tail) == 2*s.half {
			if s.sum == nil { // the first bytes are about to be dropped
				s.sum = sha256.New()
				s.sum.Write(s.head)
				s.sum.Write(s.tail)
				s.sum.Write(p)
			}
			s.tail = append(s.tail[:0], s.tail[s.half:]...)
		}
	}
	return n, nil
}

// close says that nothing follows.
func (s *Stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
}

// Total returns the number of bytes that the command has written.
func (s *Stream) Total() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// held returns the bytes of memory that it takes.
func (s *Stream) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cap(s.head) + cap(s.tail)
}

// SHA256 returns the hash of all that was written.
func (s *Stream) SHA256() (sum [sha256.Size]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sum != nil {
		s.sum.Sum(sum[:0])
		return sum
	}
	h := sha256.New()
	h.Write(s.head)
	h.Write(s.tail)
	h.Sum(sum[:0])
	return sum
}

// A Part is a piece of a stream.
type Part struct {
	Data    []byte
	Start   int64 // offset of Data[0]
	Total   int64
	Dropped int64 // bytes between the offset that was asked for and Start, which are not kept
	EOF     bool  // nothing follows, now or later
}

// Next returns the offset after the part.
func (p Part) Next() int64 { return p.Start + int64(len(p.Data)) }

// From returns at most limit bytes from an offset on. Bytes that are not kept are left out, and counted.
func (s *Stream) From(offset int64, limit int) Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	offset = min(max(offset, 0), s.total)
	p := Part{Start: offset, Total: s.total}
	if offset < int64(len(s.head)) {
		p.Data = append(p.Data, s.head[offset:min(offset+int64(limit), int64(len(s.head)))]...)
		p.EOF = s.done && p.Next() == s.total
		if begins := s.total - int64(len(s.tail)); begins > int64(len(s.head)) || p.Next() < int64(len(s.head)) {
			return p // the part ends where something is missing, or with its limit
		}
	}
	begins := s.total - int64(len(s.tail))
	if at := p.Next(); at < begins {
		p.Dropped, p.Start = begins-at, begins
	}
	if from := p.Next() - begins; from < int64(len(s.tail)) {
		p.Data = append(p.Data, s.tail[from:min(from+int64(limit-len(p.Data)), int64(len(s.tail)))]...)
	}
	p.EOF = s.done && p.Next() == s.total
	return p
}
