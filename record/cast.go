package record

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"ptyctl/vt"
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

// An About is the part of a header that only ptyctl has. Players ignore it.
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
	if n := vt.PartialRune(p); n > 0 {
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
		var room [8]byte
		digits := strconv.AppendInt(room[:0], 1e6+us, 10)
		digits[0] = '.'
		for digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
		}
		e.lines = append(e.lines, digits...)
	}
	e.lines = append(e.lines, ',', ' ', '"', code, '"', ',', ' ', '"')
}

func (e *encoder) end() { e.lines = append(e.lines, "\"]\n"...) }

// maxEscape is the most bytes that one byte takes in a JSON string.
const maxEscape = len(`\u001b`)

// escapes are the characters in a JSON string up to C1, which a terminal obeys. The first byte of each is the lowest one,
// and the highest one is their number.
var escapes = func() (all [0xa0]uint64) {
	for c := range all {
		text := string(rune(c))
		switch {
		case c == '\n':
			text = `\n`
		case c == '\r':
			text = `\r`
		case c == '"', c == '\\':
			text = `\` + text
		case c < ' ', c >= utf8.RuneSelf:
			text = fmt.Sprintf(`\u%04x`, c)
		}
		word := [8]byte{7: byte(len(text))}
		copy(word[:], text)
		all[c] = binary.LittleEndian.Uint64(word[:])
	}
	return all
}()

// pieceBytes is how many bytes appendString makes room for at a time.
const pieceBytes = 4 << 10

// appendString appends p as the inside of a JSON string, with U+FFFD for each byte that is not UTF-8, and returns how
// many these are.
func appendString(dst, p []byte) (_ []byte, bad int) {
	for {
		n := min(len(p), pieceBytes)
		for back := 0; n < len(p) && back < utf8.UTFMax; back++ { // not inside of a character
			if utf8.RuneStart(p[n-back]) {
				n -= back
				break
			}
		}
		var more int
		dst, more = appendPiece(dst, p[:n])
		bad += more
		if p = p[n:]; len(p) == 0 {
			return dst, bad
		}
	}
}

// appendPiece is appendString for a few bytes. It copies eight bytes at a time, including those that need an escape;
// the escapes and later bytes overwrite them. With a search for the end of each span, and then a copy of it, the
// lines of a log took 1.8 times as long, and text that is not ASCII 1.6 times. Slices with all three bounds spare a
// quarter of that: they need no check that they are empty.
func appendPiece(dst, p []byte) (_ []byte, bad int) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := len(dst)
	dst = slices.Grow(dst, maxEscape*len(p)+8)
	dst = dst[:cap(dst)]
	i := 0
	for i < len(p) {
		for i+8 <= len(p) {
			x := binary.LittleEndian.Uint64(p[i : i+8 : i+8])
			binary.LittleEndian.PutUint64(dst[n:n+8:n+8], x)
			// The lowest high bit marks the first byte that needs an escape. '"' is one bit off a control.
			control, slash := (x^ones*2)-ones*0x21, (x^ones*'\\')-ones
			special := (control | slash | x) & highs
			if special == 0 {
				i, n = i+8, n+8
				continue
			}
			at := bits.TrailingZeros64(special) / 8
			i, n = i+at, n+at
			c := byte(x >> (at * 8 & 63))
			if c >= utf8.RuneSelf {
				break
			}
			if c == '\r' && i+1 < len(p) && p[i+1] == '\n' { // at once they are a twentieth faster
				binary.LittleEndian.PutUint32(dst[n:n+4:n+4], '\\'|'r'<<8|'\\'<<16|'n'<<24)
				i, n = i+2, n+4
				continue
			}
			e := escapes[c]
			binary.LittleEndian.PutUint64(dst[n:n+8:n+8], e)
			i, n = i+1, n+int(e>>56)
		}
		// Most characters of several bytes are known by eight bytes. With utf8.DecodeRune for each of them, Chinese took more
		// than twice as long.
		for i+8 <= len(p) {
			x := binary.LittleEndian.Uint64(p[i : i+8 : i+8])
			size := plainRune(x)
			if size == 0 {
				break
			}
			binary.LittleEndian.PutUint64(dst[n:n+8:n+8], x)
			i, n = i+size, n+size
		}
		for i < len(p) && p[i] >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(p[i:])
			switch {
			case size == 1:
				n += copy(dst[n:], string(utf8.RuneError))
				bad++
			case int(r) < len(escapes):
				binary.LittleEndian.PutUint64(dst[n:n+8:n+8], escapes[r])
				n += maxEscape
			default:
				for _, c := range p[i : i+size] {
					dst[n] = c
					n++
				}
			}
			i += size
		}
		if i < len(p) && i+8 > len(p) && p[i] < utf8.RuneSelf {
			e := escapes[p[i]]
			binary.LittleEndian.PutUint64(dst[n:n+8:n+8], e)
			i, n = i+1, n+int(e>>56)
		}
	}
	return dst[:n], bad
}

// plainRune returns the size of the character that the bytes of x begin with, the lowest one first, if it has two or
// three bytes and needs no escape (RFC 3629 section 4); else 0.
func plainRune(x uint64) int {
	switch {
	case x&0xc0c0f0 == 0x8080e0:
		if r := x&0xf<<12 | x>>2&0xfc0 | x>>16&0x3f; r >= 0x800 && r>>11 != 0xd800>>11 {
			return 3
		}
	case x&0xc0e0 == 0x80c0:
		if r := x&0x1f<<6 | x>>8&0x3f; r >= 0xa0 {
			return 2
		}
	}
	return 0
}
