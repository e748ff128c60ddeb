package record

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"time"
	"unicode/utf8"
)

// The codes of events (asciicast v3).
const (
	codeOutput = 'o'
	codeResize = 'r'
	codeMarker = 'm'
	codeExit   = 'x'
)

// A Header is the first line of a recording.
type Header struct {
	Version   int    `json:"version"` // 3
	Term      Term   `json:"term"`
	Timestamp int64  `json:"timestamp,omitempty"` // of the start, in Unix seconds
	Title     string `json:"title,omitempty"`
	About     About  `json:"ptyctl,omitzero"`
}

// A Term is the size and type of a terminal.
type Term struct {
	Cols int    `json:"cols"`
	Rows int    `json:"rows"`
	Type string `json:"type,omitempty"`
}

// An About is what only ptyctl has in a header. Players ignore it.
type About struct {
	Recording string    `json:"recording"` // a random id
	Session   string    `json:"session,omitempty"`
	Protocol  string    `json:"protocol,omitempty"`
	Host      string    `json:"host,omitempty"`
	Program   string    `json:"program,omitempty"` // version of ptyctl
	PID       int       `json:"pid,omitempty"`
	Started   time.Time `json:"started"`
}

// An encoder makes the lines of a recording. Its intervals have no error that adds up: each is the difference of two
// times in microseconds.
type encoder struct {
	lines   []byte
	last    time.Duration // of the last event, in whole microseconds
	partial []byte        // the beginning of a character, at the end of the last output
	bad     int64         // bytes that were not UTF-8
}

func (e *encoder) header(h Header) {
	line, _ := json.Marshal(h) // of strings and numbers
	e.lines = append(append(e.lines, line...), '\n')
}

// event appends an event. The text must be valid UTF-8.
func (e *encoder) event(at time.Duration, code byte, text string) {
	e.begin(at, code)
	e.lines, _ = appendString(e.lines, []byte(text))
	e.end()
}

// output appends output. A character that p does not finish is left for the next output.
func (e *encoder) output(at time.Duration, p []byte) {
	if len(e.partial) > 0 {
		p = append(e.partial, p...)
		e.partial = nil
	}
	if n := partialRune(p); n > 0 {
		e.partial = append([]byte(nil), p[len(p)-n:]...)
		p = p[:len(p)-n]
	}
	if len(p) == 0 {
		return
	}
	e.begin(at, codeOutput)
	var bad int
	e.lines, bad = appendString(e.lines, p)
	e.bad += int64(bad)
	e.end()
}

// comment appends a line that players skip.
func (e *encoder) comment(text string) {
	e.lines = append(append(append(e.lines, "# ptyctl "...), text...), '\n')
}

// begin appends the start of an event: [INTERVAL, "CODE", "
func (e *encoder) begin(at time.Duration, code byte) {
	at = max(at.Truncate(time.Microsecond), e.last)
	us := int64((at - e.last) / time.Microsecond)
	e.last = at
	e.lines = strconv.AppendInt(append(e.lines, '['), us/1e6, 10)
	if us %= 1e6; us > 0 {
		digits := strconv.AppendInt(nil, 1e6+us, 10)
		digits[0] = '.'
		for digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
		}
		e.lines = append(e.lines, digits...)
	}
	e.lines = append(e.lines, ',', ' ', '"', code, '"', ',', ' ', '"')
}

func (e *encoder) end() { e.lines = append(e.lines, "\"]\n"...) }

// safe returns how many bytes at the start of p stand for themselves in a JSON string. It looks at eight at a time.
func safe(p []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(p)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(p[n:])
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		special := (x-ones*0x20)&^x | (quote-ones)&^quote | (slash-ones)&^slash | x
		if special &= highs; special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	for n < len(p) && p[n] >= 0x20 && p[n] < utf8.RuneSelf && p[n] != '"' && p[n] != '\\' {
		n++
	}
	return n
}

// appendString appends p as the inside of a JSON string, with U+FFFD for each byte that is not UTF-8, and returns how
// many these are.
func appendString(dst, p []byte) (_ []byte, bad int) {
	const hex = "0123456789abcdef"
	for len(p) > 0 {
		n := safe(p)
		dst, p = append(dst, p[:n]...), p[n:]
		if len(p) == 0 {
			break
		}
		switch c := p[0]; {
		case c == '\n':
			dst, p = append(dst, `\n`...), p[1:]
		case c == '\r':
			dst, p = append(dst, `\r`...), p[1:]
		case c == '"', c == '\\':
			dst, p = append(dst, '\\', c), p[1:]
		case c < utf8.RuneSelf:
			dst, p = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15]), p[1:]
		default:
			r, size := utf8.DecodeRune(p)
			switch {
			case size == 1:
				dst = utf8.AppendRune(dst, utf8.RuneError)
				bad++
			case r < 0xa0: // C1, which a terminal obeys
				dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
			default:
				dst = append(dst, p[:size]...)
			}
			p = p[size:]
		}
	}
	return dst, bad
}

// partialRune returns how many bytes at the end of p begin a character that p does not finish.
func partialRune(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		last := p[len(p)-n:]
		if utf8.RuneStart(last[0]) {
			if last[0] >= utf8.RuneSelf && !utf8.FullRune(last) {
				return n
			}
			return 0
		}
	}
	return 0
}
