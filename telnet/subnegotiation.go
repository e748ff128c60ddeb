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

// subnegotiation takes the parameters of an option. Those of an option that is not agreed say nothing.
func (e *engine) subnegotiation(o Option, data []byte) {
	ours, theirs := e.on(us, o), e.on(him, o)
	switch {
	case o == TerminalType && ours && isSend(data):
		e.tellTerminal()
	case o == TerminalSpeed && ours && isSend(data):
		e.answer(o, append([]byte{subIS}, "38400,38400"...)...)
	case o == NewEnviron && ours && len(data) > 0 && data[0] == subSEND:
		e.tellEnviron(data[1:])
	case o == Charset && (ours || theirs) && len(data) > 0:
		e.hearCharset(data[0], data[1:])
	case o == Status && theirs && len(data) > 0 && data[0] == subIS:
		e.hearStatus(data[1:])
	case o == ComPort && ours && len(data) > 0:
		e.serial.hear(data[0], data[1:])
	default:
		e.malformed++
	}
}

func isSend(data []byte) bool { return len(data) == 1 && data[0] == subSEND }

// tellTerminal tells the next name of the list; the last one twice, which tells the server that the list is over, and
// then again from the first (RFC 1091).
func (e *engine) tellTerminal() {
	if !e.mayAnswer() {
		return
	}
	names := e.config.Terminal
	n := e.terminal % (len(names) + 1)
	e.terminal++
	e.toldTerminal = names[min(n, len(names)-1)]
	e.control = appendSub(e.control, TerminalType, append([]byte{subIS}, e.toldTerminal...)...)
}

// resizeEvery is how often a size is told while a window is being dragged: each makes the far side draw anew.
const resizeEvery = 50 * time.Millisecond

// resize changes the window's size. If it can be told, it returns after how long that is to be done.
func (e *engine) resize(cols, rows int) (wait time.Duration, ok bool) {
	e.cols, e.rows = cols, rows
	if !e.on(us, NAWS) {
		return 0, false
	}
	if wait = resizeEvery - time.Since(e.toldAt); wait <= 0 {
		e.sizeDue = true
	}
	return wait, true
}

// tellSize appends the window's size (RFC 1073).
func (e *engine) tellSize(dst []byte) []byte {
	e.sizeDue = false
	cols, rows := without255(e.cols), without255(e.rows)
	if cols == e.toldCols && rows == e.toldRows && !e.toldAt.IsZero() {
		return dst
	}
	e.toldCols, e.toldRows, e.toldAt = cols, rows, time.Now()
	return appendSub(dst, NAWS, byte(cols>>8), byte(cols), byte(rows>>8), byte(rows))
}

// without255 returns the next smaller number that has no byte of 255: busybox telnetd takes a doubled IAC in a size
// for two characters, and the end of the size for typed text.
func without255(n int) int {
	n = min(max(n, 0), maxCells)
	if n&0xff == 0xff {
		n--
	}
	return n
}

// The bytes of NEW-ENVIRON (RFC 1572).
const (
	envVar     = 0
	envValue   = 1
	envEsc     = 2
	envUserVar = 3
)

// tellEnviron tells those of the configured variables that the server asks for; all of them if it names none.
func (e *engine) tellEnviron(wanted []byte) {
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

// environKind says whether a name is one of those of RFC 1572 section 2.
func environKind(name string) byte {
	switch name {
	case "USER", "JOB", "ACCT", "PRINTER", "SYSTEMTYPE", "DISPLAY":
		return envVar
	}
	return envUserVar
}

func appendEnviron(dst []byte, s string) []byte {
	for i := range len(s) {
		if s[i] <= envUserVar {
			dst = append(dst, envEsc)
		}
		dst = append(dst, s[i])
	}
	return dst
}

// An environRequest is what a server asks for.
type environRequest struct {
	all   [4]bool // by kind
	names map[string]bool
}

func (r environRequest) wants(kind byte, name string) bool { return r.all[kind] || r.names[name] }

// parseEnviron reads the list of a SEND. A kind without a name means all of that kind, an empty list all.
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
		case kind != envVar && kind != envUserVar: // before the first kind: not for us to guess
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

// hearCharset accepts UTF-8 where it is among what the server offers, and nothing else.
func (e *engine) hearCharset(verb byte, data []byte) {
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
	default: // answers to questions that we do not ask
		e.malformed++
	}
}

// pickUTF8 returns the name by which a list calls UTF-8. The list begins with its separator, after
// "[TTABLE]" and a version if translation tables are offered, too.
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
