package toolset

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/internal/mcpgo"
	"ptyctl/session"
)

// progressEvery is the time between two notifications of a call that waits.
const progressEvery = 5 * time.Second

// A meter notifies the client of one call that the call still waits, if the client asked for progress. The zero value,
// for a client that has not asked, sends nothing.
type meter struct {
	doing atomic.Pointer[doing]
}

// doing names the event that a call waits for.
type doing struct {
	what    string
	session *session.Session // nil: not yet known
	had     int64            // bytes from the far side before the call waited
	moved   *atomic.Int64    // bytes of a file; nil: it is about no file
}

// waits names the event that the call is about to wait for.
func (m *meter) waits(what string, s *session.Session) {
	d := &doing{what: what, session: s}
	if s != nil {
		d.had = s.ServerView().Received()
	}
	m.doing.Store(d)
}

// moves says that the call is about to move a file, and returns a function that takes the number of bytes moved so
// far.
func (m *meter) moves(what string) func(bytes int64) {
	d := &doing{what: what, moved: new(atomic.Int64)}
	m.doing.Store(d)
	return d.moved.Store
}

// A Notifier sends a notification to the client of a call.
type Notifier interface {
	SendNotificationToClient(ctx context.Context, method string, params map[string]any) error
}

// Report begins to send the client progress, with the token of the call, and returns the function that ends it. After
// that function has returned, no more progress is sent, so the answer of the call comes last. Without a token none is
// sent.
func (c *Call) Report(ctx context.Context, to Notifier, token any) (stop func()) {
	if token == nil {
		return func() {}
	}
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		began := c.began
		for {
			select {
			case <-tick.C:
				// A lost notification does no harm: the client still gets the answer.
				_ = to.SendNotificationToClient(ctx, progressMethod, c.meter.params(ctx, token, time.Since(began)))
			case <-done:
				return
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
	}
}

// progressMethod is the method of the notifications.
const progressMethod = "notifications/progress"

// progressTextSince is the first protocol revision with a message in its progress.
const progressTextSince = "2025-03-26"

// params returns the params of a notification. Its progress is the seconds passed: the only number that always grows.
func (m *meter) params(ctx context.Context, token any, passed time.Duration) map[string]any {
	p := map[string]any{"progressToken": token, "progress": int64(passed / time.Second)}
	if v := mcpgo.Revision(ctx); v != "" && v < progressTextSince {
		return p
	}
	text := fmt.Sprintf("waiting for %s", passed.Round(time.Second))
	if d := m.doing.Load(); d != nil {
		text = fmt.Sprintf("%s: %s", d.what, text)
		if d.moved != nil {
			text += fmt.Sprintf(", %d bytes have been moved", d.moved.Load())
		}
		if d.session != nil {
			text += fmt.Sprintf(", %d bytes have come", d.session.ServerView().Received()-d.had)
		}
	}
	p["message"] = text
	return p
}
