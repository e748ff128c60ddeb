package tools

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools/fleet"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/session/await"
	"ptyctl/term"
)

// waitEntry is one thing that the action wait waits for. Without a condition that is any output, or of an exec_id its
// end or its question.
type waitEntry struct {
	SessionID   string `json:"session_id" is:"filled" doc:"needed" eg:"'session_id':'web1-k3f9q2zd'"`
	Cursor      string `json:"cursor" is:"filled number" doc:"default: now" eg:"'cursor':'1290'"`
	UntilRegex  string `json:"until_regex" is:"filled" doc:"RE2" eg:"'until_regex':'\\\\$ $'"`
	UntilIdleMS int64  `json:"until_idle_ms" min:"1" max:"1<<40" doc:"quiet" eg:"'until_idle_ms':2000"`
	UntilPrompt bool   `json:"until_prompt" doc:"a prompt" eg:"'until_prompt':true"`
	UntilExit   bool   `json:"until_exit" doc:"its end" eg:"'until_exit':true"`
	UntilOutput bool   `json:"until_output" doc:"default" eg:"'until_output':true"`
	UntilState  string `json:"until_state" is:"filled" doc:"open" eg:"'until_state':'open'"`
	ExecID      string `json:"exec_id" is:"filled" doc:"end or question" eg:"'exec_id':'exec-5t2k9w3m'"`
	FleetID     string `json:"fleet_id" is:"filled fleet" doc:"or end of this run" eg:"'fleet_id':'f-5t2k9w3m','session_id':null"`
	Host        string `json:"host" is:"filled fleet" doc:"or of its host" eg:"'host':'web1','fleet_id':'f-5t2k9w3m','session_id':null"`
}

// waitOut is the result of the action wait.
type waitOut struct {
	Fired      []firedOut        `json:"fired" is:"listed" compact:"keep"`
	Cursors    map[string]string `json:"cursors,omitempty"` // of the others, by their index in on
	TimedOut   bool              `json:"timed_out"`
	Unanswered []unansweredOut   `json:"unanswered,omitempty"` // entries at nodes that give no answer
	Warnings   []string          `json:"warnings,omitempty"`
}

// firedOut is an entry of on with its condition met.
type firedOut struct {
	On int `json:"on" compact:"keep"` // its index
	firedOf
	Chunk      string     `json:"chunk"`
	Encoding   string     `json:"encoding,omitempty"` // base64, if the chunk is not UTF-8
	NextCursor string     `json:"next_cursor,omitempty"`
	Matched    *bool      `json:"matched,omitempty"` // where until_regex was given
	Gaps       []string   `json:"gaps,omitempty"`
	EOF        bool       `json:"eof,omitempty"`
	Omitted    *omitted   `json:"omitted,omitempty"` // parts left out of the chunk
	Dropped    int64      `json:"dropped_bytes,omitempty"`
	Unsearched int64      `json:"unsearched_bytes,omitempty"`
	Sanitized  *sanitized `json:"sanitized,omitempty"`
	matchedOut            // of the output of an exec that was started with match

	Stderr         string             `json:"stderr,omitempty"` // of an exec, like the next two
	StderrEncoding string             `json:"stderr_encoding,omitempty"`
	StderrOmitted  *omitted           `json:"stderr_omitted,omitempty"`
	DoneReason     session.DoneReason `json:"done_reason,omitempty"`
	ExitCode       *int               `json:"exit_code,omitempty"` // of an exec, or of the program of a session
	ExitSignal     string             `json:"exit_signal,omitempty"`
	ExitReason     string             `json:"exit_code_reason,omitempty"` // why an exec has no exit_code

	WaitingFor *wire.Waiting   `json:"waiting_for,omitempty"`
	Prompt     *wire.Prompt    `json:"prompt,omitempty"` // of a login
	State      session.State   `json:"state,omitempty"`  // of the session, unless it is open
	EndCode    session.EndCode `json:"end_code,omitempty"`
}

// firedOf names the target of an entry: a session or a command of one, a run over many hosts or one host of it.
type firedOf struct {
	SessionID string `json:"session_id"`
	ExecID    string `json:"exec_id,omitempty"`
	FleetID   string `json:"fleet_id,omitempty"`
	Host      string `json:"host,omitempty"`
}

// firedCompact is the compact form of firedOut. It is a separate type without a Compact method.
type firedCompact firedOut

