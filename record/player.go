package record

import (
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"

	"ptyctl/screen"
)

// A Player draws a recording on screens. It is for one goroutine.
type Player struct {
	Shown    *screen.Screen // as any player shows it
	Terminal *screen.Screen // the session's terminal alone, as it was at that time
	Markers  int            // passed so far

	path       string
	identities []age.Identity
	in         *Reader
	next       *Event // read, and not yet drawn
	time       time.Duration
}

// Play opens a recording to be drawn.
func Play(path string, identities ...age.Identity) (*Player, error) {
	p := &Player{path: path, identities: identities}
	return p, p.rewind()
}

// rewind goes to the start.
func (p *Player) rewind() error {
	in, err := Open(p.path, p.identities...)
	if err != nil {
		return err
	}
	if p.in != nil {
		_ = p.in.Close()
	}
	size := in.Header.Term
	p.in, p.next, p.time, p.Markers = in, nil, 0, 0
	p.Shown, p.Terminal = screen.New(size.Cols, size.Rows), screen.New(size.Cols, size.Rows)
	return nil
}

// Header returns the first line of the recording.
func (p *Player) Header() Header { return p.in.Header }

// Time is where the player is.
func (p *Player) Time() time.Duration { return p.time }

// Close closes the file.
func (p *Player) Close() error { return p.in.Close() }

// peek returns the next event without drawing it.
func (p *Player) peek() (*Event, error) {
	if p.next == nil {
		e, err := p.in.Next()
		if err != nil {
			return nil, err
		}
		p.next = &e
	}
	return p.next, nil
}

// Peek returns the time of the next event. The error is io.EOF at the end.
func (p *Player) Peek() (time.Duration, error) {
	e, err := p.peek()
	if err != nil {
		return 0, err
	}
	return e.Time, nil
}

// Next draws the next event and returns it. The error is io.EOF at the end.
func (p *Player) Next() (Event, error) {
	e, err := p.peek()
	if err != nil {
		return Event{}, err
	}
	p.next = nil
	p.time = max(p.time, e.Time)
	switch e.Code {
	case codeOutput:
		_, _ = io.WriteString(p.Shown, e.Text)
		if e.View == Terminal && !e.Redraw {
			_, _ = io.WriteString(p.Terminal, e.Text)
		}
	case codeResize:
		if cols, rows, ok := sizeOf(e.Text); ok {
			p.Shown.Resize(cols, rows)
			p.Terminal.Resize(cols, rows)
		}
	case codeMarker:
		p.Markers++
	}
	return *e, nil
}

// Seek goes to a time, forward or back: all that came up to then is drawn.
func (p *Player) Seek(to time.Duration) error {
	if to < p.time {
		if err := p.rewind(); err != nil {
			return err
		}
	}
	for {
		e, err := p.peek()
		if errors.Is(err, io.EOF) || err == nil && e.Time > to {
			p.time = to
			return nil
		}
		if err == nil {
			_, err = p.Next()
		}
		if err != nil {
			return err
		}
	}
}

// SeekMarker goes to marker n and returns it. The first marker is 1.
func (p *Player) SeekMarker(n int) (Event, error) {
	if n < 1 {
		return Event{}, fmt.Errorf("marker %d does not exist: the first is 1", n)
	}
	if n <= p.Markers {
		if err := p.rewind(); err != nil {
			return Event{}, err
		}
	}
	for {
		e, err := p.Next()
		switch {
		case errors.Is(err, io.EOF):
			return Event{}, fmt.Errorf("marker %d does not exist: the recording has %d", n, p.Markers)
		case err != nil:
			return Event{}, err
		case e.Code == codeMarker && p.Markers == n:
			return e, nil
		}
	}
}
