// Package replay shows recordings in a terminal.
//
//	p, err := record.Play(path)
//	...
//	err = replay.Run(ctx, p, replay.Options{Out: os.Stdout})
//
// The output of a far side is hostile, so it passes the filter that attach has, too: sequences that draw, and no others.
package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ptyctl/record"
	"ptyctl/vt"
)

// Options say how a recording is shown. Out is required; all other fields may be zero.
type Options struct {
	Out   io.Writer
	Speed float64       // how many times as fast; 0: 1
	Idle  time.Duration // a longer pause is cut to this; 0: no limit
	// Keys delivers the person's keys, as tty.Keys returns them: space stops and goes on, the arrows move 5 seconds, n and
	// p move to the next and the previous marker, q ends. nil: nothing is read.
	Keys <-chan []byte
	// Mark gets each marker that is passed. nil: they are not shown.
	Mark func(record.Event)
}

// jump is how far an arrow moves.
const jump = 5 * time.Second

// A show is a replay that runs.
type show struct {
	Options
	p      *record.Player
	filter vt.Filter
	paused bool
	drawn  bool // once
}

// Run shows the recording from the position of p, until its end, ctrl-c, or a key that ends it. It restores the
// terminal.
func Run(ctx context.Context, p *record.Player, o Options) (err error) {
	o.Speed = cmp.Or(o.Speed, 1)
	s := &show{Options: o, p: p}
	if err := s.redraw(); err != nil {
		return err
	}
	defer func() {
		_, failed := o.Out.Write(append(s.filter.Restore(nil), "\r\n"...))
		err = errors.Join(err, failed)
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		at, err := p.Peek()
		switch {
		case errors.Is(err, io.EOF) && s.paused: // a key may go back
			at = p.Time()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		pause := at - p.Time()
		if o.Idle > 0 {
			pause = min(pause, o.Idle)
		}
		timer.Reset(time.Duration(float64(pause) / o.Speed))
		if err := s.step(ctx, timer); errors.Is(err, errQuit) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// errQuit means that the person has seen enough.
var errQuit = errors.New("quit")

// step waits until the next event is due, and shows it, or obeys a key.
func (s *show) step(ctx context.Context, timer *time.Timer) error {
	due := timer.C
	if s.paused {
		due = nil
	}
	select {
	case <-ctx.Done():
		return errQuit
	case keys, ok := <-s.Keys:
		if !ok {
			s.Keys, s.paused = nil, false
			return nil
		}
		return s.key(string(keys))
	case <-due:
	}
	e, err := s.p.Next()
	if err != nil {
		return err
	}
	switch e.Code {
	case 'o':
		_, err = s.Out.Write(s.filter.Append(nil, []byte(e.Text)))
	case 'm':
		if s.Mark != nil {
			s.Mark(e)
		}
	}
	return err
}

// Ends reports whether a key ends a replay.
func Ends(key string) bool {
	switch key {
	case "q", "\x03", "\x04", "\x1b":
		return true
	}
	return false
}

// key obeys a key.
func (s *show) key(key string) error {
	if Ends(key) {
		return errQuit
	}
	switch key {
	case " ":
		s.paused = !s.paused
		return nil
	case "\x1b[C", "\x1bOC":
		return s.move(s.p.Time() + jump)
	case "\x1b[D", "\x1bOD":
		return s.move(s.p.Time() - jump)
	case "n", "p":
		to := s.p.Markers + 1
		if key == "p" {
			to = max(1, s.p.Markers-1)
		}
		if _, err := s.p.SeekMarker(to); err != nil && to <= s.p.Markers {
			return err
		}
		return s.redraw()
	}
	return nil
}

func (s *show) move(to time.Duration) error {
	if err := s.p.Seek(max(to, 0)); err != nil {
		return err
	}
	return s.redraw()
}

// leaveAlt leaves the alternate screen, and begins each drawing of the main one.
const leaveAlt = "\x1b[?1049l"

// redraw shows the picture where the recording is.
func (s *show) redraw() error {
	picture := s.p.Shown.Redraw(nil)
	if !s.drawn { // there is nothing to leave, and terminals would go back to a cursor that an earlier program has saved
		picture = bytes.TrimPrefix(picture, []byte(leaveAlt))
	}
	s.drawn = true
	_, err := s.Out.Write(s.filter.Append(nil, picture))
	return err
}

// Still writes the picture where p is as text, with the text before it.
func Still(w io.Writer, p *record.Player) error {
	snap := p.Shown.Snapshot()
	_, err := fmt.Fprintf(w, "%s, %d markers\n%s", record.Clock(p.Time()), p.Markers, snap.Text())
	return err
}
