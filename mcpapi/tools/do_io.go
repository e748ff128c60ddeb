package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools/changes"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/session/keys"
	"ptyctl/term"
)

// defaultChunk is the length of a read that gives no max_bytes, in bytes: the common clients show a model that much
// in full.
const defaultChunk = 16 << 10

// doIO runs one action of ptyctl_session_io. The result of a read or write has the login's open question and any
// state other than open: a caller must not miss them.
func doIO(ctx context.Context, c *toolset.Call, in *ioArgs) (any, error) {
	// A search looks at the held output without waiting, so it has its own result and no question in it.
	if c.Action() == "search" {
		var err error
		if in.Format, err = formatFor(c, in); err != nil {
			return nil, err
		}
		return search(ctx, c, in)
	}
	if in.FleetID != "" {
		return readFleet(ctx, c, in)
	}
	if err := in.Args.Check(c.Checker()); err != nil {
		return nil, err
	}
	asScreen, err := in.showsScreen(c)
	if err != nil {
		return nil, err
	}
	in.Format = formatOf(c, in.Format, in.Encoding)
	switch {
	case in.Host != "" && c.Action() == "read":
		return nil, c.Invalid("fleet_id", "host needs fleet_id: the run that the host belongs to; "+
			"to read a terminal, pass the session_id of its session")
	case in.Host != "" && in.Given():
		return nil, c.Invalid("host", "lines are for a terminal that is open and shows its prompt: open it first, "+
			"and pass its session_id")
	case in.Host != "":
		return typeAt(ctx, c, in)
	case in.SessionID == "":
		return nil, c.Checker().Invalid("session_id", nil, "session_id is missing, and so is host: "+
			"pass the session_id of an open session, or host to type into a new one there")
	}
	s, err := c.Session(ctx, term.Verb(c.Action()), in.SessionID)
	if err != nil {
		return nil, err
	}
	// A read may wait for most of a minute; a client that asked for progress learns in the meantime that the
	// call is alive.
	c.Waits("the "+c.Action()+" on "+s.ID(), s)
	out := &ioOut{Action: c.Action(), session: in.SessionID, asked: in.awaits()}
	switch {
	case in.Given():
		err = pasteLines(ctx, c, s, in, out)
	case len(in.Steps) > 0:
		out.asked = false
		err = writeSteps(ctx, c, s, in, out)
	case c.Action() == "write":
		err = write(ctx, c, s, in, out)
	case asScreen:
		err = look(ctx, c, s, in, out)
	default:
		err = read(ctx, c, s, in, out)
	}
	if err != nil {
		return nil, err
	}
	out.standing(c, s, in)
	return out, nil
}

// An argument is one of a call, and whether it is given.
type argument struct {
	name  string
	given bool
}

// first returns the name of the first given argument, or "".
func first(list ...argument) string {
	for _, a := range list {
		if a.given {
			return a.name
		}
	}
	return ""
}

// pasteLines types lines one by one.
func pasteLines(ctx context.Context, c *toolset.Call, s *session.Session, in *ioArgs, out *ioOut) error {
	if other := first(
		argument{"data", in.Data != nil && *in.Data != ""},
		argument{"key", in.Key != ""},
		argument{"keys", len(in.Keys) > 0},
		argument{"steps", len(in.Steps) > 0},
		argument{"click", in.Click != (screenPoint{})},
		argument{"secret", in.Secret != ""},
		argument{"sensitive", in.Sensitive},
		argument{"paste", in.Paste},
		argument{"encoding", in.Encoding == "base64"},
		argument{"until_regex", in.UntilRegex != ""},
		argument{"until_prompt", in.UntilPrompt},
		argument{"until_idle_ms", in.UntilIdleMS > 0},
		argument{"mode", in.Mode != ""},
		argument{"match", in.Match != ""},
		argument{"format", in.onScreen()},
	); other != "" {
		return c.Checker().Invalid(other, nil, "lines has no use for %s: each line is typed as it is, and waits for "+
			"the answer to the one before; leave %[1]s out, or write it in a call of its own", other)
	}
	wait := c.Left()
	if in.TimeoutMS != nil {
		wait = min(wait, c.Millis("timeout_ms", *in.TimeoutMS, c.Limits().MaxWait, "limits.max_wait_ms"))
	}
	room := cmp.Or(c.Lower("max_bytes", in.MaxBytes, c.Limits().MaxReadBytes, "limits.max_read_bytes"), defaultChunk)
	res, pasted, err := in.Args.Write(ctx, c, s, wait, room)
	if err != nil {
		return err
	}
	for _, hint := range pasted.Hints(res.ID) {
		c.Inform(hint)
	}
	if res.Done == session.DoneRunning {
		if hint := changes.BatchHint(s, in.Lines); hint != "" {
			c.Inform(hint)
		}
	}
	out.pasteOut = &pasteOut{Pasted: pasted, DoneReason: res.Done, ExecID: res.ID, RemainingMS: remaining(res)}
	out.WaitingFor = (*wire.Waiting)(res.WaitingFor)
	return canceled(ctx, s)
}

