package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/session/keys"
	"ptyctl/term"
)

// maxKeys is how many keys a list may have.
const maxKeys = 100

// writeSteps types the steps of a call, and shows the output since the first.
func writeSteps(ctx context.Context, c *toolset.Call, s *session.Session, in *ioArgs, out *ioOut) error {
	list, err := stepsOf(c, in, ofStep)
	if err != nil {
		return err
	}
	return typeSteps(ctx, c, s, in, list, out)
}

// typeSteps types a list that stepsOf has made. In a call that has opened the session, a first step that was refused is
// part of the result, because the session is there.
func typeSteps(
	ctx context.Context, c *toolset.Call, s *session.Session, in *ioArgs, list []session.Step, out *ioOut,
) error {
	lines, err := matchArgs(in.lineArgs).filter(c, in.Format)
	if err != nil {
		return err
	}
	limit := c.Left()
	if in.TimeoutMS != nil && *in.TimeoutMS > 0 {
		limit = min(limit, c.Millis("timeout_ms", *in.TimeoutMS, c.Limits().MaxWait, "limits.max_wait_ms"))
	}
	// A client that has given up does not know how far the list would go.
	running, cancel := c.UntilGivenUp(ctx)
	defer cancel()
	res, err := s.WriteSteps(running, list, limit)
	if err != nil {
		return err
	}
	if in.Host != "" {
		res.Cursor = out.from
	}
	if err = failure(s, res, len(list)); err != nil && (in.Host == "" || res.Stopped == session.StopCanceled) {
		return err
	}
	for _, w := range res.Warnings {
		c.Warn(w)
	}
	out.BytesWritten, out.BytesPending, out.WriteTimedOut = &res.Written, res.Pending, res.TimedOut
	out.Cursor = strconv.FormatInt(res.Cursor, 10)
	if res.TimedOut {
		c.Inform(notTaken(res.Pending))
	}
	if res.Answered {
		judged(ctx, c, s, out)
	}
	k, err := showSteps(ctx, c, s, in, lines, out, res)
	if err != nil {
		return err
	}
	if last := in.Steps[len(in.Steps)-1]; res.Stopped == "" && last.conditional() { // its condition is met
		out.Matched = last.UntilRegex != "" || last.UntilPrompt || last.UntilScreen != "" || in.UntilCursor.Row > 0
		out.IdleReached = last.UntilIdleMS > 0 || last.UntilStableMS > 0
	} else if res.Stopped != "" {
		out.stepsOut = &stepsOut{Stopped: res.Stopped, Step: res.Done, Typed: res.Typed, nothing: in.Host == "" && untouched(res)}
	}
	switch res.Stopped {
	case session.StopRefused, session.StopTaken:
		f := wire.NewFailure(ctx, res.Err)
		if term.FactOf[term.Denial](res.Err).Consent != nil {
			f.Message += "; no person was asked, because the call has done more: write this step in a call of its own"
		}
		out.Error = &f
	case session.StopTime:
		if in.TimeoutMS != nil {
			inMilliseconds(c, "timeout_ms", *in.TimeoutMS, true)
		}
	case session.StopUnmatched:
		name := "timeout_ms"
		if !out.alone {
			name = ofStep(res.Done, name)
		}
		inMilliseconds(c, name, in.Steps[res.Done].TimeoutMS, res.Late)
		missed := *in
		missed.UntilRegex = in.Steps[res.Done].UntilRegex
		switch {
		case res.OwnEcho:
			c.Inform(ownEcho)
		case missed.UntilRegex != "" && !in.onScreen():
			adviseFormat(c, k, &missed)
		}
	}
	return canceled(ctx, s)
}

// untouched reports whether a list has typed nothing.
func untouched(res session.StepsResult) bool {
	return res.Done == 0 && res.Written+res.Pending == 0 && !res.Answered
}

