package access

import (
	"context"
	"slices"
	"sync"
	"time"

	"ptyctl/term"
)

// maxTxEvents is how many an InputLog remembers.
const maxTxEvents = 100

// A TxEvent says that something was typed, never the text: only a single key has its name.
type TxEvent struct {
	Time      time.Time
	Verb      term.Verb // write, answer or exec
	Task      string
	Bytes     int    // 0 when Sensitive: the length of a secret says something of it
	Key       string // "ctrl_c", ...; empty for text
	Sensitive bool
	Reason    string // why ptyctl itself pressed the key
	Step      *int   // its index in a list of steps; nil: it was in none
}

type stepKey struct{}

// WithStep returns a context for the actions of the step with that index in a list.
func WithStep(ctx context.Context, step int) context.Context {
	return context.WithValue(ctx, stepKey{}, &step)
}

// StepFrom returns the index of the step that ctx carries; nil: none.
func StepFrom(ctx context.Context) *int {
	step, _ := ctx.Value(stepKey{}).(*int)
	return step
}

// An InputLog is a record of the input of a terminal, without its text. Its zero value remembers nothing.
type InputLog struct {
	Keep bool // remember the last events; not changed after the first

	mu     sync.Mutex // guards the following
	events []TxEvent  // the last ones, oldest first
}

// Add remembers e, if the log keeps such events, and sets its time.
func (l *InputLog) Add(e TxEvent) {
	if !l.Keep {
		return
	}
	if e.Sensitive {
		e.Bytes, e.Key = 0, ""
	}
	e.Time = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) == maxTxEvents {
		l.events = slices.Delete(l.events, 0, 1)
	}
	l.events = append(l.events, e)
}

// Events returns the last inputs, oldest first.
func (l *InputLog) Events() []TxEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}