// standing adds the state of the session and the open question of its login, and how the call has fared.
func (out *ioOut) standing(c *toolset.Call, s *session.Session, in *ioArgs) {
	if q := s.Question(); q != nil {
		asked := wire.Prompt(q.Prompt())
		if out.readOut != nil && len(asked.Text) > maxRepeated && shows(out.Chunk, asked.Text) {
			asked.Text = ""
		}
		out.Prompt, out.WaitingForInput = &asked, true
	}
	if w := wire.PersonOf(s, out.Prompt); w != nil {
		out.WaitingFor = w
	}
	if st := s.State(); st != session.Open {
		out.State = st
	}
	if in.TimeoutMS != nil && out.readOut != nil {
		// A read of new output is often short on purpose, and loses nothing.
		look := !out.asked && in.UntilIdleMS == 0 && *in.TimeoutMS >= 100
		inMilliseconds(c, "timeout_ms", *in.TimeoutMS, out.TimedOut && !look)
	}
	out.Warnings = c.Warnings()
}

// maxRepeated is how long a question of a login may be, in bytes, to be in the prompt of a result and in its output.
const maxRepeated = 200

// shows reports whether the output contains the text, however its lines end.
func shows(output, text string) bool {
	return strings.Contains(strings.ReplaceAll(output, "\r", ""), strings.ReplaceAll(text, "\r", ""))
}

// write types data or a key, and then reads if the call gives a condition to wait for. The time of the write counts
// toward the time of the read.
func write(ctx context.Context, c *toolset.Call, s *session.Session, in *ioArgs, out *ioOut) error {
	ch := c.Checker()
	var data []byte
	var err error
	var list []session.StepInput // of keys
	if (in.Key != "" || len(in.Keys) > 0) && in.Data != nil && *in.Data == "" {
		in.Data = nil // from clients that give every argument
	}
	character := in.Data == nil && in.Key.character()
	switch {
	case in.Secret != "":
		if err = in.secretAlone(ch); err != nil {
			return err
		}
	// Which of the two came first would be a guess, and a key such as enter runs the line that was typed.
	case len(in.Keys) > 0 && in.Click == (screenPoint{}):
		if in.Paste {
			return ch.Invalid("paste", nil, "paste is for data, not for keys; leave it out")
		}
		at := func(field string) string { return field }
		if list, err = inputsOf(c, at, in.Data, string(in.Key), in.Keys, in.Encoding); err != nil {
			return err
		}
		for i := range list {
			list[i].Sensitive = in.Sensitive
		}
	case character: // the key types its own name
		data, in.Key = []byte(in.Key), ""
	case in.Click != (screenPoint{}):
		at := func(field string) string { return field }
		if err = in.Click.clicks(c, at, in.Data != nil && *in.Data != "" || in.Key != "" || len(in.Keys) > 0); err != nil {
			return err
		}
	case in.Data != nil && in.Key == "enter":
		return ch.Invalid("key", nil, "data and key exclude each other: leave key out, and end data with \\r, which is enter")
	case in.Data != nil && in.Key != "":
		return ch.Invalid("key", nil, "data and key exclude each other: write data alone, then key in a call of its own")
	case in.Data != nil:
		if data, err = toolset.Decode(ch, "data", *in.Data, in.Encoding); err != nil {
			return err
		}
	case in.Key != "" && in.Paste:
		return ch.Invalid("paste", nil, "paste is for data, not for a key; leave it out")
	case in.Key != "":
		if !keys.Known(string(in.Key)) {
			return ch.Invalid("key", nil, "%s", keys.Unknown(string(in.Key)))
		}
	case c.Text("lines") != "": // which does not count
		return ch.Invalid("lines", nil, "lines has blank lines alone, so there is nothing to type; key enter types an empty one")
	default:
		return ch.Invalid("data", nil, "nothing to write: pass data (text), key (a special key), keys, click or steps")
	}
	read, conditions, err := readRequest(c, in)
	if err != nil {
		return err
	}
	lines, err := matchArgs(in.lineArgs).filter(c, in.Format)
	if err != nil {
		return err
	}
	switch {
	case lines != nil && !conditions:
		return ch.Invalid("match", nil, matchNeedsWait)
	case in.Mode == "tail" && !conditions:
		return ch.Invalid("mode", nil, "mode is for what a write waits for: add until_regex, until_prompt or until_idle_ms")
	case in.MaxLines > 0 && in.Mode != "tail":
		return ch.Invalid("max_lines", nil, "max_lines belongs to mode tail; add mode tail, or leave max_lines out")
	}
	left, turn := c.Left(), time.Duration(0)
	if in.TimeoutMS != nil { // it bounds the waits before the write, too: for other calls, and for a vault or a person
		turn = max(c.Millis("timeout_ms", *in.TimeoutMS, c.Limits().MaxWait, "limits.max_wait_ms"), 1)
		left = min(left, turn)
	}
	start := time.Now()
	// The read's arguments were checked before this point, because a write cannot be taken back once a wrong
	// pattern is found.
	var res session.WriteResult
	if list != nil {
		res, err = writeKeys(ctx, c, s, list)
	} else if in.Secret != "" { // a vault or a person may take their time
		limited, cancel := context.WithTimeout(ctx, max(left, 1))
		defer cancel()
		res, err = s.Write(limited, nil, session.WriteOptions{Secret: in.Secret, Turn: turn})
	} else {
		res, err = s.Write(ctx, data, session.WriteOptions{
			Sensitive: in.Sensitive, Key: string(in.Key), Click: in.Click.point(), Paste: in.Paste, Turn: turn,
		})
	}
	if err != nil {
		return err
	}
	for _, w := range res.Warnings {
		c.Warn(w)
	}
	// A pointer, because 0 bytes written is a fact that the caller needs after a timeout.
	if out.Secret = in.Secret; out.Secret == "" {
		out.BytesWritten = &res.Written
	}
	out.BytesPending, out.WriteTimedOut = res.Pending, res.TimedOut
	out.Cursor = strconv.FormatInt(res.Cursor, 10)
	if res.TimedOut {
		c.Inform(notTaken(res.Pending))
	}
	if res.Answered {
		// The far side judges an answer in its own time, and the caller wants to know the verdict: the next
		// question, an open session, or the end.
		s.Settle(ctx, read.Timeout)
		judged(ctx, c, s, out)
		read = read.Within(read.Timeout - time.Since(start))
	}
	// Without a condition a write returns at once, as typing does. After a timeout the far side takes no
	// input, and waiting for its reaction would only cost more time.
	if in.onScreen() {
		read.Cursor = res.Cursor
		if !in.IncludeEcho && !in.Sensitive {
			read.Screen.Typed = entered(data)
		}
		if res.TimedOut {
			read.NoWait = true
		}
		return readScreen(ctx, c, s, settled(read.Within(min(read.Timeout, c.Limits().MaxWait-time.Since(start)))), in, out)
	}
	if conditions && !res.TimedOut {
		// From before the write, so that a fast answer is not missed.
		read.Cursor = res.Cursor
		if !in.IncludeEcho {
			read.Echo = res.Echo
		}
		// Of an answer in whole, the end and not the beginning.
		if (in.UntilRegex != "" || in.UntilPrompt) && in.MaxBytes > 0 && in.Mode == "" && lines == nil {
			read.Tail = true
		}
		in.room(c, &read, lines)
		// The call as a whole waits no longer than a client does, whatever its parts ask for.
		chunk := s.Read(ctx, read.Within(min(read.Timeout, c.Limits().MaxWait-time.Since(start))))
		if chunk.Reason == session.ReasonLimit { // the write itself succeeded
			c.Inform(wire.WordsFor(ctx).Of(s.TooManyReads()))
		}
		show(ctx, c, s, chunk, in, lines, out)
		if chunk.OwnEcho && (chunk.Reason == session.ReasonTimeout || chunk.Reason == session.ReasonIdle) {
			c.Inform(ownEcho)
		}
	}
	return canceled(ctx, s)
}

