package kpty

import (
	"context"
	"regexp"
	"runtime"
	"strings"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// talkOut is the result of talk.
type talkOut struct {
	OK        bool   `json:"ok"`
	SessionID string `json:"session_id"`
	shown
	Reason  session.Reason `json:"done_reason"` // why the answer counts as complete: "prompt", "idle", "sentinel", "eof", "full"
	Waiting *term.Waiting  `json:"waiting_for,omitempty"`
	*ending                // at eof
}

// talk types one line for whatever has the terminal, and returns what that shows until it is ready again: until the line
// on which the terminal waited before stands there again, until nothing came for a while, or, if there is a sentinel,
// until that alone.
func (c *call) talk(ctx context.Context) (any, error) {
	line := c.in.Command
	switch {
	case strings.ContainsAny(line, "\r\n"):
		return nil, c.Invalid(
			"command",
			"talk sends one line: use write to type several, or run for a command of several lines",
		)
	case c.in.Sentinel != "" && strings.Contains(line, c.in.Sentinel):
		return nil, c.Invalid(
			"sentinel",
			"the line holds the sentinel, so that its own echo would be taken for the answer: choose another",
		)
	}
	c.Waits("an answer on "+c.s.ID(), c.s)
	began := time.Now()
	prompt := c.restLine(ctx)
	res, err := c.send(ctx, line+lineEnd(runtime.GOOS), false)
	if err != nil {
		return nil, err
	}
	r := session.ReadRequest{
		Cursor:   res.Cursor,
		MaxBytes: c.maxBytes(),
		Timeout:  max(0, c.wait(runTimeout*time.Millisecond)-time.Since(began)),
	}
	if c.in.Sentinel != "" {
		r.Until = regexp.MustCompile(regexp.QuoteMeta(c.in.Sentinel))
		return c.answered(ctx, c.s.Read(ctx, r))
	}
	r.Idle = quietTime * time.Millisecond
	if c.in.IdleMS > 0 {
		r.Idle = time.Duration(c.in.IdleMS) * time.Millisecond
	}
	return c.answered(ctx, c.listen(ctx, r, prompt))
}

var lineFeed = regexp.MustCompile(`\n`)

// listen reads until the terminal waits on the line prompt again, or r is met. The prompt at which the line was typed
// stands there until the line's end is echoed, and counts for nothing till then.
func (c *call) listen(ctx context.Context, r session.ReadRequest, prompt string) session.Chunk {
	began, unseen := time.Now(), term.WithActor(ctx, term.Actor{}) // what is shown to nobody is in no record
	echo := r
	echo.Until = lineFeed
	first := c.s.Read(unseen, echo)
	if first.Reason == session.ReasonMatched {
		r.Timeout = max(0, r.Timeout-time.Since(began))
		if strings.TrimSpace(prompt) != "" {
			r.WaitFor = []*regexp.Regexp{regexp.MustCompile("^" + regexp.QuoteMeta(prompt) + "$")}
		}
		return c.s.Read(ctx, r)
	}
	k := c.s.Read(ctx, session.ReadRequest{Cursor: r.Cursor, MaxBytes: r.MaxBytes})
	k.Reason = first.Reason
	return k
}

// promptWait is how long nothing must come for the terminal to be at rest.
const promptWait = 200 * time.Millisecond

// restLine is the line on which the terminal waits. Behind a command that has just ended its prompt may be on the way, and
// what is typed before it comes would stand twice in the answer.
func (c *call) restLine(ctx context.Context) string {
	r := session.ReadRequest{Cursor: c.s.End(), Idle: promptWait, Timeout: 5 * promptWait}
	if strings.TrimSpace(c.s.LastLine()) == "" {
		c.s.Read(term.WithActor(ctx, term.Actor{}), r) // which shows it to nobody
	}
	return c.s.LastLine()
}

// answered makes the result of a talk.
func (c *call) answered(ctx context.Context, k session.Chunk) (any, error) {
	if err := canceled(ctx); err != nil {
		return nil, err
	}
	if k.Reason == session.ReasonLimit {
		return nil, c.s.TooManyReads()
	}
	c.bookmark(ctx).move(k.Next)
	out := talkOut{OK: true, SessionID: c.s.ID(), shown: c.chunk(k), Reason: k.Reason}
	switch k.Reason {
	case session.ReasonMatched:
		out.Reason = "sentinel"
	case session.ReasonInput:
		out.Reason = "prompt"
	case session.ReasonTimeout:
		e := c.timeout("the answer was not complete in time (sentinel or silence); read goes on from here")
		e.shown = &out.shown
		return nil, e
	case session.ReasonEOF:
		<-c.s.Ended()
		end := endingOf(c.s)
		out.ending = &end
	}
	if k.Next == k.Buffer.End && !k.EOF {
		out.Waiting = c.s.Waiting()
	}
	return out, nil
}
