package screen

import "ptyctl/vt"

// count returns the first parameter of a CSI that takes a count: 0 means 1.
func count(t *vt.Token) int { return max(1, t.Param(0, 1)) }

// csi applies a control sequence (ECMA-48 section 5.4).
func (e *emulator) csi(t *vt.Token) {
	switch {
	case t.Private == 0 && t.Inter[0] == 0:
		e.csiPlain(t)
	case t.Private == '?' && t.Inter[0] == 0:
		e.csiPrivate(t)
	case t.Inter[0] != 0:
		e.csiIntermediate(t)
	case t.Final == 'c' && t.Private == '>' && t.Param(0, 0) == 0: // DA2
		e.replies.secondary()
	case t.Final == 'q' && t.Private == '>' && t.Param(0, 0) == 0: // XTVERSION
		e.replies.version()
	}
}

// csiPlain applies a control sequence without private marker and intermediate bytes.
func (e *emulator) csiPlain(t *vt.Token) {
	c := &e.cursor
	switch n := count(t); t.Final {
	case 'm': // SGR
		e.sgr(t)
	case 'H', 'f': // CUP, HVP
		e.position(max(1, t.Param(1, 1))-1, n-1)
	case 'A': // CUU
		e.up(n)
	case 'B': // CUD
		e.down(n)
	case 'C': // CUF
		e.right(n)
	case 'D': // CUB
		e.left(n)
	case 'E': // CNL
		e.down(n)
		e.carriageReturn()
	case 'F': // CPL
		e.up(n)
		e.carriageReturn()
	case 'G', '`': // CHA, HPA
		e.column(n - 1)
	case 'I': // CHT
		e.tab(n)
	case 'Z': // CBT
		e.backTab(n)
	case 'a': // HPR
		e.moveBy(n, 0)
	case 'd': // VPA
		e.line(n - 1)
	case 'e': // VPR
		e.moveBy(0, n)
	case 'j': // HPB
		e.moveBy(-n, 0)
	case 'J': // ED
		e.eraseInDisplay(t.Param(0, 0), false)
	case 'K': // EL
		e.eraseInLine(t.Param(0, 0), false)
	case 'X': // ECH
		e.eraseChars(n)
	case '@': // ICH
		e.insertChars(n)
	case 'P': // DCH
		e.deleteChars(n)
	case 'L': // IL
		e.insertLines(n)
	case 'M': // DL
		e.insertLines(-n)
	case 'S': // SU
		e.scrollUp(n)
	case 'T': // SD; with five parameters it begins the highlight mouse tracking of xterm
		if t.Len() <= 1 {
			e.scroll(e.margins, -n, c.style.blank())
		}
	case '^': // SD, as ECMA-48 has it
		e.scroll(e.margins, -n, c.style.blank())
	case 'g': // TBC
		e.clearTabs(t.Param(0, 0))
	case 'h': // SM
		e.setModes(t, true)
	case 'l': // RM
		e.setModes(t, false)
	case 'r': // DECSTBM
		e.setVertical(t)
	case 's': // DECSLRM, or SCOSC
		if e.modes.has(sideMargins) {
			e.setHorizontal(t)
		} else {
			e.saveCursor()
		}
	case 'u': // SCORC
		e.restoreCursor()
	case 'c': // DA1
		if t.Param(0, 0) == 0 {
			e.replies.primary()
		}
	case 'n': // DSR
		e.statusReport(t)
	case 't': // XTWINOPS
		e.window(t)
	}
}

// csiPrivate applies a control sequence with the marker ?.
func (e *emulator) csiPrivate(t *vt.Token) {
	switch t.Final {
	case 'h': // DECSET
		e.setModes(t, true)
	case 'l': // DECRST
		e.setModes(t, false)
	case 'J': // DECSED
		e.eraseInDisplay(t.Param(0, 0), true)
	case 'K': // DECSEL
		e.eraseInLine(t.Param(0, 0), true)
	case 'W': // DECST8C
		if t.Param(0, 0) == 5 {
			e.resetTabs()
		}
	case 'n': // DECDSR
		e.statusReport(t)
	case 'r': // XTRESTORE
		e.bringBackModes(t)
	case 's': // XTSAVE
		e.keepModes(t)
	case 'u': // kitty: the flags of its keyboard protocol
		e.replies.keyboard()
	}
}

// csiIntermediate applies a control sequence with an intermediate byte.
func (e *emulator) csiIntermediate(t *vt.Token) {
	if t.Inter[1] != 0 {
		return
	}
	n := count(t)
	switch [2]byte{t.Inter[0], t.Final} {
	case [2]byte{'!', 'p'}: // DECSTR
		e.softReset()
	case [2]byte{'"', 'q'}: // DECSCA
		s := &e.cursor.style
		s.lo &^= uint64(protected) << shift
		if t.Param(0, 0) == 1 {
			s.lo |= uint64(protected) << shift
		}
	case [2]byte{' ', 'q'}: // DECSCUSR
		if n := t.Param(0, 0); n <= 6 {
			e.shape = n
		}
	case [2]byte{' ', '@'}: // SL
		if e.within() {
			e.shiftRows(e.margins.left, -n)
		}
	case [2]byte{' ', 'A'}: // SR
		if e.within() {
			e.shiftRows(e.margins.left, n)
		}
	case [2]byte{'\'', '}'}: // DECIC
		if e.within() {
			e.shiftRows(e.cursor.x, n)
		}
	case [2]byte{'\'', '~'}: // DECDC
		if e.within() {
			e.shiftRows(e.cursor.x, -n)
		}
	case [2]byte{'$', 'p'}: // DECRQM
		if t.Private != 0 && t.Private != '?' {
			return
		}
		e.replies.mode(t.Private, t.Param(0, 0), e.modeState(t.Private == '?', t.Param(0, 0)))
	}
}

// clearTabs is TBC.
func (e *emulator) clearTabs(what int) {
	switch what {
	case 0:
		e.tabs[e.cursor.x] = false
	case 3:
		clear(e.tabs)
	}
}

// setVertical is DECSTBM: the rows that scroll. Fewer than two are refused.
func (e *emulator) setVertical(t *vt.Token) {
	top, bottom := max(1, t.Param(0, 1)), t.Param(1, 0)
	if bottom == 0 || bottom > e.rows {
		bottom = e.rows
	}
	if top < bottom {
		e.margins.top, e.margins.bottom = top-1, bottom-1
		e.home()
	}
}

// setHorizontal is DECSLRM: the columns that scroll.
func (e *emulator) setHorizontal(t *vt.Token) {
	left, right := max(1, t.Param(0, 1)), t.Param(1, 0)
	if right == 0 || right > e.cols {
		right = e.cols
	}
	if left < right {
		e.margins.left, e.margins.right = left-1, right-1
		e.home()
	}
}

// window is the part of XTWINOPS that changes or reads a screen's state: the size in
// characters and the stack of titles. The title is never reported: the far side would choose
// the input.
func (e *emulator) window(t *vt.Token) {
	switch t.Param(0, 0) {
	case 18:
		e.replies.size(e.cols, e.rows)
	case 22:
		e.title.push()
	case 23:
		e.title.pop()
	}
}
