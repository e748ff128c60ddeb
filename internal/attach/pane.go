package attach

import (
	"context"
	"sync"

	"ptyctl/internal/client"
	"ptyctl/internal/tmux"
	"ptyctl/vt"
)

// resourceSessions begins the URI of the resource with the status of a session.
const resourceSessions = "ptyctl://sessions/"

// A pane is the tmux window that the viewer runs in. It has the size of the session's terminal, so that each line of
// the session is in its place.
type pane struct {
	window     *tmux.Pane
	cols, rows int // that it was given last
}

// follow gives the window each size that the session's terminal gets, until ctx ends. If the session no longer answers,
// the reader of its output learns why.
func (p *pane) follow(ctx context.Context, a *Attachment) error {
	ctx, stop := context.WithCancel(ctx)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer stop()
	look := make(chan struct{}, 1)
	ended := make(chan error, 1)
	listening.Go(func() {
		ended <- a.Client.Follow(ctx, resourceSessions+a.ID, func() {
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
			now, err := a.Status(ctx)
			if err != nil {
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

// fit gives the window a size. The program in it, which is this process, gets a signal and draws again.
func (p *pane) fit(ctx context.Context, cols, rows int) error {
	if cols < 1 || rows < 1 || cols == p.cols && rows == p.rows {
		return nil
	}
	err := p.window.Resize(ctx, cols, rows)
	if err == nil {
		p.cols, p.rows = cols, rows
	}
	return err
}

// leave closes the window, unless a person should see its last content.
func (p *pane) leave(failed bool) {
	ctx, stop := context.WithTimeout(context.Background(), parting)
	defer stop()
	p.window.Leave(ctx, failed)
}

// drawAll shows all the output that is held, from the beginning, in a window that shows nothing else. Only so is the
// main screen right when a full-screen program leaves it.
func (v *viewer) drawAll(ctx context.Context) (ended bool, err error) {
	now, err := v.Status(ctx)
	if err != nil && !client.IsCode(err, "NOT_FOUND") {
		return false, lost(ctx, err)
	}
	held, err := v.fill(ctx, everything)
	if err != nil {
		return false, err
	}
	before, since := held.cut(now.Session.ResizedAt)
	shown := append(v.filter.Restore(nil), "\x1b[H\x1b[2J\x1b[3J"...)
	*v.filter = vt.Filter{Input: v.filter.Input}
	shown = v.filter.Append(shown, before)
	shown = v.filter.Resized(shown)
	shown = v.filter.Append(shown, since)
	v.filter.Questions = v.filter.Input // the far side asked the earlier ones of another terminal
	return held.ended, v.put(shown)
}
