package session

import (
	"sync/atomic"
	"time"

	"ptyctl/term"
)

// A write is one Write on its way to the transport. It outlives the call that started it when the far side does
// not take its bytes, and keeps the session's write token until then.
type write struct {
	s     *Session
	t     term.Transport
	data  []byte
	task  string // lock holder
	epoch uint64 // the lock's epoch when the write was permitted

	stop atomic.Bool // hand over no further piece
	sent chan int    // bytes taken so far; only the newest value is kept
	done chan error  // buffered: the result
}

func (w *write) run() {
	defer func() { <-w.s.writing }()
	w.done <- w.pieces()
}

// pieces hands the data over, piece by piece, checking before each that the lock is still the one under which
// the write was permitted: a holder who lost it cannot type a late byte.
func (w *write) pieces() error {
	s := w.s
	for off := 0; off < len(w.data) && !w.stop.Load(); {
		if err := s.locks.CheckEpoch(s.id, w.task, w.epoch); err != nil {
			return s.lockError("write", err)
		}
		piece := w.data[off:min(off+writePiece, len(w.data))]
		s.setTyped()
		n, err := w.t.Write(piece)
		off += n
		s.count.tx.Add(int64(n))
		s.count.lastTx.Store(time.Now().UnixNano())
		s.idle.touch()
		select {
		case <-w.sent:
		default:
		}
		w.sent <- off
		if err != nil {
			return s.writeFailed(err)
		}
	}
	return nil
}

// setTyped remembers that the terminal's state is no longer what it was when it opened.
func (s *Session) setTyped() {
	s.mu.Lock()
	s.typed = true
	s.mu.Unlock()
}
