package display

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"ptyctl/screen"
)

// ErrNoMouse says that the program has not asked for the mouse.
var ErrNoMouse = errors.New("the program in the terminal has not asked for the mouse, so a click would be typed as text")

// The numbers for the left button and for its release (xterm's "XTerm Control Sequences", section "Mouse Tracking").
// The first two forms send the numbers as characters, plus 32.
const (
	leftButton = 0
	anyButton  = 3
	plus       = 32
)

// Click returns the bytes of a terminal for a click with the left button at a place, in the form that the program has
// asked for: press and release, or the press alone where only that is wanted.
func (d *Display) Click(at Point) ([]byte, error) {
	now := d.seen()
	cols, rows := now.Cols, now.Rows
	if at.Row < 1 || at.Col < 1 || at.Row > rows || at.Col > cols {
		return nil, fmt.Errorf("there is no row %d, column %d: the screen has %d rows and %d columns, counted from 1",
			at.Row, at.Col, rows, cols)
	}
	m := now.Modes
	if m.Mouse == screen.NoMouse {
		return nil, ErrNoMouse
	}
	b, err := appendMouse(nil, m, leftButton, at, false)
	if err == nil && m.Mouse != screen.MousePress {
		b, err = appendMouse(b, m, leftButton, at, true)
	}
	return b, err
}

// seen returns the screen as it is now.
func (d *Display) seen() *screen.Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, _ := d.draw().Peek()
	return now
}

// appendMouse appends the report of one event.
func appendMouse(b []byte, m screen.Modes, button int, at Point, release bool) ([]byte, error) {
	final := byte('M')
	switch m.MouseForm {
	case screen.MouseDigits:
		if release {
			final = 'm'
		}
		return append(fmt.Appendf(b, "\x1b[<%d;%d;%d", button, at.Col, at.Row), final), nil
	case screen.MousePixels:
		return nil, errors.New("the program wants the mouse's position in pixels, which this screen has not; use keys")
	}
	if release {
		button = anyButton
	}
	if m.MouseForm == screen.MouseRxvt {
		return fmt.Appendf(b, "\x1b[%d;%d;%dM", button+plus, at.Col, at.Row), nil
	}
	most := 255 - plus
	if m.MouseForm == screen.MouseUTF8 {
		most = 2047 - plus // two bytes
	}
	if at.Row > most || at.Col > most {
		return nil, fmt.Errorf("the program's mouse mode reaches to row and column %d only; use keys", most)
	}
	b = append(b, "\x1b[M"...)
	for _, n := range []int{button + plus, at.Col + plus, at.Row + plus} {
		if m.MouseForm == screen.MouseUTF8 {
			b = utf8.AppendRune(b, rune(n))
		} else {
			b = append(b, byte(n))
		}
	}
	return b, nil
}
