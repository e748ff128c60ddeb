package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"ptyctl/vt"
)

// leaveKey detaches: ctrl-], as in telnet(1). Nothing else is for us; all other keys are the session's, or nobody's.
const leaveKey = 0x1d

// Keys of a watcher, who types nothing: they do for his own terminal what it would do itself if it read the keys.
const (
	holdKey = 0x13 // ctrl-s
	goOnKey = 0x11 // ctrl-q
)

// errDetached is why attach ends when its user wants so.
var errDetached = errors.New("detached")

func attachCommand() *cli.Command {
	return &cli.Command{
		Name: "attach", Usage: "watch a session as it happens; ctrl-] leaves",
		ArgsUsage: "ID",
		Flags: append(
			reachFlags(),
			&cli.BoolFlag{
				Name:  "take",
				Usage: "take the terminal from the agent and type into it, until ctrl-] gives it back (control_mode readwrite)",
			},
			&cli.BoolFlag{Name: "raw", Usage: "show the bytes as they are: they may do anything to your terminal"},
			&cli.BoolFlag{
				Name:  "pane",
				Usage: "in the window that ptyctl bridge tmux makes: give it the size of the session's terminal, and show all that is held",
			},
		),
		Action: withSession(runAttach),
	}
}

func runAttach(c *cli.Context, e sessionEntry) (err error) {
	s := &seat{on: e.on.Client, id: e.SessionID}
	w := newWatch(c, s)
	if c.Bool("pane") {
		if w.pane, err = paneHere(); err != nil {
			return err
		}
		defer func() { w.pane.leave(err != nil) }()
		if c.Bool("raw") {
			return usageError{errors.New("--raw and --pane exclude each other")}
		}
		ctx, stop := signal.NotifyContext(c.Context, syscall.SIGHUP) // tmux takes the window away
		defer stop()
		c.Context = ctx
	}
	if !c.Bool("take") {
		var now statusResult
		if err := s.on.Call(c.Context, toolSession, sessionCall{Action: "status", SessionID: s.id}, &now); err != nil {
			return err
		}
		w.cols, w.rows = now.Session.Cols, now.Session.Rows
		w.notice = "watching " + e.name() + "; ctrl-] leaves"
		if now.Prompt != nil {
			w.notice += "; it asks something: ptyctl answer " + printable(s.id)
		}
		return w.run(c.Context)
	}
	if !isTerminal(os.Stdin) {
		return usageError{
			errors.New("--take is for a person who types, and stdin is no terminal; a program uses ptyctl call"),
		}
	}
	if err := login(c.Context, s, personAt(c)); err != nil {
		return err
	}
	previous, err := s.take(c.Context)
	if err != nil {
		return err
	}
	w.notice = "you have taken " + e.name() + previous + "; ctrl-] gives it back"
	w.typist = newTypist(s)
	w.typist.resized = w.pane == nil // a pane takes the session's size, not the other way
	err = w.run(c.Context)
	return errors.Join(err, s.giveBack())
}

// name says which session it is.
func (e *sessionEntry) name() string {
	return printable(e.SessionID + " (" + e.Protocol + " " + e.Host + ")")
}

// newWatch makes the view of a session.
func newWatch(c *cli.Context, s *seat) *watch {
	w := &watch{follower: follower{on: s.on, id: s.id}, view: view{out: c.App.Writer}}
	if !c.Bool("raw") {
		w.filter = &vt.Filter{Input: c.Bool("take") || c.Command.Name == "open"}
	}
	return w
}

// A watch is a person who looks at a session, and types if it is his.
type watch struct {
	follower
	view

	notice     string  // what he should know before anything else; empty: nothing
	cols, rows int     // of the session's terminal, if it has one of its own
	typist     *typist // nil: he only looks
	pane       *pane   // nil: it is a person's own terminal
	ended      bool    // run has seen the session's end

	mu     sync.Mutex              // guards the following
	held   chan struct{}           // not nil: nothing is shown until it is closed
	wakeUp context.CancelCauseFunc // ends the read that waits
	stale  bool                    // the picture is to be drawn anew
}

// run shows the session until it ends, the person leaves, or ctx ends.
func (w *watch) run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	restore, err := rawMode(os.Stdin)
	if err != nil {
		return err
	}
	defer restore()
	changed, noMore := resized()
	defer noMore()
	typed := keys(os.Stdin, ctx.Done())

	var showing error
	shown := make(chan struct{}) // closed when showing is set
	go func() {
		defer close(shown)
		err := w.show(ctx)
		showing = errors.Join(err, w.end())
	}()
	var typing sync.WaitGroup
	if w.typist != nil {
		typing.Go(func() { stop(w.typist.run(ctx)) })
	}
	defer typing.Wait()
	if w.pane != nil {
		typing.Go(func() { stop(w.pane.follow(ctx, &seat{on: w.on, id: w.id})) })
	}
	for {
		select {
		case p, more := <-typed:
			if !more {
				typed = nil
				continue
			}
			if err := w.press(p); err != nil {
				stop(err)
			}
		case <-changed:
			if w.typist != nil && w.pane == nil { // the program there draws anew when it hears of it
				w.typist.fit()
			} else {
				w.wake()
			}
		case <-shown:
			stop(showing)
			restore()
			if showing == nil {
				w.ended = true
				w.say("session " + printable(w.id) + " has ended")
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
				w.say("detached from " + printable(w.id))
				return nil
			case errors.Is(err, context.Canceled): // a signal
				return nil
			default:
				return err
			}
		}
	}
}

