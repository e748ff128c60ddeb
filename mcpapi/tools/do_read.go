package tools

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools/fleet"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
)

// read returns output from a cursor, from the end (mode tail), or from one stream of a command.
func read(ctx context.Context, c *toolset.Call, s *session.Session, in *ioArgs, out *ioOut) error {
	ch := c.Checker()
	req, _, err := readRequest(c, in)
	if err != nil {
		return err
	}
	if in.MaxLines > 0 && in.Mode == "" && in.Cursor == "" && in.ExecID == "" {
		req.Tail = true // the last lines: without a cursor no others can be meant
	}
	switch {
	case in.Stream != "" && in.ExecID == "":
		return streamNeedsExec(c)
	case in.Mode == "tail" && in.Cursor != "":
		return ch.Invalid("cursor", nil, "mode tail takes no cursor; use mode cursor to read from one")
	case in.MaxLines > 0 && !req.Tail:
		return ch.Invalid("max_lines", nil, "max_lines belongs to mode tail, which takes no cursor; leave one of the two out")
	}
	lines, err := matchArgs(in.lineArgs).filter(c, in.Format)
	if err != nil {
		return err
	}
	in.room(c, &req, lines)
	if in.ExecID != "" {
		if in.UntilPrompt {
			return ch.Invalid("until_prompt", nil, "an exec has no prompt; wait for its end with ptyctl_session_exec and exec_id")
		}
		// A command has two streams with offsets of their own; most callers mean its output.
		if in.Stream == "" {
			in.Stream = "stdout"
		}
		if in.Cursor == "" {
			// A terminal is read from its new output on. A command is read from its start, since all of its
			// output belongs to the caller.
			req.Cursor = 0
		}
		chunk, err := s.ReadExec(ctx, in.ExecID, in.Stream, req)
		if err != nil {
			return err
		}
		if chunk.Reason == session.ReasonLimit {
			return s.TooManyReads()
		}
		out.form(ctx, chunk, in, lines)
		return canceled(ctx, s)
	}
	chunk := s.Read(ctx, req)
	if in.Format != formatRaw {
		chunk = seen(ctx, s, req, chunk)
	}
	if chunk.Reason == session.ReasonLimit {
		return s.TooManyReads()
	}
	show(ctx, c, s, chunk, in, lines, out)
	if b := chunk.Buffer; chunk.EOF && in.Cursor == "" && !req.Tail && len(chunk.Data) == 0 && b.End > b.Start {
		c.Inform(fmt.Sprintf("the terminal has ended, and without a cursor a read returns only what comes from now on; "+
			"for its output read from cursor \"%d\", or its end with mode tail", b.Start))
	}
	return canceled(ctx, s)
}

// room lets a read of matching lines look at more than it may return: other lines take no room in the result.
func (in *ioArgs) room(c *toolset.Call, r *session.ReadRequest, lines *session.Filter) {
	if lines != nil && !r.Tail {
		lines.Max, r.MaxBytes = r.MaxBytes, max(r.MaxBytes, c.Limits().MaxReadBytes)
	}
}

// readRequest turns the arguments into a read, and reports whether they set a condition to wait for.
func readRequest(c *toolset.Call, in *ioArgs) (r session.ReadRequest, conditions bool, err error) {
	ch := c.Checker()
	r = session.ReadRequest{
		// Without a cursor a read shows output from now on: the caller has seen the rest, or does not want it.
		Cursor: session.Latest, Tail: in.Mode == "tail", MaxLines: in.MaxLines, ExcludeMatch: isFalse(in.IncludeMatch),
		Clean:    in.Format != formatRaw,
		MaxBytes: c.Lower("max_bytes", in.MaxBytes, c.Limits().MaxReadBytes, "limits.max_read_bytes"),
	}
	wait := c.Limits().ReadTimeout
	if r.MaxBytes == 0 {
		r.MaxBytes = defaultChunk
	}
	if in.TimeoutMS != nil {
		wait = c.Millis("timeout_ms", *in.TimeoutMS, c.Limits().MaxWait, "limits.max_wait_ms")
	}
	r = r.Within(wait)
	if in.Cursor != "" {
		if r.Cursor, err = cursorArgument(ch, "cursor", in.Cursor); err != nil {
			return r, false, err
		}
	}
	// A quiet that cannot be reached within the time would make each call end as timed out, and look like a
	// fault.
	if r.Idle = c.Millis("until_idle_ms", in.UntilIdleMS, c.Limits().MaxWait, "limits.max_wait_ms"); r.Idle > r.Timeout {
		return r, false, ch.Invalid(
			"until_idle_ms",
			nil,
			"until_idle_ms (%d) is longer than timeout_ms (%d), so it could never be reached; raise timeout_ms",
			in.UntilIdleMS,
			r.Timeout.Milliseconds(),
		)
	}
	if in.UntilRegex != "" {
		if r.Until, err = schema.RegexpArgument("until_regex", in.UntilRegex); err != nil {
			return r, false, err
		}
	}
	if r.WaitFor, err = schema.RegexpArguments("input_hints.wait_for_regexes", in.InputHints.WaitFor); err != nil {
		return r, false, err
	}
	if r.Screen, err = in.wait(ch, r.Timeout, func(name string) string { return name }); err != nil {
		return r, false, err
	}
	r.Prompt = in.UntilPrompt
	conditions = in.conditional() || len(r.WaitFor) > 0 || in.TimeoutMS != nil
	return r, conditions, nil
}

