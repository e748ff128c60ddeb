package apps

import (
	"context"
	"encoding/json"
	"time"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
	"ptyctl/watch/frame"
)

// ViewTool is the tool that the page calls.
const ViewTool = "ptyctl_view"

// An Apps has the state that the pages of a server share. Make it with New.
type Apps struct {
	pace pace
	past past
}

// New makes an Apps.
func New() *Apps { return &Apps{pace: pace{next: make(map[viewer]time.Time)}} }

// Toolset is the set with the page's tool.
func (a *Apps) Toolset() toolset.Set {
	const about = "For the page " + URI + ": the next frame of a session's screen. It types nothing."
	return toolset.Set{Name: "apps", Tools: []*toolset.Tool{toolset.Bind(schema.Tool{
		Name: ViewTool, Title: "View a terminal", About: about, Reading: about,
		Actions: []schema.Action{
			{Example: `{"session_id":"web1-k3f9q2zd","since":17,"wait_ms":20000}`, Reads: true, Verb: term.VerbRead},
		},
		Hints: schema.Hints{ReadOnly: true, Idempotent: true},
	}, a.view)}}
}

// viewArgs are the arguments of ptyctl_view.
type viewArgs struct {
	SessionID string `json:"session_id" need:"*" is:"filled" doc:"from open"`
	Since     int64  `json:"since" max:"1<<53" doc:"version of the frame that the page has; 0: none" eg:"'since':17"`
	WaitMS    int64  `json:"wait_ms" max:"20000" doc:"milliseconds, for a frame after since" eg:"'wait_ms':20000"`
}

// A viewed is the result of ptyctl_view. It is JSON in every form of results: a page reads it.
type viewed struct {
	SessionID string          `json:"session_id"`
	Host      string          `json:"host"`
	User      string          `json:"user,omitempty"`
	State     string          `json:"state"`
	End       string          `json:"end,omitempty"`   // why it has ended
	Ended     bool            `json:"ended,omitempty"` // no other frame follows
	Version   uint64          `json:"version"`         // of the frame; 0: a program is in the middle of the next one
	Cut       bool            `json:"cut,omitempty"`   // the last rows had no room
	Frame     json.RawMessage `json:"frame,omitempty"` // the patch, see package frame; absent: nothing has changed
}

// mostPatch is the largest patch in bytes, unless limits.max_read_bytes is less.
const mostPatch = 256 << 10

// view returns the first frame after since. If none comes within wait_ms, the result has no frame.
func (a *Apps) view(ctx context.Context, c *toolset.Call, in *viewArgs) (any, error) {
	s, err := c.Look(ctx, in.SessionID)
	if err != nil {
		return nil, err
	}
	if i := s.Info(); i.State == session.Open && !i.About.PTY {
		return nil, &term.Error{Session: s.ID(), Kind: term.Unsupported, Msg: "this session has no terminal, so it has no screen"}
	}
	if err := a.pace.turn(ctx, viewer{term.ActorFrom(ctx).Principal(), s.ID()}); err != nil {
		return nil, err
	}
	c.Waits("waiting for a frame", s)
	wait := min(time.Duration(in.WaitMS)*time.Millisecond, MaxWait, c.Left())
	l := next(ctx, s, uint64(in.Since), wait) //nolint:gosec // it is checked to be 0 or more
	if ctx.Err() != nil {
		return nil, canceled(ctx, s.ID())
	}
	i := s.Info()
	out := viewed{
		SessionID: s.ID(), Host: i.Host, User: i.User, State: string(i.State), End: i.End.Reason, Ended: l.ended, Version: l.version,
	}
	if l.frame != nil {
		patch, _, cut := l.frame.AppendPatchWithin(nil, a.past.frame(s, uint64(in.Since)), min(mostPatch, c.Limits().MaxReadBytes)) //nolint:gosec // also
		out.Frame, out.Cut = patch, cut
	}
	switch {
	case l.ended:
		a.past.forget(s)
	case l.frame != nil:
		a.past.keep(s, l.version, l.frame, out.Cut)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return wire.Answer{Text: string(text)}, nil
}

// A look is the result of looking at a session.
type look struct {
	frame   *frame.Frame // nil: the page has it already
	version uint64
	ended   bool
}

// Times of a look.
const (
	gather  = 50 * time.Millisecond // for more output, once some has come
	longest = time.Second           // that a program may take to complete a frame: package screen ends it then
)

// next waits until a session shows another frame than that with the number since, or has ended, for at most wait. A
// frame that a program is drawing (DECSET 2026) is waited for, too. Of a program that always draws, the frame before is
// returned; it has no number.
func next(ctx context.Context, s *session.Session, since uint64, wait time.Duration) look {
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	var drawing <-chan time.Time // nil: no frame is being drawn
	late := false
	for {
		screen, state := s.ServerView().Changed()
		ended := s.State().Ended() // before the look: after the end the screen does not change
		now, version, partial := s.ServerView().Glance(since)
		switch {
		case ended && now == nil:
			return look{version: version, ended: true}
		case ended:
			return look{frame.Of(now, partial), version, true}
		case now != nil && (!now.Drawing || late || ctx.Err() != nil):
			return look{frame: frame.Of(now, partial), version: version}
		case ctx.Err() != nil:
			return look{version: since}
		case now != nil && drawing == nil:
			drawing = time.After(longest)
		}
		select {
		case <-screen:
			pause(ctx, gather)
		case <-state:
		case <-drawing:
			late = true
		case <-ctx.Done():
		}
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
