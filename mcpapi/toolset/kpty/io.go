package kpty

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// lineEnd returns the bytes that the enter key sends.
func lineEnd(goos string) string {
	if goos == "windows" {
		return "\r\n"
	}
	return "\r"
}

// wireData returns the bytes to type for data. A Windows console takes CRLF as the enter
// key and ignores a lone LF.
func wireData(goos, data string) string {
	if goos == "windows" {
		return strings.ReplaceAll(strings.ReplaceAll(data, "\r\n", "\n"), "\n", "\r\n")
	}
	return data
}

// writeOut is the result of write.
type writeOut struct {
	OK        bool     `json:"ok"`
	SessionID string   `json:"session_id"`
	Bytes     int      `json:"bytes_written"`
	Warnings  []string `json:"warnings,omitempty"`
}

// write types data exactly as given, except for line ends on Windows.
func (c *call) write(ctx context.Context) (any, error) {
	if c.in.Data == "" {
		return nil, c.Invalid("data", "data is empty: pass what to type")
	}
	res, err := c.send(ctx, wireData(runtime.GOOS, c.in.Data), c.in.Sensitive)
	if err != nil {
		return nil, err
	}
	return writeOut{OK: true, SessionID: c.s.ID(), Bytes: res.Written, Warnings: append(res.Warnings, c.Warnings()...)}, nil
}

// send types data. The contract of write has no partial success, so send returns an error
// if the terminal does not take all of data before the operator's write timeout.
func (c *call) send(ctx context.Context, data string, sensitive bool) (session.WriteResult, error) {
	res, err := c.s.Write(ctx, []byte(data), session.WriteOptions{Sensitive: sensitive})
	if err == nil && res.TimedOut {
		err = &term.Error{
			Op: "write", Session: c.s.ID(), Kind: term.IOError, Facts: term.Facts{term.PartialWrite{Written: res.Written}},
			Msg: fmt.Sprintf("the program took %d of %d bytes and stopped reading", res.Written, len(data)),
		}
	}
	return res, err
}

// readOut is the result of read.
type readOut struct {
	OK        bool   `json:"ok"`
	SessionID string `json:"session_id"`
	shown
	TimedOut bool          `json:"timed_out"` // no output came in time
	More     bool          `json:"more,omitempty"`
	EOF      bool          `json:"eof"`
	Waiting  *wire.Waiting `json:"waiting_for,omitempty"`
	*ending                // at eof
}

// shown is the part of a result that holds output.
type shown struct {
	Output    string `json:"output" is:"listed"`
	Encoding  string `json:"encoding,omitempty"`                        // "base64" for bytes that are not UTF-8
	Truncated bool   `json:"truncated" is:"listed" after:"waiting_for"` // Output is incomplete
	Dropped   int64  `json:"dropped_bytes,omitempty"`                   // bytes that the session's buffer no longer holds
}

// show sets the output to text, in base64 if it is not valid UTF-8, because a JSON string
// could not hold it.
func (s *shown) show(text []byte) {
	if utf8.Valid(text) {
		s.Output = string(text)
		return
	}
	s.Output, s.Encoding = base64.StdEncoding.EncodeToString(text), "base64"
}

// chunk converts a piece of the terminal's output to the format that the caller asked
// for.
func (c *call) chunk(k session.Chunk) (out shown) {
	text := k.Data
	if c.in.Format != "raw" {
		text, _ = k.Clean()
	}
	out.show(text)
	out.Truncated, out.Dropped = k.Dropped > 0, k.Dropped
	return out
}

// maxBytes returns the largest output of one answer: the caller's max_bytes or the
// default, but at most the operator's limit.
func (c *call) maxBytes() int {
	n := c.in.MaxBytes
	if n == 0 {
		n = outputBytes
	}
	return int(min(n, int64(c.Limits().MaxReadBytes)))
}

// wait returns how long the call may wait: the caller's timeout_ms or otherwise, but at
// most the operator's limit.
func (c *call) wait(otherwise time.Duration) time.Duration {
	if c.in.TimeoutMS != nil {
		otherwise = time.Duration(*c.in.TimeoutMS) * time.Millisecond
	}
	return min(otherwise, c.Limits().MaxWait)
}

// bookmark returns the caller's read position in the session.
func (c *call) bookmark(ctx context.Context) *bookmark {
	r := reading{s: c.s}
	if c.OnlyReads(ctx) {
		r.by = reader{onlyReads: true, client: term.ActorFrom(ctx).Principal().Client()}
	}
	return c.read.get(r, c.Listed)
}

// readOn returns the output since the last read and waits for some if necessary.
// Only one read at a time has the turn; the others wait for it within their own timeout.
func (c *call) readOn(ctx context.Context) (any, error) {
	until := time.Now().Add(c.wait(c.Limits().ReadTimeout))
	c.Waits("output of "+c.s.ID(), c.s)
	m := c.bookmark(ctx)
	if !m.take(ctx, time.Until(until)) {
		return readOut{OK: true, SessionID: c.s.ID(), TimedOut: true}, canceled(ctx)
	}
	defer m.release()
	k := c.s.Read(ctx, session.ReadRequest{Cursor: m.place(), MaxBytes: c.maxBytes()}.Within(time.Until(until)))
	if k.Reason == session.ReasonLimit {
		return nil, c.s.TooManyReads()
	}
	if err := canceled(ctx); err != nil {
		return nil, err // the position has not moved, so the next read returns this output
	}
	m.move(k.Next)
	if k.EOF && len(k.Data) == 0 && k.Dropped == 0 {
		return nil, c.over()
	}
	out := readOut{
		OK:        true,
		SessionID: c.s.ID(),
		shown:     c.chunk(k),
		EOF:       k.EOF,
		TimedOut:  k.Reason == session.ReasonTimeout && len(k.Data) == 0,
		More:      k.Next < k.Buffer.End,
	}
	switch {
	case k.EOF:
		<-c.s.Ended()
		end := endingOf(c.s)
		out.ending = &end
	case !out.More:
		out.Waiting = (*wire.Waiting)(c.s.Waiting())
	}
	return out, nil
}

// over returns the error for a session without more output: the program has ended, or the
// terminal could not be read.
func (c *call) over() error {
	<-c.s.Ended() // the output ends a moment before the state changes
	i := c.s.Info()
	e := &term.Error{
		Op: "read", Session: i.ID, Kind: term.AlreadyClosed,
		Facts: term.Facts{term.Ended{Reason: i.End.Reason, Code: string(i.End.Code)}},
	}
	if i.State == session.Failed && !i.End.Exit.Known {
		e.Kind, e.Msg, e.Err = term.IOError, "terminal no longer readable: "+i.End.Reason, i.End.Err
	}
	return e
}

// canceled returns the error of a call that its client has canceled, and nil for any
// other call.
func canceled(ctx context.Context) error {
	if !errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return &term.Error{
		Kind: term.Canceled,
		Msg:  term.CanceledMsg(ctx, "the call was cancelled; nothing is lost: the next read returns it"),
		Err:  ctx.Err(),
	}
}