// secretAlone refuses other input beside a secret. Empty values are from clients that give every argument.
func (in *ioArgs) secretAlone(ch *schema.Checker) error {
	switch {
	case in.Data != nil && *in.Data != "" || in.Key != "" || len(in.Keys) > 0 || in.Click != (screenPoint{}):
		return ch.Invalid("secret", nil, "secret excludes data, key, keys and click: it types the secret and enter, and "+
			"nothing else; write the others in a call of their own")
	case in.Paste:
		return ch.Invalid("paste", nil, "paste is for data, not for a secret; leave it out")
	}
	in.Data = nil
	return nil
}

// ownEcho is the warning about a pattern that only the echo of typed text has matched.
const ownEcho = "until_regex matched only in lines that look like the terminal's echo of data, which do not count; " +
	"if they are output, pass include_echo"

// matchNeedsWait refuses a match without a condition, which would match only the output that happens to be there.
const matchNeedsWait = "match is for what a write waits for: add until_regex, until_prompt or until_idle_ms"

// canceled is the error of a call after its client stopped waiting.
func canceled(ctx context.Context, s *session.Session) error {
	if !errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return &term.Error{
		Session: s.ID(),
		Kind:    term.Canceled,
		Msg:     term.CanceledMsg(ctx, "the call was canceled; nothing is lost: read again from the same cursor"),
		Err:     ctx.Err(),
	}
}

// notTaken is the warning about a write that timed out before the last pending bytes were taken.
func notTaken(pending int) string {
	if pending == 0 {
		return "the far side did not take all of it in time; read what it shows; a signal or close does not wait for it"
	}
	return fmt.Sprintf("the far side did not take all of it in time; %d bytes (bytes_pending) may still go out, "+
		"so do not send them again: read what it shows; a signal or close does not wait for it", pending)
}
