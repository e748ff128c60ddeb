package session

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// A pipe is a terminal in memory.
type pipe struct{ net.Conn }

func (pipe) Resize(int, int) error { return nil }

// What looked like a prompt, so that the next command had its turn, may not be one when it takes it.
func TestQueuedIsNeverBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, _ := bufpipe.New(0)
		s := New(pipe{near}, Options{})
		defer s.Close(context.Background(), CloseOptions{Force: true})
		r := ExecRequest{Timeout: time.Minute, Queue: true}
		var runs [2]*run
		for i := range runs {
			x, err := s.newRun(r, LaneTerminal, term.Actor{})
			if err != nil {
				t.Fatal(err)
			}
			runs[i] = x
		}
		first, second := runs[0], runs[1]
		if err := s.claimTerminal(t.Context(), first, nil); err != nil {
			t.Fatal(err)
		}
		first.setWaiting(&term.Waiting{Kind: prompt.Command})
		p := s.lineUp(time.Minute)
		if err := s.awaitTurn(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		first.setWaiting(nil) // its output goes on
		time.AfterFunc(5*time.Second, func() { s.releaseTerminal(first) })
		if err := s.claimTerminal(t.Context(), second, p); err != nil {
			t.Error(err)
		}
		s.leave(p)
	})
}
