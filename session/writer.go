package session

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/internal/inorder"
	"ptyctl/session/access"
	"ptyctl/session/keys"
	"ptyctl/session/prompt"
	"ptyctl/session/redact"
	"ptyctl/term"
)

// writePiece is how much goes to the transport at a time. It bounds the bytes in doubt when a write is stuck.
const writePiece = 4 << 10

// A writer types into a session's terminal, one write at a time.
//
// Commands of the terminal lane type by the same token. A takeover waits for it, and so until the loser's last piece
// is out.
type writer struct {
	s      *Session
	queue  inorder.FIFO         // of the callers who wait for the token, or for the end of a turn, until they begin to type
	coming atomic.Int32         // of them, those with an input
	token  chan struct{}        // holds one token: its owner may write to the transport
	turn   atomic.Pointer[turn] // of a caller who types several inputs; nil: none does
	line   keys.Line            // that is being typed
}

// A permit says under which conditions data goes out.
type permit struct {
	epoch   uint64              // of the lock when it was permitted
	timeout time.Duration       // 0: the session's
	turn    time.Duration       // for the end of another caller's turn; 0: timeout
	echo    *redact.Expectation // is notified when the data goes out; nil: the data is no secret
	whole   bool                // once it has begun, a caller who gives up does not stop it
	secret  func() error        // of a secret by name: says, just before it goes out, why it must not
}

// send hands permitted data to the transport, when its turn comes.
func (out *writer) send(ctx context.Context, data []byte, p permit) (WriteResult, error) {
	s := out.s
	const op = "write"
	res := WriteResult{Cursor: s.End()}
	p.timeout = cmp.Or(p.timeout, s.o.WriteTimeout)
	deadline := time.NewTimer(p.timeout)
	defer deadline.Stop()
	at, ok, err := out.takeToken(ctx, deadline, p)
	switch {
	case err != nil:
		return res, err
	case !ok:
		res.TimedOut = true
		return res, nil
	}
	res.Cursor = s.End()
	w := &write{
		s:     s,
		t:     s.link.Load(),
		data:  bytes.Clone(data),
		by:    access.HolderOf(term.ActorFrom(ctx)),
		epoch: p.epoch,
		echo:  p.echo,
		ready: p.secret,
		place: at,
		done:  make(chan error, 1),
	}
	// The Write of a transport cannot be canceled. In a goroutine of its own it may outlast this call, and it keeps
	// the token until it is over.
	if !s.group.spawn(op, w.run) {
		w.place.leave()
		<-s.writer.token
		return res, s.life.endedError(op)
	}
	if p.whole {
		ctx = context.WithoutCancel(ctx)
	}
	return res, s.writer.awaitWrite(ctx, w, deadline, &res)
}

// takeToken waits for the token, first come first served, and for the end of another caller's turn, for which p.turn is
// the limit. It reports false when late is ready first. The time of the write begins again after another's turn. With the
// token the caller has its place in the queue still, unless it has a turn, and must leave it.
func (out *writer) takeToken(ctx context.Context, late *time.Timer, p permit) (at *queued, ok bool, err error) {
	var first <-chan struct{}
	if ctx.Value(turnKey{}) == nil { // else the others wait for the end of this caller's turn
		mine := out.join()
		defer func() {
			if !ok {
				mine.leave()
			}
		}()
		at = mine
		inorder.Pass(ctx)
		first = at.First()
	}
	for {
		token := out.token
		if first != nil {
			token = nil
		}
		select {
		case <-first:
			first = nil
			continue
		// A token and no mutex: a write that waits for it must be able to give up.
		case token <- struct{}{}:
			// A turn that has begun meanwhile comes first.
			if out.inTheWay(ctx) == nil {
				return at, true, nil
			}
			<-out.token
		case <-late.C:
			if out.inTheWay(ctx) == nil {
				return nil, false, nil
			}
		case <-ctx.Done():
			return nil, false, out.notWritten(ctx)
		case <-out.s.life.ctx.Done():
			return nil, false, out.s.life.endedError("write")
		}
		if err := out.awaitTurn(ctx, cmp.Or(p.turn, p.timeout)); err != nil {
			return nil, false, err
		}
		late.Reset(p.timeout)
	}
}

