package record

import (
	"io"
	"time"
)

// A sink is the file of a recording, with its chain of seals.
type sink struct {
	w     io.Writer
	parts *encrypted // that w writes into; nil: it is not encrypted
	r     *Recorder

	chain *chain
	size  int64         // written
	last  time.Duration // of the last event in it
	safe  time.Duration // last at the last seal

	opened time.Duration // when the part began that no seal closes
	synced time.Duration
	dirty  bool // something is not forced to disk

	err    error         // of the last write; nil once a write succeeds
	broken bool          // there is half a line in the file, so nothing can follow
	retry  time.Duration // when to write again after an error
	missed int64         // bytes not written since then

	syncErr error
}

// A parter writes only up to the last seal. Nil: it writes all at once.
type parter interface{ inParts() *encrypted }

func (s *sink) init(w io.Writer, r *Recorder) {
	s.w, s.r, s.chain = w, r, newChain()
	if p, ok := w.(parter); ok {
		s.parts = p.inParts()
	}
}

// due returns when something must be done, though nothing comes.
func (s *sink) due(now time.Duration) time.Duration {
	switch {
	case s.broken:
	case s.err != nil:
		return s.retry
	case s.chain.open > 0:
		return s.opened + sealEvery
	case s.dirty:
		return s.synced + syncEvery
	}
	return now + time.Hour
}

// writable reports whether a write is worth a try.
func (s *sink) writable(now time.Duration) bool { return !s.broken && (s.err == nil || now >= s.retry) }

// write writes whole lines; last is the time of the last event in them. It reports whether they are written.
func (s *sink) write(lines []byte, last, now time.Duration) bool {
	if !s.writable(now) || !s.put(lines, now) {
		s.missed += int64(len(lines))
		return false
	}
	if s.chain.open == 0 {
		s.opened = now
	}
	s.chain.add(lines)
	s.last = last
	if s.parts != nil && s.err != nil { // whether there is room shows at a seal
		return s.close(now, false)
	}
	return true
}

// put writes p whole, or not at all.
func (s *sink) put(p []byte, now time.Duration) bool {
	n, err := s.w.Write(p)
	if err == nil {
		s.size += int64(n)
		s.r.written.Store(s.size)
		s.dirty = true
		if s.parts == nil {
			s.works()
		}
		return true
	}
	if n > 0 {
		t, ok := s.w.(interface{ Truncate(size int64) error })
		s.broken = !ok || t.Truncate(s.size) != nil
	}
	s.failed(err, now)
	return false
}

// works notes that writing does, maybe again.
func (s *sink) works() {
	if s.err != nil {
		s.err = nil
		s.fail(nil)
	}
}

// failed notes that writing does not.
func (s *sink) failed(err error, now time.Duration) {
	first := s.err == nil
	s.err, s.retry = err, now+sealEvery
	if first {
		s.fail(err)
	}
}

// flush writes a part that a seal has closed. If it fails, nothing after the seal before is in the recording.
func (s *sink) flush(now time.Duration) bool {
	if s.parts == nil {
		return true
	}
	broken, err := s.parts.flush()
	if err == nil {
		s.works()
		return true
	}
	s.broken = s.broken || broken
	s.missed += s.chain.open
	s.size, s.last = s.chain.undo(), s.safe
	s.r.written.Store(s.size)
	s.failed(err, now)
	return false
}

// fail reports that writing fails or works again.
func (s *sink) fail(err error) {
	if err != nil {
		s.r.o.Logger.Error("recording not writable", "session", s.r.o.Session, "error", err)
	} else {
		s.r.o.Logger.Warn("recording writable again", "session", s.r.o.Session)
	}
	if s.r.o.Failed != nil {
		s.r.o.Failed(err)
	}
}

// most is how large a part becomes. Each encrypted one costs an agreement of keys.
func (s *sink) most() int64 {
	if s.parts != nil {
		return 2 * sealBytes
	}
	return sealBytes
}

// seal closes the part that is open, if it is large or old enough, or at the end.
func (s *sink) seal(now time.Duration, end bool) {
	switch {
	case s.broken || s.err != nil:
		return
	case end || s.chain.open >= s.most() || s.chain.open > 0 && now >= s.opened+sealEvery:
	case s.chain.open == 0: // the last seals came too fast to force each of them to disk
		s.sync(now, false)
		return
	default:
		return
	}
	s.close(now, end)
}

// close closes the part that is open, and reports whether that is written.
func (s *sink) close(now time.Duration, end bool) bool {
	seal, line := s.chain.next(end)
	if !s.put(line, now) || !s.flush(now) {
		return false
	}
	s.chain.close(seal)
	s.safe = s.last
	s.sync(now, end)
	if s.r.o.Sealed != nil {
		s.r.o.Sealed(seal)
	}
	return true
}

// sync forces the file to disk, at most once a second unless it must be.
func (s *sink) sync(now time.Duration, must bool) {
	if !s.dirty || !must && s.synced > 0 && now < s.synced+syncEvery {
		return
	}
	s.dirty, s.synced = false, max(now, 1)
	f, ok := s.w.(interface{ Sync() error })
	if !ok {
		return
	}
	err := f.Sync()
	if err != nil && s.syncErr == nil {
		s.fail(err)
	}
	s.syncErr = err
}

// readable returns w as one that can be read, too; nil if it cannot.
func readable(w io.Writer) io.ReaderAt {
	f, ok := w.(io.ReaderAt)
	if !ok {
		return nil
	}
	var probe [1]byte
	if _, err := f.ReadAt(probe[:], 0); err != nil {
		return nil
	}
	return f
}
