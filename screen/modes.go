package screen

import "ptyctl/vt"

// modes is the set of modes that are on. The numbers of the private ones are those of
// DECSET in xterm's "XTerm Control Sequences".
type modes uint64

const (
	appCursor      modes = 1 << iota // 1, DECCKM
	wideColumns                      // 3, DECCOLM
	reverseScreen                    // 5, DECSCNM
	origin                           // 6, DECOM; the state is in the cursor
	autoWrap                         // 7, DECAWM
	mouseX10                         // 9
	blinking                         // 12
	cursorShown                      // 25, DECTCEM
	reverseWrap                      // 45
	altScreen                        // 47, 1047, 1049
	appKeypad                        // 66, DECNKM
	sideMargins                      // 69, DECLRMM
	mouseClicks                      // 1000
	mouseDrags                       // 1002
	mouseMoves                       // 1003
	focusEvents                      // 1004
	mouseUTF8                        // 1005
	mouseSGR                         // 1006
	mouseRxvt                        // 1015
	mousePixels                      // 1016
	reverseWrapAny                   // 1045
	bracketedPaste                   // 2004
	synchronized                     // 2026
	clustered                        // 2027
	themeEvents                      // 2031
	sizeEvents                       // 2048

	keyboardLocked // KAM, SM 2
	insert         // IRM, SM 4
	noEcho         // SRM, SM 12
	newLine        // LNM, SM 20
)

const (
	resetModes = autoWrap | cursorShown
	mouseModes = mouseX10 | mouseClicks | mouseDrags | mouseMoves
	mouseForms = mouseUTF8 | mouseSGR | mouseRxvt | mousePixels
)

func (m modes) has(one modes) bool { return m&one != 0 }

func (m *modes) set(one modes, on bool) {
	if on {
		*m |= one
	} else {
		*m &^= one
	}
}

// softReset is the part of DECSTR that concerns modes.
func (m *modes) softReset() {
	m.set(appCursor|appKeypad|insert|keyboardLocked|reverseWrap|reverseWrapAny|sideMargins, false)
	m.set(resetModes, true)
}

// privateMode returns the mode with this number of DECSET, 0 if it is not known.
func privateMode(n int) modes {
	switch n {
	case 1:
		return appCursor
	case 3:
		return wideColumns
	case 5:
		return reverseScreen
	case 6:
		return origin
	case 7:
		return autoWrap
	case 9:
		return mouseX10
	case 12:
		return blinking
	case 25:
		return cursorShown
	case 45:
		return reverseWrap
	case 47, 1047, 1049:
		return altScreen
	case 66:
		return appKeypad
	case 69:
		return sideMargins
	case 1000:
		return mouseClicks
	case 1002:
		return mouseDrags
	case 1003:
		return mouseMoves
	case 1004:
		return focusEvents
	case 1005:
		return mouseUTF8
	case 1006:
		return mouseSGR
	case 1015:
		return mouseRxvt
	case 1016:
		return mousePixels
	case 1045:
		return reverseWrapAny
	case 2004:
		return bracketedPaste
	case 2026:
		return synchronized
	case 2027:
		return clustered
	case 2031:
		return themeEvents
	case 2048:
		return sizeEvents
	}
	return 0
}

// ansiMode is privateMode for SM.
func ansiMode(n int) modes {
	switch n {
	case 2:
		return keyboardLocked
	case 4:
		return insert
	case 12:
		return noEcho
	case 20:
		return newLine
	}
	return 0
}

// setModes applies SM, RM, DECSET and DECRST.
func (e *emulator) setModes(t *vt.Token, on bool) {
	for i := range t.Len() {
		if n := t.Param(i, 0); t.Private == 0 {
			e.modes.set(ansiMode(n), on)
		} else {
			e.setPrivateMode(n, on)
		}
	}
}

// setPrivateMode applies one number of DECSET or DECRST.
func (e *emulator) setPrivateMode(n int, on bool) {
	switch m := privateMode(n); m {
	case origin:
		e.cursor.origin = on
		e.home()
	case altScreen:
		e.switchScreen(n, on)
	case wideColumns:
		e.setColumns(on)
	case sideMargins:
		if e.modes.set(m, on); on {
			e.singleWidth()
		} else {
			e.margins.left, e.margins.right = 0, e.cols-1
		}
	case synchronized:
		e.synchronize(on)
	case mouseX10, mouseClicks, mouseDrags, mouseMoves:
		e.modes.set(mouseModes, false) // one at a time
		e.modes.set(m, on)
	case mouseUTF8, mouseSGR, mouseRxvt, mousePixels:
		if on {
			e.modes.set(mouseForms, false)
		}
		e.modes.set(m, on)
	default:
		e.modes.set(m, on)
	}
	switch {
	case n != 1048:
	case on:
		e.saveCursor()
	default:
		e.restoreCursor()
	}
}

// setColumns is DECCOLM without the change of the width: the margins are reset, the cursor goes
// home, the screen is blank. So it is in alacritty; tmux leaves the margins. DECRST does
// nothing unless DECSET came before it. Terminfo has it in the strings with which tput init and
// tset begin (is2 of xterm), and a login's greeting would be lost.
func (e *emulator) setColumns(wide bool) {
	if !wide && !e.modes.has(wideColumns) {
		return
	}
	e.modes.set(wideColumns, wide)
	e.modes.set(sideMargins, false)
	e.margins = e.all()
	e.home()
	e.eraseRows(0, e.rows, false)
}

// keptModes are the modes that XTSAVE has saved.
type keptModes struct{ known, on modes }

// keepModes is XTSAVE.
func (e *emulator) keepModes(t *vt.Token) {
	for i := range t.Len() {
		n := t.Param(i, 0)
		e.kept.known.set(privateMode(n), true)
		e.kept.on.set(privateMode(n), e.modeState(true, n) == 1)
	}
}

// bringBackModes is XTRESTORE.
func (e *emulator) bringBackModes(t *vt.Token) {
	for i := range t.Len() {
		n := t.Param(i, 0)
		if m := privateMode(n); e.kept.known.has(m) && e.kept.on.has(m) != (e.modeState(true, n) == 1) {
			e.setPrivateMode(n, e.kept.on.has(m))
		}
	}
}

// modeState returns the number with which DECRPM answers for a mode: 0 not known, 1 set,
// 2 reset, 4 always reset.
func (e *emulator) modeState(private bool, n int) int {
	m := ansiMode(n)
	switch {
	case private:
		m = privateMode(n)
	case n == 1, n == 5, n == 7, n == 10, n == 11, 13 <= n && n <= 19: // those of ECMA-48, as in xterm
		return 4
	}
	on := e.modes.has(m)
	switch m {
	case 0:
		return 0
	case origin:
		on = e.cursor.origin
	case altScreen:
		on = e.main != nil
	}
	if on {
		return 1
	}
	return 2
}