// Compact leaves out that until_regex has matched, the ordinary end of an exec, and its id, which the call has.
func (out firedOut) Compact() any {
	c := firedCompact(out)
	c.ExecID = ""
	c.matchedOut = c.beside(c.Chunk)
	if c.Matched != nil && *c.Matched {
		c.Matched = nil
	}
	switch c.DoneReason {
	case session.DoneExitStatus, session.DoneMarker, session.DonePrompt:
		c.DoneReason = ""
	}
	if c.ExitCode != nil || c.DoneReason == session.DoneRunning {
		c.ExitReason = ""
	}
	c.Sanitized = c.Sanitized.hiding()
	c.WaitingFor = c.WaitingFor.Behind(c.Chunk)
	return c
}

const (
	// sharedChunks is how many bytes of output the entries of a wait may have together, and mostChunk how many one may
	// have. An entry has the end of its output. The rest can be read.
	sharedChunks = 16 << 10
	mostChunk    = 4 << 10

	// leastChunk is how many bytes each entry may have in any case.
	leastChunk = 512
)

// wait waits for the first of several sessions that has something to say, or for all of them.
func wait(ctx context.Context, c *toolset.Call, in *sessionArgs) (any, error) {
	if len(in.On) == 0 {
		return nil, c.Invalid("on", "on is empty: give what to wait for")
	}
	join, which := await.Any, "the first"
	if in.Mode == "all" {
		join, which = await.All, "all"
	}
	c.Waits(fmt.Sprintf("%s of %d sessions", which, len(in.On)), nil)
	if parts := partsOf(ctx, c, in.On); len(parts) > 1 {
		return waitAtNodes(ctx, c, in, parts)
	}
	return waitHere(ctx, c, in, join, nil)
}

// waitHere waits for sessions of this node. at are the indexes of in.On in the call; nil: they are the same.
func waitHere(
	ctx context.Context, c *toolset.Call, in *sessionArgs, join func(context.Context, []await.Entry) ([]await.Result, error), at []int,
) (*waitOut, error) {
	limit := c.Limits().MaxWait
	if in.TimeoutMS != nil {
		limit = c.Millis("timeout_ms", *in.TimeoutMS, limit, "limits.max_wait_ms")
	}
	w := waitFor{
		Call: c, raw: formatOf(c, "", "") == formatRaw, most: chunkOf(len(in.On)), limit: limit,
		runs: make(map[int]fleet.Awaited), at: at,
	}
	entries := make([]await.Entry, len(in.On))
	for i := range in.On {
		var err error
		if entries[i], err = w.entry(ctx, i, &in.On[i]); err != nil {
			return nil, err
		}
	}
	waiting, stop := context.WithTimeout(ctx, limit)
	defer stop()
	results, err := join(waiting, entries)
	if err != nil {
		return nil, w.named(err)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, &term.Error{
			Kind: term.Canceled, Err: ctx.Err(),
			Msg: term.CanceledMsg(ctx, "the call was canceled; nothing is lost: wait again from the same cursors"),
		}
	}
	out := &waitOut{Fired: []firedOut{}, Cursors: make(map[string]string)}
	for i, r := range results {
		switch {
		case r.Met:
			fired, err := w.fired(ctx, i, entries[i], r)
			if err != nil {
				return nil, w.named(&await.EntryError{Index: i, Err: err})
			}
			out.Fired = append(out.Fired, fired)
		default:
			out.Cursors[strconv.Itoa(i)] = strconv.FormatInt(r.Next, 10)
		}
	}
	out.TimedOut = len(out.Fired) == 0 || in.Mode == "all" && len(out.Fired) < len(entries)
	if in.TimeoutMS != nil {
		inMilliseconds(c, "timeout_ms", *in.TimeoutMS, out.TimedOut)
	}
	out.Warnings = c.Warnings()
	return out, nil
}

// chunkOf is how many bytes of output an entry of a wait for n may have.
func chunkOf(n int) int { return max(min(sharedChunks/n, mostChunk), leastChunk) }

// waitFor is one call of wait.
type waitFor struct {
	*toolset.Call
	raw   bool
	most  int // bytes of each chunk
	limit time.Duration
	runs  map[int]fleet.Awaited // by their entries
	at    []int                 // the indexes of the entries in the call; nil: they are the same
}