// readFleet reads the output of one host of a run of ptyctl_fleet.
func readFleet(ctx context.Context, c *toolset.Call, in *ioArgs) (any, error) {
	if name := first(
		argument{"session_id", in.SessionID != ""},
		argument{"exec_id", in.ExecID != ""},
		argument{"mode", in.Mode != ""},
		argument{"until_regex", in.UntilRegex != ""},
		argument{"until_prompt", in.UntilPrompt},
		argument{"until_idle_ms", in.UntilIdleMS > 0},
		argument{"match", in.Match != ""},
	); name != "" {
		return nil, c.Invalid(name, name+" has no effect with fleet_id, which reads the output of a command on a host: "+
			"leave it out; cursor, max_bytes, stream and format choose what is read")
	}
	r := fleet.Read{
		FleetID: in.FleetID, Host: in.Host, Stream: in.Stream, Wait: c.Limits().ReadTimeout,
		MaxBytes: c.Lower("max_bytes", in.MaxBytes, c.Limits().MaxReadBytes, "limits.max_read_bytes"),
		Base64:   in.Encoding == "base64", Raw: formatOf(c, in.Format, in.Encoding) == formatRaw,
	}
	if r.MaxBytes == 0 {
		r.MaxBytes = defaultChunk
	}
	if in.TimeoutMS != nil {
		r.Wait = c.Millis("timeout_ms", *in.TimeoutMS, c.Limits().MaxWait, "limits.max_wait_ms")
	}
	var err error
	if in.Cursor != "" {
		if r.Cursor, err = cursorArgument(c.Checker(), "cursor", in.Cursor); err != nil {
			return nil, err
		}
	}
	got, err := r.Do(ctx, c)
	if err != nil {
		return nil, err
	}
	return &ioOut{Action: "read", Warnings: c.Warnings(), readOut: &readOut{
		Chunk: got.Text, Encoding: got.Encoding, NextCursor: strconv.FormatInt(got.Next, 10), Sanitized: newSanitized(got.Removed),
		BufferEndCursor: strconv.FormatInt(got.Total, 10), EOF: got.EOF, TimedOut: !got.Over,
		Truncated: got.Dropped > 0, DroppedBytes: got.Dropped, Failure: got.Failure,
	}}, nil
}

// search finds a pattern in the output that the session still holds. Text that is not UTF-8 has U+FFFD in its place,
// because JSON cannot hold it.
func search(ctx context.Context, c *toolset.Call, in *ioArgs) (any, error) {
	s, err := c.Look(ctx, in.SessionID)
	if err != nil {
		return nil, err
	}
	pattern := in.Pattern
	if in.IgnoreCase {
		// Within the pattern, so that the limits on its size count it.
		pattern = "(?i)" + pattern
	}
	re, err := schema.RegexpArgument("pattern", pattern)
	if err != nil {
		return nil, err
	}
	r := session.SearchRequest{Pattern: re, Context: in.Context, Max: in.MaxMatches, Clean: in.Format != formatRaw}
	if in.Cursor != "" {
		if r.Cursor, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || r.Cursor < 0 {
			return nil, c.Checker().Invalid(
				"cursor",
				nil,
				"cursor %q is none: pass the next_cursor of a result, or leave it out for all that is held",
				in.Cursor,
			)
		}
	}
	// It reads the output held and never waits, so that it cannot delay the session.
	var res session.SearchResult
	if in.ExecID != "" {
		res, err = s.SearchExec(ctx, in.ExecID, cmp.Or(in.Stream, "stdout"), r)
	} else if in.Stream != "" {
		err = streamNeedsExec(c)
	} else {
		res = s.Search(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	found := &searchOut{
		Action: c.Action(),
		// Never nil: otherwise a client would have to distinguish null from an empty list.
		Lines:      []foundLine{},
		Matches:    res.Matches,
		More:       res.More,
		NextCursor: strconv.FormatInt(res.Next, 10),
		Dropped:    res.Dropped,
		Truncated:  res.Dropped > 0,
	}
	for _, l := range res.Lines {
		found.Lines = append(
			found.Lines,
			foundLine{
				Line:   l.Number,
				Cursor: strconv.FormatInt(l.Cursor, 10),
				Text:   strings.ToValidUTF8(string(l.Text), "\uFFFD"),
				Match:  l.Match,
			},
		)
	}
	return found, canceled(ctx, s)
}
