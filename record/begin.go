package record

import (
	"os"
	"strings"
	"time"

	"ptyctl/term"
)

// maxEarly is how many events come before the header, and earlyTime how long they wait for it.
const (
	maxEarly  = 64
	earlyTime = 5 * time.Second
)

// begin writes the header, once, and the events that came before the size of the terminal was known.
func (w *writer) begin() {
	if w.began {
		return
	}
	w.began = true
	h := Header{
		Version: 3, Term: Term{Cols: term.DefaultCols, Rows: term.DefaultRows},
		Timestamp: w.r.started.Unix(), Title: "ptyctl",
		About: About{
			Recording: newID(), Program: w.r.o.Version, PID: os.Getpid(),
			Started: w.r.started.UTC().Truncate(time.Millisecond),
		},
	}
	early := w.early
	w.early = nil
	for _, it := range early {
		e := it.event
		h.About.Session, h.About.Protocol, h.About.Host = plain(e.Session), e.Protocol, w.labels.text(e.Host)
		if cols, rows, ok := openSize(*e); ok {
			h.Term.Cols, h.Term.Rows = cols, rows
		}
	}
	if w.r.o.others {
		h.About.Session, h.About.Protocol, h.About.Host = "", "", ""
		h.Title = "ptyctl " + othersName()
	} else if title := strings.TrimSpace(h.About.Session + " " + h.About.Host); title != "" {
		h.Title = title
	}
	w.tape = newTape(h.Term.Cols, h.Term.Rows)
	w.commands = commands{t: w.tape, running: make(map[string]*command)}
	w.head = h
	w.header(h)
	for i, it := range early {
		if i == 0 {
			w.last = it.at.Truncate(time.Microsecond)
		}
		w.told(it.at, *it.event, nil)
	}
}

// sizeKnown reports whether the size of the terminal is known from e, or will not be known.
func (w *writer) sizeKnown(e *term.Event) bool {
	return w.r.o.others || e.Verb == term.VerbState || e.Verb == term.VerbExec || e.Verb == term.VerbOpen && e.Outcome() != nil
}

// openSize returns the size of the terminal in the event of an open session.
func openSize(e term.Event) (cols, rows int, ok bool) {
	if e.Verb != term.VerbState {
		return 0, 0, false
	}
	size, found := strings.CutPrefix(e.Detail, "terminal ")
	if !found {
		return 0, 0, false
	}
	return sizeOf(size)
}