// path is the path of a member of an entry.
func (w *waitFor) path(i int, member string) string {
	if w.at != nil {
		i = w.at[i]
	}
	return fmt.Sprintf("on[%d].%s", i, member)
}

// entry makes the wait that an entry of the call describes. The caller must be allowed to see its session.
func (w *waitFor) entry(ctx context.Context, i int, in *waitEntry) (e await.Entry, err error) {
	e = await.Entry{Exec: in.ExecID, Read: session.ReadRequest{
		Cursor: session.Latest, MaxBytes: w.most, Last: true, Clean: !w.raw, Prompt: in.UntilPrompt,
		Idle: w.Millis(w.path(i, "until_idle_ms"), in.UntilIdleMS, w.Limits().MaxWait, "limits.max_wait_ms"),
	}}
	if in.FleetID != "" || in.Host != "" {
		return w.fleet(ctx, i, in)
	}
	output := in.UntilRegex != "" || in.UntilIdleMS > 0 || in.UntilOutput
	switch {
	case in.SessionID == "":
		return e, w.Invalid(w.path(i, "session_id"), w.path(i, "session_id")+" is missing")
	case e.Read.Idle > w.limit:
		return e, w.Checker().Invalid(w.path(i, "until_idle_ms"), nil,
			"%s (%d) is longer than timeout_ms (%d), so it could never be reached; raise timeout_ms",
			w.path(i, "until_idle_ms"), in.UntilIdleMS, w.limit.Milliseconds())
	case in.ExecID != "" && in.UntilPrompt:
		return e, w.Invalid(w.path(i, "until_prompt"),
			"until_prompt is for a terminal, not for exec_id, which fires at a question without it; leave one of them out")
	}
	if in.UntilState != "" {
		if in.UntilState != string(session.Open) {
			return e, w.Checker().Invalid(w.path(i, "until_state"), nil,
				"until_state %s does not exist; it is open, and met as well when the session has ended; "+
					"until_exit is for the end alone",
				schema.Shorten(in.UntilState))
		}
		if output || in.UntilPrompt || in.UntilExit || in.ExecID != "" {
			return e, w.Invalid(w.path(i, "until_state"),
				"until_state goes together with no other condition; wait for that in an entry of its own")
		}
		e.Opens = true
	}
	e.Ends, e.Asks = in.ExecID != "" && !output, !in.UntilExit
	e.Read.End = in.UntilExit && !output && !in.UntilPrompt
	if e.Exec != "" && !e.Ends {
		e.Read.Cursor = 0 // all of its output is the caller's
	}
	if in.Cursor != "" {
		if e.Read.Cursor, err = cursorArgument(w.Checker(), w.path(i, "cursor"), in.Cursor); err != nil {
			return e, err
		}
	}
	if in.UntilRegex != "" && !in.UntilOutput { // which any output comes before
		if e.Read.Until, err = schema.RegexpArgument(w.path(i, "until_regex"), in.UntilRegex); err != nil {
			return e, err
		}
	}
	if in.UntilOutput {
		e.Read.Idle, e.Read.Prompt = 0, false
	}
	if e.Session, err = w.Session(ctx, term.VerbRead, in.SessionID); err != nil {
		return e, about(err, w.path(i, "session_id"))
	}
	return e, nil
}

// fleet makes the wait for a run over many hosts, or for one host of it.
func (w *waitFor) fleet(ctx context.Context, i int, in *waitEntry) (e await.Entry, err error) {
	switch {
	case in.FleetID == "":
		return e, w.Invalid(w.path(i, "fleet_id"), w.path(i, "fleet_id")+" is missing: host is one of a run")
	case *in != waitEntry{FleetID: in.FleetID, Host: in.Host}:
		return e, w.Invalid(w.path(i, "fleet_id"), "fleet_id goes together with host alone: it waits for the end")
	}
	w.runs[i], e.Over, err = fleet.Await(ctx, w.Call, in.FleetID, in.Host, w.path(i, "host"))
	return e, err
}

// named returns the error of an entry with the entry's place in the call.
func (w *waitFor) named(err error) error {
	e, ok := errors.AsType[*await.EntryError](err)
	switch {
	case ok && errors.Is(err, term.NotFound):
		return about(e.Err, w.path(e.Index, "exec_id"))
	case ok:
		return e.Err
	}
	return err
}

// about returns err as one about an argument.
func about(err error, field string) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Msg = field + ": " + e.Msg
	named.Facts = append(slices.Clip(named.Facts), term.ArgumentFault{Field: term.Field(field)})
	return &named
}

