package kpty

import (
	"context"
	"regexp"
	"runtime"
	"strings"
	"time"

	"ptyctl/internal/lazyregexp"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// talkOut is the result of talk.
type talkOut struct {
	OK        bool   `json:"ok"`
	SessionID string `json:"session_id"`
	shown
	Reason  session.Reason `json:"done_reason"` // "prompt", "idle", "sentinel", "eof" or "full"
	Waiting *wire.Waiting  `json:"waiting_for,omitempty"`
	*ending                // at eof
}

// talk types one line into the program that has the terminal and returns its answer. The
// answer ends when the line on which the terminal waited before is shown again, or when
// no output came for idle_ms. With a sentinel the answer ends only at that text.
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
	}.Within(c.wait(runTimeout*time.Millisecond) - time.Since(began))
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

var lineFeed = lazyregexp.New(`\n`) // ends the echo of the typed line

// listen reads until the terminal waits at prompt again or one of the conditions in r is
// met. It first waits for the echo of the line end: until then the terminal still shows
// the prompt at which the line was typed, and that must not count as the answer's end.
func (c *call) listen(ctx context.Context, r session.ReadRequest, prompt string) session.Chunk {
	began, unseen := time.Now(), term.WithActor(ctx, term.Actor{}) // an empty actor keeps this read out of the audit log
	echo := r
	echo.Until = lineFeed.Regexp()
	first := c.s.Read(unseen, echo)
	if first.Reason == session.ReasonMatched {
		r = r.Within(r.Timeout - time.Since(began))
		if strings.TrimSpace(prompt) != "" {
			r.WaitFor = []*regexp.Regexp{regexp.MustCompile("^" + regexp.QuoteMeta(prompt) + "$")}
		}
		return c.s.Read(ctx, r)
	}
	k := c.s.Read(ctx, session.ReadRequest{Cursor: r.Cursor, MaxBytes: r.MaxBytes, NoWait: true})
	k.Reason = first.Reason
	return k
}

// promptWait is the time without output after which the terminal counts as idle.
const promptWait = 200 * time.Millisecond

// restLine returns the line on which the terminal waits. After a command its prompt may
// still be on the way; restLine waits for it, because text that is typed earlier would be
// echoed twice in the answer.
func (c *call) restLine(ctx context.Context) string {
	r := session.ReadRequest{Cursor: c.s.End(), Idle: promptWait, Timeout: 5 * promptWait}
	if strings.TrimSpace(c.s.LastLine()) == "" {
		c.s.Read(term.WithActor(ctx, term.Actor{}), r) // only waits: no caller sees this output
	}
	return c.s.LastLine()
}

// answered converts the output of a talk to its result.
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
		e := c.timeout("answer not complete in time: no sentinel and no silence; read continues from here")
		e.shown = &out.shown
		return nil, e
	case session.ReasonEOF:
		<-c.s.Ended()
		end := endingOf(c.s)
		out.ending = &end
	}
	if k.Next == k.Buffer.End && !k.EOF {
		out.Waiting = (*wire.Waiting)(c.s.Waiting())
	}
	return out, nil
}
