package attach

import (
	"context"
	"os"
	"sync"
	"time"

	"ptyctl/internal/client"
	"ptyctl/internal/tty"
)

// A typist sends the person's keys to the session, in their order, and keeps the lock.
type typist struct {
	at   *Attachment
	todo chan struct{} // holds one token while there is work

	mu      sync.Mutex // guards the following
	typed   []byte
	resized bool
}

func newTypist(at *Attachment) *typist {
	return &typist{at: at, todo: make(chan struct{}, 1), resized: true}
}

// press queues keys. It never waits.
func (t *typist) press(p []byte) {
	if len(p) == 0 {
		return
	}
	t.mu.Lock()
	t.typed = append(t.typed, p...)
	t.mu.Unlock()
	t.nudge()
}

// fit gives the terminal of the session the size of the person's.
func (t *typist) fit() {
	t.mu.Lock()
	t.resized = true
	t.mu.Unlock()
	t.nudge()
}

func (t *typist) nudge() {
	select {
	case t.todo <- struct{}{}:
	default:
	}
}

// run types until ctx ends or typing fails.
func (t *typist) run(ctx context.Context) error {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	t.nudge()
	for {
		var err error
		select {
		case <-ctx.Done():
			_ = t.work(ctx) // the keys from before the person left; no person can see a failure
			return nil
		case <-ticker.C:
			err = t.at.renew(ctx)
		case <-t.todo:
			err = t.work(ctx)
		}
		switch {
		case ctx.Err() != nil:
			continue
		// The viewer says so, behind the output. UNSUPPORTED: the terminal has ended, and the connection goes on for commands.
		case client.IsCode(err, "ALREADY_CLOSED"), client.IsCode(err, "REMOTE_CLOSED"), client.IsCode(err, "UNSUPPORTED"):
			<-ctx.Done()
			return nil
		case err != nil:
			return err
		}
	}
}

// work sends the size and the queued keys. It goes on for a short time after the end of ctx.
func (t *typist) work(ctx context.Context) error {
	ctx, cancel := lingering(ctx, parting)
	defer cancel()
	t.mu.Lock()
	typed, resized := t.typed, t.resized
	t.typed, t.resized = nil, false
	t.mu.Unlock()
	defer clear(typed) // it may be a password
	if resized {
		cols, rows := tty.Size(os.Stdout)
		t.at.resize(ctx, cols, rows)
	}
	if len(typed) == 0 {
		return nil
	}
	return t.at.write(ctx, typed)
}
