package vt

import (
	"slices"
	"strconv"
)

// Restore appends the sequences that restore the terminal: the main screen, plain text, the
// cursor shown, and every mode off that the output has left on. It appends nothing for a
// state that the output did not change. The cursor stays, unless the output had limited it to
// a part of the screen; then it moves to the last line.
func (f *Filter) Restore(dst []byte) []byte {
	d := &f.drawn
	if d.alt {
		dst = appendMode(dst, 1049, false)
	}
	if d.origin {
		dst = appendMode(dst, 6, false)
	}
	if d.region {
		dst = append(dst, "\x1b[r"...)
	}
	if d.origin || d.region { // both sequences have moved the cursor home
		dst = append(dst, "\x1b[9999;1H"...)
	}
	if d.noWrap {
		dst = appendMode(dst, 7, true)
	}
	if d.insert {
		dst = append(dst, "\x1b[4l"...)
	}
	if d.charsets[0] != 0 {
		dst = append(dst, "\x1b(B"...)
	}
	if d.charsets[1] != 0 {
		dst = append(dst, "\x1b)B"...)
	}
	if d.shifted {
		dst = append(dst, si)
	}
	for _, m := range d.modes {
		dst = appendMode(dst, m, false)
	}
	if d.keypad {
		dst = append(dst, "\x1b>"...)
	}
	if d.style {
		dst = append(dst, "\x1b[0 q"...)
	}
	if len(d.sgr) > 0 {
		dst = append(dst, "\x1b[m"...)
	}
	if d.hidden {
		dst = appendMode(dst, 25, true)
	}
	f.drawn = drawn{}
	return dst
}

// Resume appends the sequences that bring a restored terminal into the state that the output
// has left so far, except for the drawn text.
func (f *Filter) Resume(dst []byte) []byte {
	d := &f.drawn
	if d.alt {
		dst = appendMode(dst, 1049, true)
	}
	if d.noWrap {
		dst = appendMode(dst, 7, false)
	}
	if d.insert {
		dst = append(dst, "\x1b[4h"...)
	}
	for i, set := range d.charsets {
		if set != 0 {
			dst = append(dst, esc, "()"[i], set)
		}
	}
	if d.shifted {
		dst = append(dst, so)
	}
	for _, m := range d.modes {
		dst = appendMode(dst, m, true)
	}
	if d.keypad {
		dst = append(dst, "\x1b="...)
	}
	dst = append(dst, d.sgr...)
	if d.hidden {
		dst = appendMode(dst, 25, false)
	}
	return dst
}

// Resized appends the reset that a terminal does at a resize: the scrolling region becomes
// the whole screen. Earlier output then looks as in a terminal that had the new size from the
// start.
func (f *Filter) Resized(dst []byte) []byte {
	if !f.drawn.region {
		return dst
	}
	f.drawn.region = false
	return append(dst, "\x1b7\x1b[r\x1b8"...) // DECSTBM moves the cursor home; DECRC returns it
}

// soft applies DECSTR, which does not switch the screen.
func (f *Filter) soft(dst []byte) []byte {
	alt := f.drawn.alt
	f.drawn.alt = false
	dst = f.Restore(dst)
	f.drawn.alt = alt
	return dst
}

// setMode records that mode is on or off.
func (d *drawn) setMode(mode int, on bool) {
	i := slices.Index(d.modes, mode)
	switch {
	case on && i < 0:
		d.modes = append(d.modes, mode)
	case !on && i >= 0:
		d.modes = slices.Delete(d.modes, i, i+1)
	}
}

// sgr passes on an SGR (ECMA-48 section 8.3.117) without parameter 8, which conceals text.
func (f *Filter) sgr(dst []byte, t *Token) []byte {
	d := &f.drawn
	if t.Param(0, 0) == 0 {
		d.sgr = d.sgr[:0]
	}
	begin := len(dst)
	dst = append(dst, "\x1b["...)
	kept := 0
	for i, n := 0, 0; i < t.Len(); i += n {
		if n = attribute(t, i); t.Param(i, 0) == 8 {
			f.dropped++
			continue
		}
		for j := i; j < i+n; j++ {
			switch {
			case kept == 0:
			case t.Sub(j):
				dst = append(dst, ':')
			default:
				dst = append(dst, ';')
			}
			if p := t.Param(j, -1); p >= 0 {
				dst = strconv.AppendInt(dst, int64(p), 10)
			}
			kept++
		}
	}
	if kept == 0 && t.Len() > 0 { // an SGR without parameters would be a reset
		return dst[:begin]
	}
	dst = append(dst, 'm')
	if t.Len() == 0 || t.Len() == 1 && t.Param(0, 0) == 0 {
		return dst
	}
	if len(d.sgr)+len(dst)-begin > maxSGR {
		d.sgr = d.sgr[:0]
	}
	d.sgr = append(d.sgr, dst[begin:]...)
	return dst
}

// attribute returns the number of parameters from i on that form one attribute of an SGR. A
// colour has parameters of its own.
func attribute(t *Token, i int) int {
	n := 1
	for t.Sub(i + n) {
		n++
	}
	if n > 1 {
		return n
	}
	switch t.Param(i, 0) {
	case 38, 48, 58:
		switch t.Param(i+1, 0) {
		case 5:
			n = 3
		case 2:
			n = 5
		}
	}
	return min(n, t.Len()-i)
}
