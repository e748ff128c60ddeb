package vt

import "unicode/utf8"

// control applies a C0 control: LF and CR, HT and BS move the cursor, and all others are
// dropped.
func (c *Cleaner) control(b byte) {
	l := &c.line
	switch b {
	case lf:
		l.feed()
	case cr:
		if l.laid {
			l.at.col = 0
		} else {
			l.home = true
		}
	case ht:
		l.writeTab()
	case bs:
		c.count.Controls++
		l.left(1)
	default:
		c.count.Controls++
	}
}

// writeTab appends a tab to the text, or draws it if the line has cells.
func (l *line) writeTab() {
	switch {
	case l.laid:
	case l.home && len(l.text) > 0:
		l.lay()
	default:
		if l.width+tabStop > maxLine {
			l.pass()
		}
		l.home = false
		l.text = append(l.text, ht)
		l.width += tabStop
		return
	}
	l.tab()
}

// escape applies an escape sequence without intermediate bytes. The names are those of
// ECMA-48 and of DEC's terminals.
func (c *Cleaner) escape(t *Token) {
	if t.Inter[0] != 0 {
		return
	}
	l := &c.line
	switch t.Final {
	case '7': // DECSC
		l.save()
	case '8': // DECRC
		l.restore()
	case 'D': // IND
		l.down(1)
	case 'M': // RI
		l.down(-1)
	case 'E': // NEL
		l.feed()
	case 'c': // RIS
		c.conceal, l.insert = false, false
		l.elsewhere()
	}
}

// elsewhere ends the line because the output continues at an unknown position.
func (l *line) elsewhere() {
	l.at = position{}
	l.leave()
}

// csi applies a control sequence to the line. The names are those of ECMA-48 section 8.3.
func (c *Cleaner) csi(t *Token) {
	l := &c.line
	if t.Private == '?' && (t.Final == 'h' || t.Final == 'l') {
		for i := range t.Len() {
			switch t.Param(i, 0) {
			case 47, 1047, 1049: // the alternate screen
				l.elsewhere()
			}
		}
		return
	}
	if t.Inter[0] == '!' && t.Final == 'p' { // DECSTR
		c.conceal, l.insert = false, false
	}
	if !t.plain() {
		return
	}
	switch n := t.count(); t.Final {
	case 'm': // SGR
		c.conceal = conceal(t, c.conceal)
	case '@': // ICH
		l.insertBlanks(n)
	case 'A', 'F': // CUU, CPL
		l.down(-n)
	case 'B', 'E', 'e': // CUD, CNL, VPR
		l.down(n)
	case 'C', 'a': // CUF, HPR
		l.right(n)
	case 'D': // CUB
		l.left(n)
	case 'G', '`': // CHA, HPA
		l.column(n - 1)
	case 'H', 'f': // CUP, HVP
		l.position(n, t.Param(1, 1)-1)
	case 'I': // CHT
		l.lay()
		l.column((l.at.col/tabStop + n) * tabStop)
	case 'J': // ED
		l.eraseInDisplay(t.Param(0, 0))
	case 'K': // EL
		l.eraseInLine(t.Param(0, 0))
	case 'L', 'M': // IL, DL
		l.lay()
		l.column(0)
		l.leave()
	case 'P': // DCH
		l.deleteChars(n)
	case 'X': // ECH
		l.eraseChars(n)
	case 'Z': // CBT
		l.lay()
		l.column(max(0, (l.at.col+tabStop-1)/tabStop-n) * tabStop)
	case 'b': // REP
		l.repeat(n)
	case 'd': // VPA
		l.lay()
		l.position(n, l.at.col)
	case 'h', 'l': // SM, RM
		if t.Param(0, 0) == 4 { // IRM
			l.insert = t.Final == 'h'
		}
	case 'r': // DECSTBM takes the cursor home
		l.position(1, 0)
	case 's': // SCOSC
		l.save()
	case 'u': // SCORC
		l.restore()
	}
	if t.Final == 'E' || t.Final == 'F' {
		l.column(0)
	}
}

// repeat draws the last character n more times, within one line or one row of the terminal.
func (l *line) repeat(n int) {
	limit := maxLine
	if l.cols > 0 {
		limit = l.cols
	}
	n = min(n, limit)
	if l.last == 0 || columns(l.last) == 0 || !l.spare.spend(n*utf8.RuneLen(l.last)) {
		return
	}
	var buf [utf8.UTFMax]byte
	s := utf8.AppendRune(buf[:0], l.last)
	for range n {
		l.write(s, false)
	}
}

// conceal returns whether text is concealed after an SGR (ECMA-48 section 8.3.117). It skips
// the parameters of a colour, which may contain an 8: CSI 38;5;8 m sets colour 8.
func conceal(t *Token, on bool) bool {
	if t.Len() == 0 {
		return false
	}
	for i := 0; i < t.Len(); i++ {
		if t.Sub(i) {
			continue
		}
		switch t.Param(i, 0) {
		case 0, 28:
			on = false
		case 8:
			on = true
		case 38, 48, 58:
			if t.Sub(i + 1) {
				continue
			}
			switch t.Param(i+1, 0) {
			case 5:
				i += 2
			case 2:
				i += 4
			}
		}
	}
	return on
}
