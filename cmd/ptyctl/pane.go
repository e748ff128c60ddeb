package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"

	"ptyctl/vt"
)

// resourceSessions begins the name of the resource that shows a session's status.
const resourceSessions = "ptyctl://sessions/"

// A pane is the tmux window that attach runs in. It has the size of the session's terminal, so that what the session
// draws stands where it belongs.
type pane struct {
	tmux       *tmux
	id         string
	cols, rows int // that it was given last
}

// paneHere returns the pane of this process.
func paneHere() (*pane, error) {
	socket, _, _ := strings.Cut(os.Getenv("TMUX"), ",") // SOCKET,PID,SESSION
	id := os.Getenv("TMUX_PANE")
	if socket == "" || id == "" {
		return nil, usageError{errors.New("--pane is for the window that ptyctl bridge tmux makes, and this is none")}
	}
	return &pane{tmux: &tmux{program: "tmux", socket: socket}, id: id}, nil
}

// follow gives the window each size that the session's terminal gets, until ctx ends. Where the session cannot be asked
// any more, whoever reads its output learns why.
func (p *pane) follow(ctx context.Context, s *seat) error {
	ctx, stop := context.WithCancel(ctx)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer stop()
	look := make(chan struct{}, 1)
	ended := make(chan error, 1)
	listening.Go(func() {
		ended <- s.on.Follow(ctx, resourceSessions+s.id, func() {
			select {
			case look <- struct{}{}:
			default:
			}
		})
	})
	for began := false; ; {
		select {
		case <-look:
			began = true
			var now statusResult
			if err := s.on.Call(ctx, toolSession, sessionCall{Action: "status", SessionID: s.id}, &now); err != nil {
				continue
			}
			if err := p.fit(ctx, now.Session.Cols, now.Session.Rows); err != nil && ctx.Err() == nil {
				return err
			}
		case err := <-ended:
			if !began && ctx.Err() == nil {
				return err
			}
			<-ctx.Done()
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// fit gives the window a size. The program in it, which is us, is told by a signal, and draws again.
func (p *pane) fit(ctx context.Context, cols, rows int) error {
	if cols < 1 || rows < 1 || cols == p.cols && rows == p.rows {
		return nil
	}
	_, err := p.tmux.run(ctx, []string{"resize-window", "-t", p.id, "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows)})
	if err == nil {
		p.cols, p.rows = cols, rows
	}
	return err
}

// leave takes the window away, unless somebody should see what it shows last. tmux would do that too, but 3.3a does not
// always learn at once that a program has ended.
func (p *pane) leave(failed bool) {
	ctx, stop := context.WithTimeout(context.Background(), parting)
	defer stop()
	useless := nobodyLooks
	if !failed {
		useless = "#{||:#{@take}," + nobodyLooks + "}"
	}
	_, _ = p.tmux.run(ctx, []string{"if-shell", "-F", "-t", p.id, useless, "kill-session -t " + p.id})
}

// drawAll has a terminal that is ours alone show all that is held, from the beginning: only so the main screen is right
// when a full-screen program leaves it.
func (w *watch) drawAll(ctx context.Context) (ended bool, err error) {
	var now statusResult
	if err := w.on.Call(ctx, toolSession, sessionCall{Action: "status", SessionID: w.id}, &now); err != nil &&
		!isCode(err, "NOT_FOUND") {
		return false, lost(ctx, err)
	}
	held, err := w.fill(ctx, everything)
	if err != nil {
		return false, err
	}
	before, since := held.cut(now.Session.ResizedAt)
	shown := append(w.filter.Restore(nil), "\x1b[H\x1b[2J\x1b[3J"...)
	*w.filter = vt.Filter{Input: w.filter.Input}
	shown = w.filter.Append(shown, before)
	shown = w.filter.Resized(shown)
	shown = w.filter.Append(shown, since)
	w.filter.Questions = w.filter.Input // those before were asked of somebody else
	return held.ended, w.put(shown)
}