// goodbye is how long a terminal that takes no output is waited for.
const goodbye = time.Second

// say tells the person something, below the session's output.
func (w *watch) say(text string) { fmt.Fprintf(os.Stderr, "[ptyctl: %s]\n", text) }

// press is what the keys do.
func (w *watch) press(p []byte) error {
	if w.pane != nil && w.typist == nil { // many look, and none of them holds it up, or ends it, for the others
		return nil
	}
	before, _, leave := bytes.Cut(p, []byte{leaveKey})
	if w.typist != nil {
		w.typist.press(before)
	} else if i := bytes.LastIndexAny(before, string([]byte{holdKey, goOnKey})); i >= 0 {
		w.hold(before[i] == holdKey)
	}
	if leave {
		return errDetached
	}
	return nil
}

// hold stops showing what comes, or goes on with it.
func (w *watch) hold(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case on && w.held == nil:
		w.held = make(chan struct{})
	case !on && w.held != nil:
		close(w.held)
		w.held = nil
	}
}

// errResized ends a read because the picture is to be drawn anew.
var errResized = errors.New("the terminal has another size")

// wake has the picture drawn anew.
func (w *watch) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stale = true
	if w.wakeUp != nil {
		w.wakeUp(errResized)
	}
}

// ready waits while the output is held, and returns a context for the next read.
func (w *watch) ready(ctx context.Context) context.Context {
	w.mu.Lock()
	held := w.held
	w.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wakeUp != nil {
		w.wakeUp(nil)
	}
	w.wakeUp = cancel
	if w.stale { // since before this read, when there was none to end
		cancel(errResized)
	}
	return ctx
}

// show draws the picture, and then what comes.
func (w *watch) show(ctx context.Context) error {
	ended, err := w.draw(ctx, true)
	for err == nil && !ended {
		var p piece
		reading := w.ready(ctx)
		p, err = w.next(reading)
		if ctx.Err() == nil && errors.Is(context.Cause(reading), errResized) {
			ended, err = w.draw(ctx, false)
			continue
		}
		if err == nil && p.dropped > 0 {
			err = w.gap(p.dropped)
		}
		if err == nil {
			err = w.write(p.data)
		}
		ended = p.ended
	}
	select {
	case <-ctx.Done(): // whatever went wrong by that
		return nil
	default:
		return err
	}
}

// draw shows what there is. The first time, what the terminal has shown so far is scrolled out, not lost.
func (w *watch) draw(ctx context.Context, first bool) (ended bool, err error) {
	w.mu.Lock()
	w.stale = false
	w.mu.Unlock()
	cols, rows := size(os.Stdout)
	if !first && rows == 0 {
		return false, nil
	}
	if w.pane != nil {
		return w.drawAll(ctx)
	}
	held, err := w.fill(ctx, history)
	if err != nil {
		return false, err
	}
	if w.filter == nil {
		if first {
			err = w.put(tailLines(held.data, max(rows, 24)))
		}
		return held.ended, err
	}
	begin := w.filter.Restore(nil)
	switch {
	case rows == 0:
		rows = 24
	case first && w.notice == "": // a session that has just begun
	case first:
		begin = append(begin, bytes.Repeat([]byte("\r\n"), rows)...)
		begin = append(begin, "\x1b[H"+w.header(cols, rows)...)
	default:
		begin = append(begin, "\x1b[H\x1b[2J"...)
	}
	picture := pictureOf(held.data, rows, w.filter.Input)
	*w.filter = vt.Filter{Input: w.filter.Input}
	begin = append(begin, w.filter.Append(nil, picture.state)...)
	begin = append(begin, w.filter.Append(nil, picture.part)...)
	w.filter.Questions = w.filter.Input // those before were asked of somebody else
	return held.ended, w.put(begin)
}

// header says what is looked at.
func (w *watch) header(cols, rows int) string {
	text := w.notice
	if w.typist == nil && w.cols > 0 && (w.cols != cols || w.rows != rows) {
		text += fmt.Sprintf("; its terminal is %dx%d, yours %dx%d", w.cols, w.rows, cols, rows)
	}
	return "[ptyctl: " + text + "]\r\n"
}
