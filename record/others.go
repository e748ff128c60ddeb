package record

import (
	"fmt"
	"os"
	"time"

	"ptyctl/term"
)

// othersLife is how long calls without a session go into one recording: a limit of age or size of the folder removes
// only complete ones.
const othersLife = 24 * time.Hour

// isCall reports whether an event is one of those that are recorded also without a session.
func isCall(v term.Verb) bool {
	switch v {
	case term.VerbOutput, term.VerbExecOutput, term.VerbState, term.VerbRead, term.VerbReply, term.VerbHeartbeat,
		term.VerbGone, term.VerbQuestion, term.VerbExecEnd, term.VerbForwardEnd:
		return false
	}
	return true
}

// othersName names the recording of calls without a session.
func othersName() string { return fmt.Sprintf("process-%d", os.Getpid()) }

// observeOther records a call without a session: with files of this machine, or refused before there was a session.
func (d *Dir) observeOther(e term.Event) {
	for d.other(e.Time) != nil {
		d.mu.RLock()
		t := d.others
		current := t != nil && !t.old()
		if current {
			t.Observe(e) // under the mutex, because the next recording may begin meanwhile
		}
		d.mu.RUnlock()
		if current {
			return
		}
	}
}

// other returns the recording of calls without a session, which begins at the first of them; nil after Close.
func (d *Dir) other(now time.Time) *tapeFile {
	d.mu.RLock()
	t := d.others
	d.mu.RUnlock()
	if t != nil && !t.old() {
		return t
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	if t = d.others; t != nil && t.old() {
		t.finish() // does not wait
		d.ending = append(d.ending, t)
		t = nil
	}
	if t == nil {
		t = d.record("", othersName(), now)
		d.others = t
	}
	return t
}

// old reports whether the next call belongs into a new recording.
func (t *tapeFile) old() bool {
	return t.Written() >= t.o.MaxBytes || time.Since(t.started) >= othersLife
}

// other writes a call without a session: its marker, and the same as a line.
func (w *writer) other(at time.Duration, e term.Event) {
	text := w.labels.of(e)
	if e.Session != "" {
		text = clip(text+" (session "+w.labels.text(e.Session)+")", maxLabel)
	}
	w.event(at, codeMarker, text)
	w.commands.note(at, "["+text+"]")
}