// behind waits until the inputs that others wait to type have begun to go out, or ctx ends.
func (out *writer) behind(ctx context.Context) {
	w := out.queue.Join()
	defer w.Leave()
	select {
	case <-w.First():
	case <-ctx.Done():
	case <-out.s.life.ctx.Done():
	}
}

// typed reports whether a caller has typed into the terminal, or is about to. Later calls need not wait for one that
// waits to type, and must not find the terminal as it was before.
func (out *writer) typed() bool {
	if out.coming.Load() > 0 { // in the order in which an input passes these
		return true
	}
	if t := out.turn.Load(); t != nil && t.left.Load() > 0 {
		return true
	}
	return out.s.prompts.Typed()
}

// A queued is the place of a caller with an input in the queue.
type queued struct {
	out *writer
	*inorder.Waiter
}

func (out *writer) join() *queued {
	out.coming.Add(1)
	return &queued{out, out.queue.Join()}
}

// leave lets the next one go on. It has no effect without a place, or for the second time.
func (p *queued) leave() {
	if p != nil && p.Waiter != nil {
		p.Leave()
		p.Waiter = nil
		p.out.coming.Add(-1)
	}
}

// notWritten is the error of a write that was canceled in time.
func (out *writer) notWritten(ctx context.Context) error {
	return &term.Error{
		Op:      "write",
		Session: out.s.id,
		Kind:    term.Canceled,
		Msg:     "canceled before anything was written",
		Err:     ctx.Err(),
	}
}

// lastPiece is how long a canceled write waits for the piece that is on its way, to say how much was written.
const lastPiece = 100 * time.Millisecond

// awaitWrite waits for the end of w, its deadline, its caller's or the session's, and fills in res.
func (out *writer) awaitWrite(ctx context.Context, w *write, deadline *time.Timer, res *WriteResult) (err error) {
	s := out.s
	canceled := false
	select {
	case err = <-w.done:
	case <-deadline.C:
		res.TimedOut = true
	case <-ctx.Done():
		canceled = true
		_, _ = w.halt()
		select { // the transport may have taken the piece already: the far side can be faster than its Write
		case err = <-w.done:
		case <-time.After(lastPiece):
		}
	case <-s.life.ctx.Done(): // the transport is being closed, which wakes its Write: the bytes it took still count
		select {
		case err = <-w.done:
		case <-time.After(forcedClose):
		}
	}
	res.Written, res.Pending = w.halt()
	switch total := len(w.data); {
	case err == nil && res.Written == total:
		res.TimedOut = false
	case errors.Is(err, term.Internal): // why the session ends says no more
	case s.life.ctx.Err() != nil:
		res.TimedOut = false
		return s.life.endedError("write")
	case canceled:
		return &term.Error{
			Op:      "write",
			Session: s.id,
			Kind:    term.Canceled,
			Msg:     fmt.Sprintf("canceled after %d of %d bytes", res.Written, total),
			Err:     ctx.Err(),
		}
	}
	return err
}

// A write is one Write on its way to the transport. It outlives the call that started it when the far side does
// not take its bytes, and keeps the session's write token until then.
type write struct {
	s     *Session
	t     *link
	data  []byte              // its own copy
	by    Holder              // for whom it is
	epoch uint64              // the lock's epoch when the write was permitted
	echo  *redact.Expectation // nil: the data is no secret, or nothing of it can be echoed
	ready func() error        // see permit.secret
	place *queued             // in the queue, until the first piece goes out; nil: none
	done  chan error          // buffered: the result

	mu      sync.Mutex // guards the following
	handed  int        // bytes handed to the transport
	taken   int        // bytes it has taken of them
	stopped bool       // no further piece may be handed over
}