// fired is the wire form of an entry that is met.
func (w *waitFor) fired(ctx context.Context, i int, e await.Entry, r await.Result) (out firedOut, err error) {
	if run, ok := w.runs[i]; ok {
		end := run.Ending(w.most, w.raw)
		return firedOut{
			On: i, firedOf: firedOf{FleetID: end.FleetID, Host: end.Host}, Chunk: end.Stdout.Text, Encoding: nonText(end.Stdout.Encoding),
			ExitCode: end.ExitCode, ExitReason: end.Reason, Sanitized: newSanitized(end.Stdout.Removed),
		}, nil
	}
	s := e.Session
	out = firedOut{On: i, firedOf: firedOf{SessionID: s.ID(), ExecID: e.Exec}}
	if e.Ends {
		more := session.ContinueRequest{
			MaxOutput: w.most, New: true, Look: w.OnlyReads(ctx), // of a reader, another waits for it
		}
		if e.Read.Cursor >= 0 {
			more.From = &r.Next
		}
		res, err := s.ContinueExec(ctx, e.Exec, more)
		if err == nil {
			out.exec(res, w.raw)
		}
		if err == nil && more.From != nil {
			next := res.Stdout.Next()
			if f := res.StdoutLines; f != nil {
				next = f.Next
			}
			out.NextCursor = strconv.FormatInt(next, 10)
		}
		return out, err
	}
	if e.Opens { // the output that has come meanwhile is still to be read
		out.NextCursor = strconv.FormatInt(r.Next, 10)
	} else {
		out.output(r.Chunk, w.raw)
	}
	if e.Read.Until != nil {
		matched := r.Chunk.Reason == session.ReasonMatched
		out.Matched = &matched
	}
	info := s.Info()
	if e.Opens {
		out.State = info.State
	}
	if info.Prompt != nil {
		out.Prompt = (*wire.Prompt)(info.Prompt)
	}
	switch {
	case info.State != session.Open:
		out.State, out.EndCode = info.State, info.End.Code
		out.ExitCode, out.ExitSignal, _ = wire.Exit(info.End.ProgramExit())
	// Only at the end of the output can its last line be the one that waits; further back it is history.
	case e.Exec == "" && !e.Opens && r.Chunk.Next == r.Chunk.Buffer.End && !r.Chunk.EOF:
		out.WaitingFor = (*wire.Waiting)(s.Waiting())
	}
	return out, nil
}

// nonText returns the encoding unless it is text.
func nonText(encoding string) string {
	if encoding == "utf-8" {
		return ""
	}
	return encoding
}

// output adds the awaited output to the result.
func (out *firedOut) output(k session.Chunk, raw bool) {
	out.NextCursor, out.EOF = strconv.FormatInt(k.Next, 10), k.EOF
	out.Dropped, out.Unsearched, out.Gaps = k.Dropped, k.Unsearched, wire.Cursors(k.Gaps)
	if k.Skipped > 0 {
		out.Omitted = &omitted{Bytes: k.Skipped, Cursor: strconv.FormatInt(k.Start-k.Skipped, 10)}
	}
	if !raw {
		var counts session.Sanitized
		k.Data, counts = k.Clean()
		out.Sanitized = newSanitized(counts)
	}
	if out.Chunk = string(k.Data); !utf8.Valid(k.Data) {
		out.Chunk, out.Encoding = base64.StdEncoding.EncodeToString(k.Data), "base64"
	}
}

// exec adds the end of a command, or its question, to the result.
func (out *firedOut) exec(r session.ExecResult, raw bool) {
	var shown shownOut
	out.Chunk, out.Stderr = shown.put(r, raw)
	out.Encoding, out.Omitted, out.Sanitized = shown.StdoutEncoding, shown.StdoutOmitted, shown.Sanitized
	out.StderrEncoding, out.StderrOmitted = shown.StderrEncoding, shown.StderrOmitted
	out.matchedOut, out.Unsearched = shown.matchedOut, shown.Unsearched
	out.DoneReason, out.ExitReason, out.ExitSignal = r.Done, r.ExitReason, r.Exit.Signal
	if r.Exit.Known {
		out.ExitCode = &r.Exit.Code
	}
	out.WaitingFor = (*wire.Waiting)(r.WaitingFor)
}
