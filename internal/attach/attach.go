package attach

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ptyctl/internal/client"
	"ptyctl/internal/tmux"
	"ptyctl/internal/tty"
	"ptyctl/vt"
)

// Options say how a session is shown.
type Options struct {
	Out io.Writer
	Raw bool       // the bytes as they are, which may do anything to the person's terminal
	In  *tmux.Pane // the tmux window that shows it; nil: a terminal of a person
}

// Watch shows the session until it ends, the person leaves, or ctx ends.
func Watch(ctx context.Context, s client.Session, o Options) error {
	v := newViewer(To(s), o, false)
	now, err := v.Status(ctx)
	if err != nil {
		return v.leave(err)
	}
	v.cols, v.rows = now.Session.Cols, now.Session.Rows
	v.notice = "watching " + Name(s) + "; ctrl-] leaves"
	if now.Question != nil {
		v.notice += "; it asks something: ptyctl answer " + tty.Printable(v.ID)
	}
	return v.leave(v.run(ctx))
}

// Take takes the terminal of the session from the agent and has the person type into it, until they give it back, the
// session ends, or ctx ends. The person first answers the questions of a login.
func Take(ctx context.Context, s client.Session, person *Person, o Options) error {
	v := newViewer(To(s), o, true)
	if err := v.Login(ctx, person); err != nil {
		return v.leave(err)
	}
	previous, err := v.take(ctx)
	if err != nil {
		return v.leave(err)
	}
	v.notice = "you have taken " + Name(s) + previous + "; ctrl-] gives it back"
	v.typist = newTypist(v.Attachment)
	v.typist.resized = v.pane == nil // a pane takes the session's size, not the other way
	err = v.run(ctx)
	return v.leave(errors.Join(err, v.giveBack()))
}

// Type shows a session that is the person's alone and has them type into it. ended reports that the session has ended;
// otherwise the person has left.
func (a *Attachment) Type(ctx context.Context, o Options) (ended bool, err error) {
	v := newViewer(a, o, true)
	v.typist = newTypist(a)
	err = v.run(ctx)
	return v.ended, err
}

// Name says which session it is.
func Name(s client.Session) string {
	return tty.Printable(fmt.Sprintf("%s (%s %s)", s.SessionID, s.Protocol, s.Host))
}

// To returns the attachment to a session of a running process. It sends nothing.
func To(s client.Session) *Attachment {
	return &Attachment{Client: s.Process.Client, ID: s.SessionID}
}

func newViewer(a *Attachment, o Options, types bool) *viewer {
	v := &viewer{follower: follower{Attachment: a}, view: view{out: o.Out}}
	if !o.Raw {
		v.filter = &vt.Filter{Input: types}
	}
	if o.In != nil {
		v.pane = &pane{window: o.In}
	}
	return v
}

// leave closes the tmux window, if the viewer is in one, after the view has ended with err.
func (v *viewer) leave(err error) error {
	if v.pane != nil {
		v.pane.leave(err != nil)
	}
	return err
}
