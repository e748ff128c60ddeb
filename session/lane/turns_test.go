package lane

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/buffer"
	"ptyctl/session/prompt"
	"ptyctl/session/shell"
	"ptyctl/term"
)

// An idle terminal is one into which nothing is typed.
type idle struct {
	Terminal
	ctx context.Context
}

func (t idle) Context() context.Context { return t.ctx }

func (idle) ShellAt(context.Context, shell.Class, shell.Class) shell.Shell {
	return shell.Shell{Class: shell.Posix}
}

// A line that looked like a prompt gave the next command its turn. It may be no prompt any more when the command
// takes the turn.
func TestQueuedIsNeverBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New("s", idle{ctx: t.Context()}, buffer.New(buffer.Options{}), prompt.NewHistory())
		prepare := func(queue bool) *Command {
			r := Request{Command: "true", Timeout: time.Minute, Wait: time.Minute, Queue: queue}
			c, err := l.Prepare(t.Context(), r)
			if err != nil {
				t.Fatalf("Prepare of %+v = %v, want no error", r, err)
			}
			return c
		}
		first := prepare(false)
		if err := l.claim(t.Context(), first); err != nil {
			t.Fatalf("claim of the free terminal = %v, want no error", err)
		}
		first.setWaiting(&term.Waiting{Kind: prompt.Command})
		second := prepare(true) // has its turn
		first.setWaiting(nil)   // its output goes on
		time.AfterFunc(5*time.Second, first.Release)
		if err := l.claim(t.Context(), second); err != nil {
			t.Errorf("claim after the first command's end = %v, want no error", err)
		}
		second.Leave()
	})
}