// run writes the data and reports the result on done. It sets err before it starts, so that a panic in the transport
// is reported as Internal. The data is wiped if it is secret, and the token is given back last.
func (w *write) run() {
	defer func() { <-w.s.writer.token }()
	var err error = sessionError("write", w.s.id, term.Internal,
		"a fault in ptyctl ended this session in the middle of a write; open a new one, and report the log")
	defer func() {
		w.place.leave()
		if w.echo != nil || w.ready != nil {
			clear(w.data)
		}
		w.echo.Sent()
		w.done <- err
	}()
	if w.ready != nil {
		if err = w.ready(); err != nil {
			return
		}
	}
	w.echo.Sending()
	err = w.pieces()
}

// pieces hands the data over, piece by piece, checking before each that the lock is still the one under which
// the write was permitted: a holder who lost it cannot type a late byte.
func (w *write) pieces() error {
	s := w.s
	for {
		if err := s.lock.StillHeld("write", w.by, w.epoch); err != nil {
			return err
		}
		piece := w.next()
		if len(piece) == 0 {
			return nil
		}
		// Before the piece goes out: the answer may come at once, and is judged by the typed text.
		s.writer.setTyped(piece)
		s.redact.Typed(piece)
		s.lane.Input(piece)
		w.place.leave()
		n, err := w.t.Write(piece)
		w.took(n)
		if w.ready != nil {
			n = min(n, 1) // its length stays unknown
		}
		s.writer.countTyped(w.by, n)
		s.timeouts.touch()
		if err != nil {
			return s.writer.writeFailed(err)
		}
		if w.complete() { // under a lock that its holder may have lost since: there is no late byte
			return nil
		}
	}
}

// next returns the piece to hand over now; none when all are out, or the write is stopped.
func (w *write) next() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return nil
	}
	piece := w.data[w.taken:]
	if len(piece) > writePiece {
		n := writePiece
		if d := w.t.divider; d != nil {
			n = d.Divide(piece, n)
		}
		piece = piece[:n]
	}
	w.handed = w.taken + len(piece)
	return piece
}

// complete reports whether the transport has taken all bytes.
func (w *write) complete() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.taken == len(w.data)
}

// took counts the bytes of the last piece that the transport has taken. It will not send the rest by itself.
func (w *write) took(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken += n
	w.handed = w.taken
}

// halt lets no further piece go out. It returns how many bytes did, and how many the transport still has in hand.
func (w *write) halt() (written, pending int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	return w.taken, w.handed - w.taken
}

// setTyped remembers the last line before p is typed: the terminal is about to change.
func (out *writer) setTyped(p []byte) {
	s := out.s
	s.prompts.Touch(prompt.Input{
		Line: s.lane.LastLine(), End: s.End(), AltScreen: s.window.modes().AltScreen,
		Prompts: s.window.marks().Prompts, Text: p,
	})
}

// countTyped counts bytes that went out for by.
func (out *writer) countTyped(by Holder, n int) {
	out.s.count.tx.Add(int64(n))
	out.s.count.lastTx.Store(time.Now().UnixNano())
	out.s.lock.Typed(by, n)
}

// writeFailed classifies an error of the transport.
func (out *writer) writeFailed(err error) error {
	s := out.s
	// Output may still be waiting to be read, so this is not the end of the session; the pump sees that.
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return &term.Error{
			Op:      "write",
			Session: s.id,
			Kind:    term.RemoteClosed,
			Msg:     "the far side takes no more input; read the rest of its output, then open a new session",
			Err:     err,
		}
	}
	return s.life.transportError("write", err)
}

// withWritten adds to the error of a write how much of it went out before.
func withWritten(err error, n int) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return err
	}
	partial := *e
	partial.Facts = e.Facts.With(term.PartialWrite{Written: n})
	return &partial
}
