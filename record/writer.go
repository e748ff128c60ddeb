package record

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"ptyctl/term"
)

// A writer writes a recording. One goroutine owns it.
type writer struct {
	r   *Recorder
	out sink
	*tape
	commands commands
	labels   labels

	head   Header
	early  []item // events before the size of the terminal was known
	began  bool   // the header is made
	full   bool   // output is left out
	probed bool   // whether the file can be read is known
	opened bool   // the session was open
	ended  bool   // it has ended, at over
	over   time.Duration
	exit   string // the status of its program
}

func newWriter(r *Recorder, w io.Writer) *writer {
	wr := &writer{r: r, labels: labels{r.o.Command}}
	wr.out.init(w, r)
	return wr
}

// run writes until the recording is stopped or its session has ended.
func (w *writer) run() {
	defer func() {
		if fault := recover(); fault != nil { // a recording must not end the program
			w.r.queue.close()
			w.r.err = fmt.Errorf("record: a fault in ptyctl: %v", fault)
			w.r.o.Logger.Error("panic in a recording", "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
			if w.r.o.Failed != nil {
				w.r.o.Failed(w.r.err)
			}
		}
		if w.r.o.ended != nil {
			w.r.o.ended()
		}
		close(w.r.done)
	}()
	timer := time.NewTimer(sealEvery)
	defer timer.Stop()
	wake := time.Since(w.r.started) + sealEvery
	flood := false // so the timer is set already, and there is no need to wake for the first of the next events
	for {
		stopped, idle := false, false
		ready := w.r.queue.ready
		if flood {
			ready = nil
		}
		select {
		case <-ready: // more will come, and is better written at once
			if at := time.Since(w.r.started) + gather; at < wake {
				wake = at
				timer.Reset(gather)
			}
			continue
		case <-w.r.queue.much:
			flood = true
		case <-timer.C:
			idle, flood = !flood, false
		case <-w.r.stop:
			stopped = true
		}
		if !w.drain() && idle {
			w.r.queue.shed()
			if w.began {
				w.shed()
			}
		}
		now := time.Since(w.r.started)
		if stopped || w.ended && now >= w.over+linger {
			w.drain()
			w.finish(now)
			return
		}
		if !w.began && len(w.early) > 0 && now >= w.early[0].at+earlyTime {
			w.begin()
		}
		if w.began {
			if len(w.pending) > 0 && now >= w.tape.due() {
				w.flushCommands(now)
			}
			w.commit(now, false)
		}
		sleep := w.next(now)
		if flood {
			sleep = min(sleep, gather)
		}
		wake = now + sleep
		timer.Reset(sleep)
	}
}

// next returns how long the writer may sleep.
func (w *writer) next(now time.Duration) time.Duration {
	at := w.out.due(now)
	if w.began && len(w.pending) > 0 {
		at = min(at, w.tape.due())
	}
	if w.ended {
		at = min(at, w.over+linger)
	}
	if len(w.early) > 0 {
		at = min(at, w.early[0].at+earlyTime)
	}
	return max(at-now, time.Millisecond)
}

// drain writes all that waits, and reports whether there was any.
func (w *writer) drain() (some bool) {
	for {
		b, missed := w.r.queue.take()
		if len(b.items) == 0 && !missed.any() {
			return some
		}
		some = true
		b.each(w.item)
		if missed.any() {
			w.begin()
			w.lose(missed.at, missed.bytes, missed.events, "the disk is too slow")
		}
		if w.began {
			w.commit(time.Since(w.r.started), false)
		}
	}
}

// lose marks output that is not in the recording.
func (w *writer) lose(at time.Duration, bytes, events int64, why string) {
	w.r.dropped.Add(bytes)
	var what []string
	if bytes > 0 {
		what = append(what, grouped(bytes)+" bytes of output")
	}
	if events > 0 {
		what = append(what, grouped(events)+" events")
	}
	w.event(at, codeMarker, "dropped "+strings.Join(what, " and ")+": "+why)
}

// item writes an event with its data.
func (w *writer) item(it item, data []byte) {
	if w.began && w.file == nil && !w.probed && w.out.size > 0 {
		if w.probed = true; readable(w.out.w) != nil {
			w.file = w
		}
	}
	if !w.began && it.event != nil && len(data) == 0 {
		if w.early = append(w.early, it); w.sizeKnown(it.event) || len(w.early) == maxEarly {
			w.begin()
		}
		return
	}
	w.begin()
	if w.full && len(data) > 0 {
		w.r.dropped.Add(int64(len(data)))
		return
	}
	if it.event == nil {
		w.terminal(it.at, data)
	} else {
		w.told(it.at, *it.event, data)
	}
	if len(w.lines) > sealBytes {
		w.commit(it.at, false)
	}
	if !w.full && w.out.size > w.r.o.MaxBytes {
		w.full = true
		w.r.queue.hush()
		w.event(it.at, codeMarker, fmt.Sprintf(
			"full: the recording has %s bytes, which is its limit; output is left out from here on", grouped(w.out.size),
		))
	}
}

// told writes an event that is not output of the terminal.
func (w *writer) told(at time.Duration, e term.Event, data []byte) {
	if e.Verb == term.VerbExecOutput {
		w.commands.output(at, e.Exec, e.Detail == "stderr", data)
		return
	}
	if w.r.o.others {
		w.other(at, e)
		return
	}
	done := e.Outcome() == nil
	if cols, rows, ok := openSize(e); ok && !w.sized(cols, rows) {
		w.resize(at, cols, rows)
	}
	if text := w.labels.of(e); text != "" {
		w.event(at, codeMarker, text)
	}
	switch e.Verb {
	case term.VerbOpen:
		if !done && !w.opened { // after all: there is no session
			w.ended, w.over = true, at
		}
	case term.VerbResize:
		if cols, rows, ok := sizeOf(e.Detail); ok && done {
			w.resize(at, cols, rows)
		}
	case term.VerbExec:
		if done && e.Detail == "channel" {
			w.commands.begin(at, e.Exec, w.labels.line(e))
		}
	case term.VerbExecEnd:
		if e.Detail == "channel" {
			w.commands.end(at, e.Exec, ended(e))
		}
	case term.VerbFileRead, term.VerbFileWrite:
		w.commands.note(at, "["+w.labels.of(e)+"]")
	case term.VerbState:
		w.opened = w.opened || e.State == "open"
		if e.State == "closed" || e.State == "error" {
			w.ended, w.over = true, at
			if x := e.Exit; x != nil && x.Known {
				w.exit = fmt.Sprint(x.Code)
			}
		}
	}
}

// commit writes the lines so far, and a seal if one is due.
func (w *writer) commit(now time.Duration, end bool) {
	lines := w.lines
	w.lines = lines[:0]
	if cap(lines) > 4*sealBytes {
		w.lines = nil
	}
	if end {
		w.out.retry = 0
	}
	switch {
	case w.out.err != nil && w.out.writable(now):
		// These lines do not follow the text that was written last.
		missed := w.out.missed + int64(len(lines))
		if w.last = w.out.last; w.out.size == 0 {
			w.header(w.head)
		}
		w.event(now, codeMarker, "dropped "+grouped(missed)+" bytes of the recording: it was not writable")
		w.redraw(now)
		if w.out.write(w.lines, w.last, now) {
			w.out.missed = 0
		}
		w.lines = w.lines[:0]
	case len(lines) > 0:
		if !w.out.write(lines, w.last, now) {
			w.unwritten(lines)
		}
	}
	w.out.seal(now, end)
}

// settle implements tapeReader.
func (w *writer) settle() (size int64, ok bool) {
	w.commit(time.Since(w.r.started), false)
	return w.out.size, w.out.err == nil
}

// from implements tapeReader.
func (w *writer) from(offset int64) (*Reader, error) {
	f := readable(w.out.w)
	if f == nil {
		return nil, errors.ErrUnsupported
	}
	return lineReader(io.NewSectionReader(f, offset, w.out.size-offset)), nil
}

// finish writes the end.
func (w *writer) finish(now time.Duration) {
	w.begin()
	w.flushCommands(now)
	w.rest(now)
	if w.bad > 0 {
		w.event(now, codeMarker, grouped(w.bad)+" bytes were not UTF-8, and are shown as \uFFFD")
	}
	w.r.dropped.Add(w.r.queue.leftOut())
	if n := w.r.dropped.Load(); w.full && n > 0 {
		w.event(now, codeMarker, "left out "+grouped(n)+" bytes of output in all")
	}
	if w.exit != "" {
		w.event(now, codeExit, w.exit)
	}
	w.commit(now, true)
	if err := w.out.err; err != nil {
		w.r.err = fmt.Errorf("record: %w", err)
	}
}
