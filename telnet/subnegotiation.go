package telnet

import (
	"bytes"
	"strings"
	"time"
)

// The first byte of a subnegotiation of STATUS, TERMINAL-TYPE, TERMINAL-SPEED and NEW-ENVIRON.
const (
	subIS   = 0
	subSEND = 1
)

// subnegotiation handles the parameters of an option. Those of an option that is off are
// ignored.
func (e *engine) subnegotiation(o Option, data []byte) {
	ours, theirs := e.on(us, o), e.on(them, o)
	switch {
	case o == TerminalType && ours && isSend(data):
		e.sendTerminal()
	case o == TerminalSpeed && ours && isSend(data):
		e.answer(o, append([]byte{subIS}, "38400,38400"...)...)
	case o == NewEnviron && ours && len(data) > 0 && data[0] == subSEND:
		e.sendEnviron(data[1:])
	case o == Charset && (ours || theirs) && len(data) > 0:
		e.handleCharset(data[0], data[1:])
	case o == Status && theirs && len(data) > 0 && data[0] == subIS:
		e.handleStatus(data[1:])
	case o == ComPort && ours && len(data) > 0:
		e.serial.hear(data[0], data[1:])
	default:
		e.malformed++
	}
}

// isSend reports whether data is SEND without parameters.
func isSend(data []byte) bool { return len(data) == 1 && data[0] == subSEND }

// sendTerminal sends the next name of the list. The last name is sent twice, which marks the
// end of the list, and then the list starts again (RFC 1091).
func (e *engine) sendTerminal() {
	if !e.mayAnswer() {
		return
	}
	names := e.config.Terminal
	// One more than the names, because the last one is sent twice.
	n := e.terminal % (len(names) + 1)
	e.terminal++
	e.sentTerminal = names[min(n, len(names)-1)]
	e.control = appendSub(e.control, TerminalType, append([]byte{subIS}, e.sentTerminal...)...)
}

// resizeEvery is the shortest time between two sizes while the user drags a window: the peer
// redraws after each.
const resizeEvery = 50 * time.Millisecond

// resize changes the size of the window. If the server accepts sizes, it returns how long to
// wait before sending this one.
func (e *engine) resize(cols, rows int) (wait time.Duration, ok bool) {
	e.cols, e.rows = cols, rows
	if !e.on(us, NAWS) {
		return 0, false
	}
	if wait = resizeEvery - time.Since(e.sentAt); wait <= 0 {
		e.sizeDue = true
	}
	return wait, true
}

// appendSize appends the size of the window (RFC 1073), unless it is the one sent last.
func (e *engine) appendSize(dst []byte) []byte {
	e.sizeDue = false
	cols, rows := without255(e.cols), without255(e.rows)
	if cols == e.sentCols && rows == e.sentRows && !e.sentAt.IsZero() {
		return dst
	}
	e.sentCols, e.sentRows, e.sentAt = cols, rows, time.Now()
	return appendSub(dst, NAWS, byte(cols>>8), byte(cols), byte(rows>>8), byte(rows))
}

// without255 returns n, or n-1 if n has a low byte of 255. busybox telnetd counts a doubled
// IAC in a size as two bytes, and takes the end of the size as typed text.
func without255(n int) int {
	n = min(max(n, 0), maxCells)
	if n&0xff == 0xff {
		n--
	}
	return n
}

// The codes of NEW-ENVIRON (RFC 1572 section 2). They separate names and values, and envEsc escapes
// a code within them.
const (
	envVar     = 0
	envValue   = 1
	envEsc     = 2
	envUserVar = 3
)

// sendEnviron sends the configured variables that the server asks for, or all of them if it
// names none.
func (e *engine) sendEnviron(wanted []byte) {
	asked := parseEnviron(wanted)
	data := []byte{subIS}
	for _, v := range e.config.Env {
		kind := environKind(v.Name)
		if !asked.wants(kind, v.Name) {
			continue
		}
		data = append(data, kind)
		data = appendEnviron(data, v.Name)
		data = append(data, envValue)
		data = appendEnviron(data, v.Value)
	}
	e.answer(NewEnviron, data...)
}

// environKind returns VAR for the well-known names of RFC 1572 section 2, else USERVAR.
func environKind(name string) byte {
	switch name {
	case "USER", "JOB", "ACCT", "PRINTER", "SYSTEMTYPE", "DISPLAY":
		return envVar
	}
	return envUserVar
}

// appendEnviron appends a name or value with the escapes of RFC 1572.
func appendEnviron(dst []byte, s string) []byte {
	for i := range len(s) {
		if s[i] <= envUserVar {
			dst = append(dst, envEsc)
		}
		dst = append(dst, s[i])
	}
	return dst
}

// An environRequest is the set of variables that a server asks for.
type environRequest struct {
	all   [4]bool // all variables of a kind
	names map[string]bool
}

func (r environRequest) wants(kind byte, name string) bool { return r.all[kind] || r.names[name] }

// parseEnviron reads the list of a SEND. A kind without a name means all of that kind; an
// empty list means all.
func parseEnviron(list []byte) environRequest {
	r := environRequest{names: make(map[string]bool)}
	if len(list) == 0 {
		r.all[envVar], r.all[envUserVar] = true, true
	}
	for len(list) > 0 {
		kind := list[0]
		var name []byte
		for list = list[1:]; len(list) > 0 && list[0] != envVar && list[0] != envUserVar; list = list[1:] {
			if list[0] == envEsc && len(list) > 1 {
				list = list[1:]
			}
			name = append(name, list[0])
		}
		switch {
		case kind != envVar && kind != envUserVar: // bytes before the first kind: ignored
		case len(name) == 0:
			r.all[kind] = true
		default:
			r.names[string(name)] = true
		}
	}
	return r
}

// The first byte of a subnegotiation of CHARSET (RFC 2066).
const (
	charsetRequest       = 1
	charsetAccepted      = 2
	charsetRejected      = 3
	charsetTTableIs      = 4
	charsetTTableRejects = 5
)

// handleCharset accepts UTF-8 if the server offers it, and rejects all other character sets.
func (e *engine) handleCharset(verb byte, data []byte) {
	switch verb {
	case charsetRequest:
		name := pickUTF8(data)
		if name == "" {
			e.answer(Charset, charsetRejected)
			return
		}
		e.charset = name
		e.answer(Charset, append([]byte{charsetAccepted}, name...)...)
	case charsetTTableIs:
		e.answer(Charset, charsetTTableRejects)
	default: // answers without a question
		e.malformed++
	}
}

// pickUTF8 returns the name for UTF-8 in a list of character sets, or "". The list begins
// with its separator, after "[TTABLE]" and a version if the server also offers translation
// tables.
func pickUTF8(list []byte) string {
	if rest, ok := bytes.CutPrefix(list, []byte("[TTABLE]")); ok {
		if len(rest) == 0 {
			return ""
		}
		list = rest[1:]
	}
	if len(list) == 0 {
		return ""
	}
	for name := range strings.SplitSeq(string(list[1:]), string(list[:1])) {
		if strings.EqualFold(name, "UTF-8") || strings.EqualFold(name, "UTF8") {
			return name
		}
	}
	return ""
}