// failure returns the error of a call if its list did nothing because of the session or for want of a person's consent,
// or if its client has canceled it. Other causes that stop a list are part of the result.
func failure(s *session.Session, res session.StepsResult, steps int) error {
	if res.Stopped == session.StopCanceled {
		return &term.Error{
			Session: s.ID(), Kind: term.Canceled,
			Msg: fmt.Sprintf("the call was canceled: %d of %d steps were done, and none will be typed later; "+
				"read from cursor %d what came of them", res.Done, steps, res.Cursor),
			Facts: term.Facts{term.PartialWrite{Written: res.Written}},
		}
	}
	if res.Stopped != session.StopRefused || !untouched(res) {
		return nil
	}
	switch term.KindOf(res.Err) {
	case term.Locked, term.LockRequired, term.IOError:
		return nil
	case term.PolicyDenied:
		// The call is made again once a person has agreed; the steps before it would be typed twice.
		if term.FactOf[term.Denial](res.Err).Consent == nil {
			return nil
		}
	}
	return res.Err
}

// writeKeys presses keys in one turn, as one write. Where only some of them were pressed, the error says how far.
func writeKeys(ctx context.Context, c *toolset.Call, s *session.Session, in []session.StepInput) (session.WriteResult, error) {
	running, cancel := c.UntilGivenUp(ctx)
	defer cancel()
	r, err := s.WriteSteps(running, []session.Step{{Inputs: in}}, c.Left())
	res := session.WriteResult{
		Cursor: r.Cursor, Written: r.Written, Pending: r.Pending, TimedOut: r.TimedOut || r.Stopped == session.StopTime,
		Answered: r.Answered, Echo: r.Echo, Warnings: r.Warnings,
	}
	if err == nil {
		err = r.Err
	}
	if r.Stopped == session.StopCanceled {
		err = failure(s, r, 1)
	}
	e, ok := errors.AsType[*term.Error](err)
	if !ok || untouched(r) {
		return res, err
	}
	partial := *e
	partial.Facts = e.Facts.With(term.PartialWrite{Written: r.Written})
	// A repeated call would press the first keys again.
	denied := term.FactOf[term.Denial](e)
	if denied.Consent != nil {
		denied.Consent = nil
		partial.Facts = partial.Facts.With(denied)
	}
	return res, &partial
}

// showSteps shows the output since the first step, its end if it is more than the call asks for, or the screen.
func showSteps(
	ctx context.Context, c *toolset.Call, s *session.Session, in *ioArgs, lines *session.Filter, out *ioOut,
	res session.StepsResult,
) (session.Chunk, error) {
	cursor := res.Cursor
	r := session.ReadRequest{Cursor: cursor, NoWait: true}
	r.MaxBytes = c.Lower("max_bytes", in.MaxBytes, c.Limits().MaxReadBytes, "limits.max_read_bytes")
	if r.MaxBytes == 0 {
		r.MaxBytes = defaultChunk
	}
	in.room(c, &r, lines)
	if in.onScreen() {
		done := len(in.Steps)
		if res.Stopped == session.StopRefused {
			done = res.Done
		} else if res.Stopped != "" {
			done = 0 // it has waited
		}
		if done > 0 && !in.Steps[done-1].conditional() {
			r = settled(r.Within(min(c.Limits().ReadTimeout, c.Left())))
			r.Cursor = res.Last
		} else if done > 0 && in.Steps[done-1].waitsForScreen() != "" {
			s.ServerView().FinishScreen(ctx)
		}
		return session.Chunk{}, readScreen(ctx, c, s, r, in, out)
	}
	if more := s.End() - cursor - int64(r.MaxBytes); more > 0 {
		r.Tail = true
		c.Inform(fmt.Sprintf("the chunk is the end of the output: %d bytes before it are left out; "+
			"read from cursor \"%d\" for all", more, cursor))
	}
	k := s.Read(ctx, r)
	show(ctx, c, s, k, in, lines, out)
	out.TimedOut, out.Full, out.Matched = false, false, false // it has not waited
	return k, nil
}

// judged says how a login has judged an answer: it asks on, is open, or has ended.
func judged(ctx context.Context, c *toolset.Call, s *session.Session, out *ioOut) {
	out.State = s.State()
	if i := s.Info(); i.State.Ended() {
		out.EndCode = i.End.Code
		c.Inform("the session is over: " + wire.WordsFor(ctx).EndReason(i.End))
	}
}

// ofStep names a field of a step in errors.
func ofStep(i int, field string) string { return fmt.Sprintf("steps[%d].%s", i, field) }

