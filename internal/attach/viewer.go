package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"ptyctl/internal/tty"
)

// leaveKey detaches: ctrl-], as in telnet(1). All other keys of a typist go to the session.
const leaveKey = 0x1d

// The keys of a watcher, who types nothing. They do the same as a terminal outside raw mode does by itself.
const (
	holdKey = 0x13 // ctrl-s
	goOnKey = 0x11 // ctrl-q
)

// errDetached ends a view that the person has left.
var errDetached = errors.New("detached")

// A viewer shows a session to a person, and sends the person's keys if the session's terminal is theirs.
type viewer struct {
	follower
	view

	notice     string  // shown first; empty: nothing
	cols, rows int     // of the session's terminal; 0: not known, or it has none
	typist     *typist // nil: the person only watches
	pane       *pane   // nil: the terminal is not a tmux window of a bridge
	ended      bool    // run has seen the session's end

	mu     sync.Mutex              // guards the following
	held   chan struct{}           // not nil: nothing is shown until it is closed
	wakeUp context.CancelCauseFunc // ends the read that waits
	stale  bool                    // the frame must be drawn again
}

// run shows the session until it ends, the person leaves or closes the terminal, or ctx ends.
func (v *viewer) run(ctx context.Context) error {
	ctx, noHangUp := tty.UntilHangUp(ctx)
	defer noHangUp()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	restore, err := tty.RawMode(os.Stdin)
	if err != nil {
		return err
	}
	defer restore()
	changed, noMore := tty.Resized()
	defer noMore()
	typed := tty.Keys(os.Stdin, ctx.Done())

	var showing error
	shown := make(chan struct{}) // closed when showing is set
	go func() {
		defer close(shown)
		err := v.show(ctx)
		showing = errors.Join(err, v.end())
	}()
	var typing sync.WaitGroup
	if v.typist != nil {
		typing.Go(func() { stop(v.typist.run(ctx)) })
	}
	defer typing.Wait()
	if v.pane != nil {
		typing.Go(func() { stop(v.pane.follow(ctx, v.Attachment)) })
	}
	for {
		select {
		case p, more := <-typed:
			if !more {
				typed = nil
				continue
			}
			if err := v.press(p); err != nil {
				stop(err)
			}
		case <-changed:
			if v.typist != nil && v.pane == nil { // the program there draws again when its size changes
				v.typist.fit()
			} else {
				v.wake()
			}
		case <-shown:
			if ctx.Err() != nil { // the view was stopped, which the other case tells
				continue
			}
			stop(showing)
			restore()
			if showing == nil {
				v.ended = true
				v.say("session " + tty.Printable(v.ID) + " has ended")
			}
			return showing
		case <-ctx.Done():
			select {
			case <-shown:
			case <-time.After(goodbye): // the terminal takes no output
			}
			restore()
			switch err := context.Cause(ctx); {
			case errors.Is(err, errDetached):
				v.say("detached from " + tty.Printable(v.ID))
				return nil
			case errors.Is(err, context.Canceled): // a signal
				return nil
			default:
				return err
			}
		}
	}
}

// goodbye is how long Run waits for a terminal that takes no output.
const goodbye = time.Second

// say shows the person a notice below the output of the session.
func (v *viewer) say(text string) { fmt.Fprintf(os.Stderr, "[ptyctl: %s]\n", text) }

// press handles keys.
func (v *viewer) press(p []byte) error {
	if v.pane != nil && v.typist == nil { // several people watch it: one must not delay it or end it for the others
		return nil
	}
	before, _, leave := bytes.Cut(p, []byte{leaveKey})
	if v.typist != nil {
		v.typist.press(before)
	} else if i := bytes.LastIndexAny(before, string([]byte{holdKey, goOnKey})); i >= 0 {
		v.hold(before[i] == holdKey)
	}
	if leave {
		return errDetached
	}
	return nil
}

// hold stops showing new output, or continues.
func (v *viewer) hold(on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case on && v.held == nil:
		v.held = make(chan struct{})
	case !on && v.held != nil:
		close(v.held)
		v.held = nil
	}
}

// errResized ends a read because the frame must be drawn again.
var errResized = errors.New("the terminal has another size")

// wake has the frame drawn again.
func (v *viewer) wake() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stale = true
	if v.wakeUp != nil {
		v.wakeUp(errResized)
	}
}

// ready waits while the output is held, and returns a context for the next read.
func (v *viewer) ready(ctx context.Context) context.Context {
	v.mu.Lock()
	held := v.held
	v.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.wakeUp != nil {
		v.wakeUp(nil)
	}
	v.wakeUp = cancel
	if v.stale { // since before this read, when none was there to end
		cancel(errResized)
	}
	return ctx
}
