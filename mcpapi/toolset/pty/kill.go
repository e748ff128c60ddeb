package pty

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// kill ends a session's program. With cleanup it also removes the session and its output;
// otherwise the output stays readable.
func (s *set) kill(ctx context.Context, c *toolset.Call, in *killArgs) (any, error) {
	t, err := s.find(ctx, c, term.VerbClose, in.ID)
	if err != nil {
		return nil, err
	}
	c.Waits("the end of "+in.ID, t.Session)
	ran := !t.State().Ended()
	if in.Cleanup {
		if err = t.ServerView().MayClose(ctx, false); err == nil {
			t.Close(ctx, session.CloseOptions{})
		}
	} else if ran {
		err = t.stop(ctx)
	}
	if err != nil {
		return nil, err
	}
	v := t.view(t.Info())
	if in.Cleanup {
		s.terminals.remove(in.ID)
		c.Forget(t.Session)
	}
	return wire.Answer{Text: v.ended(ran, in.Cleanup)}, nil
}

// ended returns the result of kill. The first line says whether the program ran before.
func (v view) ended(ran, cleanup bool) string {
	did, left := "Killed", "session retained for log access"
	if cleanup {
		left = "session removed"
	}
	switch {
	case !ran && cleanup:
		did = "Cleaned up"
	case !ran:
		did = "Already ended"
	}
	return element(
		"pty_killed",
		fmt.Sprintf("%s: %s (%s)", did, v.id, left),
		"Title: "+v.title,
		"Command: "+v.command,
		fmt.Sprintf("Final line count: %d", v.lines),
	)
}

// endSignals are the signals that end a program, each with the time to wait before the next. A
// program should get a chance to clean up, so KILL comes last.
var endSignals = []struct {
	signal string
	time   time.Duration
}{{"HUP", 250 * time.Millisecond}, {"KILL", 2 * time.Second}}

// stop ends the program and keeps the session, so that its output can still be read. It
// restores the status if the signal was refused, for example by the policy.
func (t *terminal) stop(ctx context.Context) error {
	before := t.killed.Swap(true)
	for _, b := range endSignals {
		err := t.Signal(ctx, b.signal)
		switch {
		case errors.Is(err, term.AlreadyClosed): // the program is ending at this moment
		case errors.Is(err, term.InvalidArgument): // Windows has no HUP
			continue
		case err != nil:
			t.killed.Store(before)
			return err
		}
		timer := time.NewTimer(b.time)
		select {
		case <-t.Ended():
		case <-timer.C:
			continue
		case <-ctx.Done():
			timer.Stop()
			return &term.Error{
				Op:      "kill",
				Session: t.ID(),
				Kind:    term.Canceled,
				Msg:     "canceled; the program was signaled to end",
				Err:     ctx.Err(),
			}
		}
		timer.Stop()
		return nil
	}
	return term.Errorf(
		term.IOError,
		"the program of %s was killed and has not ended yet; look again with pty_list",
		t.ID(),
	)
}