// stepsOf checks all the steps of a call and turns them into steps of the engine: it types nothing if any step is
// wrong. name names a field of a step in errors.
func stepsOf(c *toolset.Call, in *ioArgs, name func(i int, field string) string) ([]session.Step, error) {
	ch := c.Checker()
	last := &in.Steps[len(in.Steps)-1]
	switch {
	case in.Secret != "":
		return nil, ch.Invalid("secret", nil, "secret belongs to a step; move it there")
	case in.Data != nil && *in.Data != "" || in.Key != "" || len(in.Keys) > 0 || in.Click != (screenPoint{}):
		return nil, ch.Invalid("steps", nil, "steps exclude data, key, keys and click: make them a step, or leave them out")
	case in.Paste:
		return nil, ch.Invalid("paste", nil, "paste belongs to a step; move it there")
	case in.Mode == "tail" || in.MaxLines > 0 || in.InputHints.WaitFor != nil && len(*in.InputHints.WaitFor) > 0:
		return nil, ch.Invalid("steps", nil, "steps take no mode, max_lines and input_hints; leave them out")
	case in.Match != "" && !in.conditional() && !slices.ContainsFunc(in.Steps, func(st ioStep) bool { return st.conditional() }):
		return nil, ch.Invalid("match", nil, matchNeedsWait)
	case !in.conditional():
	case last.conditional():
		return nil, ch.Invalid("steps", nil, "the last step has a condition of its own; give one of the two")
	default: // the call's condition comes after its last step
		last.UntilRegex, last.UntilPrompt, last.UntilIdleMS = in.UntilRegex, in.UntilPrompt, in.UntilIdleMS
		last.UntilScreen, last.UntilStableMS = in.UntilScreen, in.UntilStableMS
		last.TimeoutMS = cmp.Or(last.TimeoutMS, c.Left().Milliseconds())
	}
	in.UntilRegex = ""
	list := make([]session.Step, len(in.Steps))
	for i := range in.Steps {
		var err error
		if list[i], err = stepOf(c, in, i, name); err != nil {
			return nil, err
		}
	}
	if in.UntilCursor != (screenPoint{}) {
		w, err := in.wait(ch, c.Limits().MaxWait, func(name string) string { return name })
		if err != nil {
			return nil, err
		}
		list[len(list)-1].Wait.Screen.Cursor = w.Cursor
	}
	return list, nil
}

// conditional reports whether the call itself waits for something.
func (in *ioArgs) conditional() bool {
	return in.awaits() || in.UntilIdleMS > 0 || in.UntilStableMS > 0
}

// awaits reports whether the call waits for something to appear.
func (in *ioArgs) awaits() bool {
	return in.UntilRegex != "" || in.UntilPrompt || in.UntilScreen != "" || in.UntilCursor != (screenPoint{})
}

// conditional reports whether the step waits for something.
func (st *ioStep) conditional() bool {
	return st.UntilRegex != "" || st.UntilPrompt || st.UntilIdleMS > 0 || st.waitsForScreen() != ""
}

// waits reports whether the step only waits.
func (st *ioStep) waits() bool {
	return st.conditional() && (st.Data == nil || *st.Data == "") && st.Key == "" && len(st.Keys) == 0 &&
		st.Click == (screenPoint{}) && st.Secret == ""
}

