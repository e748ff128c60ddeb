package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ptyctl/session/access"
	"ptyctl/session/keys"
	"ptyctl/term"
)

// maxTxEvents is how many the session remembers.
const maxTxEvents = 100

// A TxEvent says that something was typed, never what: only a single key has its name.
type TxEvent struct {
	Time      time.Time
	Verb      term.Verb // write, answer or exec
	Task      string
	Bytes     int    // 0 when Sensitive: the length of a secret says something of it
	Key       string // "ctrl_c", ...; empty for text
	Sensitive bool
	Reason    string // why ptyctl itself pressed the key
}

// An inputLog is a record of the input of a terminal, without its text.
type inputLog struct {
	keep bool // the events, too

	mu        sync.Mutex // guards the following
	events    []TxEvent  // the last ones, oldest first
	lineTyped int        // bytes typed since the last line end
}

// record remembers e, if the session keeps such events.
func (l *inputLog) record(e TxEvent) {
	if !l.keep {
		return
	}
	if e.Sensitive {
		e.Bytes, e.Key = 0, ""
	}
	e.Time = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) == maxTxEvents {
		l.events = slices.Delete(l.events, 0, 1)
	}
	l.events = append(l.events, e)
}

// TxEvents returns the last inputs, oldest first, if Options.RecordTxEvents is set.
func (s *Session) TxEvents() []TxEvent {
	s.input.mu.Lock()
	defer s.input.mu.Unlock()
	return slices.Clone(s.input.events)
}

// maxCookedLine is the longest line that a terminal in canonical mode takes (termios(3), MAX_CANON, and Linux's
// N_TTY): it drops the rest silently, and the program gets the truncated line.
const maxCookedLine = 4095

// warnings checks the input for mistakes that the caller probably did not intend. The data is typed as given in any
// case. Of sensitive data, a warning repeats at most an escape at the end.
func (out *writer) warnings(data []byte, sensitive bool) (warnings []string) {
	s := out.s
	if text := keys.Spelled(string(data), sensitive); text != "" {
		warnings = append(warnings, text)
	}
	// A line editor, or a full-screen program, takes lines of any length.
	n, m := s.input.line(data), s.screen.modes()
	if n > maxCookedLine && !m.BracketedPaste && !m.AltScreen {
		warnings = append(
			warnings,
			fmt.Sprintf(
				"a line of %d bytes: unless the program reads keys one by one, the terminal takes %d bytes of a line "+
					"and silently drops the rest; "+
					"send shorter lines%s",
				n,
				maxCookedLine,
				s.execs.beside(", or pass long data as stdin of a command in the channel lane"),
			),
		)
	}
	return warnings
}

// line counts the bytes typed since the last line end, and returns the length of the longest line that data makes.
func (l *inputLog) line(data []byte) (longest int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(data) > 0 {
		i := bytes.IndexAny(data, lineEnders)
		if i < 0 {
			l.lineTyped += len(data)
			return max(longest, l.lineTyped)
		}
		longest = max(longest, l.lineTyped+i)
		l.lineTyped, data = 0, data[i+1:]
	}
	return longest
}

// lineEnders are what empties the line that a terminal in canonical mode has taken so far: its ends, the end of file,
// the keys that signal, and the one that erases the line (termios(3), ICANON, ISIG and VKILL).
const lineEnders = "\r\n\x03\x04\x15\x1a\x1c"

// The brackets around pasted text, if the program has asked for them (xterm control sequences, "Bracketed Paste
// Mode").
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// pasted returns data as a terminal sends pasted text: line ends are CR, as the enter key's are. It is put between
// brackets if the program has asked for them (DECSET 2004), so that it is text and not keys.
func (k *writer) pasted(data []byte) (out []byte, warnings []string, err error) {
	s := k.s
	if bytes.Contains(data, []byte(pasteEnd)) {
		return nil, nil, &term.Error{
			Op:      "write",
			Session: s.id,
			Kind:    term.InvalidArgument,
			Msg:     `the data holds ESC [ 201 ~, which would end the paste, and what follows it would act as keys; remove it`,
			Facts:   term.Facts{term.ArgumentFault{Field: term.FieldData}},
		}
	}
	out = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\r")), []byte("\n"), []byte("\r"))
	if s.screen.modes().BracketedPaste {
		return append(append([]byte(pasteStart), out...), pasteEnd...), nil, nil
	}
	if i := bytes.IndexByte(out, '\r'); i >= 0 && i < len(out)-1 {
		warnings = []string{"the program has not asked for bracketed paste: the lines were typed one by one, each with enter"}
	}
	return out, warnings, nil
}

// pressProtocolKey has the transport press a key of its protocol. It is on record like any other.
func (out *writer) pressProtocolKey(
	ctx context.Context,
	name string,
	timeout time.Duration,
) (res WriteResult, err error) {
	s := out.s
	const op = "write"
	d := s.auth.Begin(ctx, term.VerbWrite, term.Event{Detail: name})
	defer func() { d.End(err) }()
	res.Cursor = s.End()
	if err := s.life.alive(op); err != nil {
		return res, err
	}
	sender, ok := s.link.Load().Transport.(term.KeySender)
	if !ok {
		return res, &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.Unsupported,
			Msg:     fmt.Sprintf("this session's protocol has no key %s; to interrupt what runs press ctrl_c", name),
			Facts:   term.Facts{term.ArgumentFault{Field: term.FieldKey}},
		}
	}
	epoch, err := d.Permit(ctx, term.Action{Key: name})
	if err != nil {
		return res, err
	}
	setDefault(&timeout, s.o.WriteTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := s.lock.StillHeld(op, access.HolderOf(term.ActorFrom(ctx)), epoch); err != nil {
		return res, err
	}
	line, end := s.lane.LastLine(), s.End()
	err = sender.SendKey(ctx, name)
	if !errors.Is(err, term.Unsupported) { // otherwise the terminal is unchanged
		s.prompts.Touch(line, end, false)
		s.input.record(TxEvent{Verb: term.VerbWrite, Task: access.HolderOf(term.ActorFrom(ctx)).String(), Key: name})
		s.timeouts.touch()
		if name == term.KeyBreak || name == term.KeyInterruptProcess {
			s.lane.Input([]byte("\x03")) // it means the same to what runs
		}
	}
	if err != nil {
		return res, s.life.transportError(op, err)
	}
	return res, nil
}
