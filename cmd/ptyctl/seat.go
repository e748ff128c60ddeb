package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/user"
	"strings"
	"sync"
	"time"

	"ptyctl/control"
)

const (
	leaseTime = 30 * time.Second // for which a taken terminal stays so, should we die
	beat      = leaseTime / 3    // how often that is renewed
	parting   = 3 * time.Second  // how long giving back may take
)

// A seat is the place before a session's terminal. Its fields but on and id say what to put back.
type seat struct {
	on   *control.Client
	id   string
	task string // the name under which others see us hold the lock; empty: we hold none. What makes the lock ours is in on

	cols, rows int // of the terminal before we came
}

// take makes this person the only one who types. previous says from whom it was taken.
func (s *seat) take(ctx context.Context) (previous string, err error) {
	var now statusResult
	if err := s.on.Call(ctx, toolSession, sessionCall{Action: "status", SessionID: s.id}, &now); err != nil {
		return "", err
	}
	if err := now.mayType(); err != nil { // before anybody loses the lock for it
		return "", err
	}
	task := person()
	if err := s.on.Attach(ctx, task); err != nil {
		return "", err
	}
	var out struct {
		Previous string `json:"previous_holder"`
	}
	err = s.on.Call(
		ctx,
		toolSession,
		sessionCall{Action: "lock", SessionID: s.id, TaskID: task, LockTTL: leaseTime.Milliseconds(), TakeOver: true},
		&out,
	)
	if err != nil {
		return "", readOnlyHint(err)
	}
	s.task, s.cols, s.rows = task, now.Session.Cols, now.Session.Rows
	switch {
	case strings.HasPrefix(out.Previous, "person "):
		previous = " from " + printable(out.Previous)
	case out.Previous != "":
		previous = " from task " + printable(out.Previous)
	}
	return previous, nil
}

// mayType says what a person can do where the rules deny typing.
func (r *statusResult) mayType() error {
	rule := r.Session.Denied
	if rule == "" {
		return nil
	}
	remedy := "change that rule"
	if strings.HasPrefix(rule, "policy.typing ") {
		remedy = `set policy.typing = "allow"`
	}
	return fmt.Errorf("typing is denied by %s: watch without --take, or have the operator %s", printable(rule), remedy)
}

// readOnlyHint says how to step in, where only watching is allowed.
func readOnlyHint(err error) error {
	if isCode(err, "POLICY_DENIED") {
		return fmt.Errorf("%w (this ptyctl lets people watch only: start it with --control-mode readwrite)", err)
	}
	return err
}

// lingering returns a context that ends some time after ctx.
func lingering(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return longer, func() {
		detach()
		cancel()
	}
}

// person names who sits here, for those who are told.
func person() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("%s (ptyctl attach, process %d)", name, os.Getpid())
}

// renew keeps the lock.
func (s *seat) renew(ctx context.Context) error {
	if s.task == "" {
		return nil
	}
	return s.on.Call(
		ctx,
		toolSession,
		sessionCall{Action: "heartbeat", SessionID: s.id, TaskID: s.task, LockTTL: leaseTime.Milliseconds()},
		nil,
	)
}

// resize tells the session a size. That a session has none is no matter.
func (s *seat) resize(ctx context.Context, cols, rows int) {
	if cols > 0 && rows > 0 {
		_ = s.on.Call(
			ctx,
			toolConfig,
			configCall{Action: "resize", SessionID: s.id, TaskID: s.task, Cols: cols, Rows: rows},
			nil,
		)
	}
}

// write types data.
func (s *seat) write(ctx context.Context, data []byte) error {
	return s.on.Call(
		ctx,
		toolIO,
		ioCall{
			Action:    "write",
			SessionID: s.id,
			TaskID:    s.task,
			Data:      base64.StdEncoding.EncodeToString(data),
			Encoding:  "base64",
		},
		nil,
	)
}

// giveBack leaves the terminal as it was taken, and the lock. The agent learns of it when it types.
func (s *seat) giveBack() error {
	ctx, stop := context.WithTimeout(context.Background(), parting)
	defer stop()
	s.resize(ctx, s.cols, s.rows)
	err := s.on.Call(ctx, toolSession, sessionCall{Action: "unlock", SessionID: s.id, TaskID: s.task}, nil)
	if isCode(err, "ALREADY_CLOSED") || isCode(err, "NOT_FOUND") || isCode(err, "LOCK_REQUIRED") || isCode(err, "LOCKED") {
		return nil // there is nothing left to give
	}
	return err
}

// A typist hands on what a person types, in its order, and keeps the seat.
type typist struct {
	seat *seat
	todo chan struct{} // holds one token if there is something to do

	mu      sync.Mutex // guards the following
	typed   []byte
	resized bool
}

func newTypist(s *seat) *typist {
	return &typist{seat: s, todo: make(chan struct{}, 1), resized: true}
}

// press adds to what is to be typed. It never waits.
func (t *typist) press(p []byte) {
	if len(p) == 0 {
		return
	}
	t.mu.Lock()
	t.typed = append(t.typed, p...)
	t.mu.Unlock()
	t.nudge()
}

// fit gives the session's terminal the size of ours.
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

// run types until ctx ends, or nothing can be typed any more.
func (t *typist) run(ctx context.Context) error {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	t.nudge()
	for {
		var err error
		select {
		case <-ctx.Done():
			_ = t.work(ctx) // what was typed before the person left; nobody is there to be told that it cannot be
			return nil
		case <-ticker.C:
			err = t.seat.renew(ctx)
		case <-t.todo:
			err = t.work(ctx)
		}
		switch {
		case ctx.Err() != nil:
			continue
		case isCode(err, "ALREADY_CLOSED"), isCode(err, "REMOTE_CLOSED"): // whoever watches is told
			<-ctx.Done()
			return nil
		case err != nil:
			return err
		}
	}
}

// work does what there is to do. The end of ctx leaves it some time for that.
func (t *typist) work(ctx context.Context) error {
	ctx, cancel := lingering(ctx, parting)
	defer cancel()
	t.mu.Lock()
	typed, resized := t.typed, t.resized
	t.typed, t.resized = nil, false
	t.mu.Unlock()
	defer clear(typed) // it may be a password
	if resized {
		cols, rows := size(os.Stdout)
		t.seat.resize(ctx, cols, rows)
	}
	if len(typed) == 0 {
		return nil
	}
	return t.seat.write(ctx, typed)
}