// stepOf turns one step into a step of the engine.
func stepOf(c *toolset.Call, in *ioArgs, i int, name func(i int, field string) string) (step session.Step, err error) {
	ch, st := c.Checker(), &in.Steps[i]
	at := func(field string) string { return name(i, field) }
	if in.Host != "" && i == 0 && st.waits() { // waits for the first output of the new terminal
		step.Wait.Whole = true
	} else if step.Inputs, err = st.inputs(c, at, in.Encoding); err != nil {
		return step, err
	}
	for n := range step.Inputs {
		step.Inputs[n].Sensitive = st.Sensitive || in.Sensitive
		if step.Inputs[n].Paste = st.Paste; st.Paste && (st.Key != "" || len(st.Keys) > 0) {
			return step, ch.Invalid(at("paste"), nil, "paste is for data, not for a key; leave it out")
		}
	}
	w := &step.Wait
	w.Prompt, w.Clean, w.IncludeEcho = st.UntilPrompt, in.Format != formatRaw, in.IncludeEcho
	// Without a condition it waits only for the judgement of a login, which takes its time.
	if st.conditional() {
		w.Timeout = c.Limits().ReadTimeout
	}
	if st.TimeoutMS > 0 {
		w.Timeout = c.Millis(at("timeout_ms"), st.TimeoutMS, c.Limits().MaxWait, "limits.max_wait_ms")
	}
	if w.Idle = time.Duration(st.UntilIdleMS) * time.Millisecond; w.Idle > w.Timeout {
		return step, ch.Invalid(at("until_idle_ms"), nil,
			"%s (%d) is longer than the step's timeout_ms (%d), so it could never be reached; raise timeout_ms",
			at("until_idle_ms"), st.UntilIdleMS, w.Timeout.Milliseconds())
	}
	if st.UntilRegex != "" {
		if w.Until, err = schema.RegexpArgument(at("until_regex"), st.UntilRegex); err != nil {
			return step, err
		}
	}
	onScreen := st.screen()
	w.Screen, err = onScreen.wait(ch, w.Timeout, at)
	if n := len(step.Inputs); n > 0 && !in.IncludeEcho && !step.Inputs[n-1].Sensitive {
		w.Screen.Typed = entered(step.Inputs[n-1].Data)
	}
	return step, err
}

// inputs returns the writes of the step.
func (st *ioStep) inputs(c *toolset.Call, at func(string) string, encoding string) ([]session.StepInput, error) {
	others := st.Data != nil && *st.Data != "" || st.Key != "" || len(st.Keys) > 0
	switch {
	case st.Secret == "" && st.Click == (screenPoint{}):
		return inputsOf(c, at, st.Data, st.Key, st.Keys, encoding)
	case st.Secret == "":
	case others || st.Click != (screenPoint{}) || st.Paste:
		return nil, c.Checker().Invalid(at("secret"), nil, "secret excludes data, key, keys, click and paste: it types the "+
			"secret and enter, and nothing else; write the others in a step of their own")
	default:
		return []session.StepInput{{Secret: st.Secret}}, nil
	}
	if err := st.Click.clicks(c, at, others); err != nil {
		return nil, err
	}
	return []session.StepInput{{Click: st.Click.point()}}, nil
}

// inputsOf returns the writes of data, of a key or of a list of keys; at names their arguments in errors. A key of one
// character types itself. Empty values are from clients that give every argument.
func inputsOf(
	c *toolset.Call, at func(string) string, data *string, key string, list []string, encoding string,
) ([]session.StepInput, error) {
	ch := c.Checker()
	given := 0
	for _, has := range []bool{data != nil && *data != "", key != "", len(list) > 0} {
		if has {
			given++
		}
	}
	switch {
	case given > 1:
		return nil, ch.Invalid(at("data"), nil, "data, key and keys exclude each other: give one of them, "+
			"and the others in a step of their own; \\r at the end of data is enter")
	case len(list) > maxKeys:
		return nil, ch.Invalid(at("keys"), nil, "%s has %d keys; it may have at most %d", at("keys"), len(list), maxKeys)
	case given == 0 && data == nil:
		return nil, ch.Invalid(at("data"), nil, "nothing to write: pass data (text), key or keys; "+
			"a condition belongs to the step that types")
	case key != "":
		one, err := pressed(ch, at("key"), key)
		return []session.StepInput{one}, err
	case len(list) > 0:
		inputs := make([]session.StepInput, len(list))
		for n, key := range list {
			var err error
			if inputs[n], err = pressed(ch, fmt.Sprintf("%s[%d]", at("keys"), n), key); err != nil {
				return nil, err
			}
		}
		return inputs, nil
	}
	text, err := toolset.Decode(ch, at("data"), *data, encoding)
	return []session.StepInput{{Data: text}}, err
}

// pressed is the write of a key.
func pressed(ch *schema.Checker, at, name string) (session.StepInput, error) {
	key := keyName(keyName("").Canonical(name))
	switch {
	case key.character():
		return session.StepInput{Data: []byte(key)}, nil
	case !keys.Known(string(key)):
		return session.StepInput{}, ch.Invalid(at, nil, "%s", keys.Unknown(string(key)))
	}
	return session.StepInput{Key: string(key)}, nil
}
