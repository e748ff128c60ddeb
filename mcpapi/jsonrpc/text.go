package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An argument or a result may be the content of a file. Package encoding/json takes a string byte by byte, in several
// passes; the functions here take many bytes at once where none of them is special, and say the same.

// special returns the index of the first byte of text that a JSON string must escape: a quote, a backslash, or a
// control character. Without such a byte, it returns len(text).
func special(text []byte) int { return find(text, 0) }

// find is special if high is 0. If it is top, a byte that is not ASCII is one of those that it finds, too.
//
// It skips 32 bytes at a time while none of them is such a byte. With sixteen, and three tests of each, Valid took
// twice as long for base64, and 1.6 times as long for lines of 50 bytes (BenchmarkText). With a type parameter, the
// compiler loads each byte by itself.
func find(text []byte, high uint64) int {
	i := 0
	for ; i+32 <= len(text); i += 32 {
		p := text[i : i+32 : i+32]
		a, b := faults(binary.LittleEndian.Uint64(p), high), faults(binary.LittleEndian.Uint64(p[8:]), high)
		c, d := faults(binary.LittleEndian.Uint64(p[16:]), high), faults(binary.LittleEndian.Uint64(p[24:]), high)
		if (a|b|c|d)&top == 0 {
			continue
		}
		switch {
		case a&top != 0:
			return i + bits.TrailingZeros64(a&top)/8
		case b&top != 0:
			return i + 8 + bits.TrailingZeros64(b&top)/8
		case c&top != 0:
			return i + 16 + bits.TrailingZeros64(c&top)/8
		}
		return i + 24 + bits.TrailingZeros64(d&top)/8
	}
	for ; i+8 <= len(text); i += 8 {
		if a := faults(binary.LittleEndian.Uint64(text[i:]), high) & top; a != 0 {
			return i + bits.TrailingZeros64(a)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c&byte(high) != 0 {
			return i
		}
	}
	return i
}

// top has the top bit of each of eight bytes.
const top = 0x8080808080808080

// faults sets the top bit of the lowest of eight bytes that a JSON string cannot have, and perhaps of those above it.
// With top as high, it does so for bytes that are not ASCII, too.
func faults(x, high uint64) uint64 {
	const each = 0x0101010101010101
	// Exclusive or with 2 leaves the control characters among each other, and makes the quote the one behind them.
	low, backslash := x^each*2, x^each*'\\'
	return (low-each*(' '+1))&^low | (backslash-each)&^backslash | x&high
}

// simple returns the character that a backslash and c mean, or 0.
func simple(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

// Unquoted decodes a JSON string, which must be valid.
func Unquoted(quoted json.RawMessage) (text string) {
	inner := quoted[1 : len(quoted)-1]
	if !utf8.Valid(inner) {
		_ = json.Unmarshal(quoted, &text) // it is valid
		return text
	}
	i := bytes.IndexByte(inner, '\\')
	if i < 0 {
		return string(inner)
	}
	var b strings.Builder
	b.Grow(len(inner))
	for ; i >= 0; i = bytes.IndexByte(inner, '\\') {
		b.Write(inner[:i])
		if c := simple(inner[i+1]); c != 0 {
			b.WriteByte(c)
			inner = inner[i+2:]
			continue
		}
		r, n := escaped(inner[i:])
		b.WriteRune(r)
		inner = inner[i+n:]
	}
	b.Write(inner)
	return b.String()
}

// escaped returns the character of the \u escape that text begins with, and the length of its one or two parts. Half of
// a surrogate pair is U+FFFD, as in package encoding/json.
func escaped(text []byte) (r rune, n int) {
	r = unit(text)
	if !utf16.IsSurrogate(r) {
		return r, unitLength
	}
	if r = utf16.DecodeRune(r, unit(text[unitLength:])); r != utf8.RuneError {
		return r, 2 * unitLength
	}
	return r, unitLength
}

// unitLength is the length of an escape of a UTF-16 unit.
const unitLength = len(`\u0000`)

// unit returns the UTF-16 unit of the escape that text begins with, -1 if it begins with none.
func unit(text []byte) rune {
	if len(text) < unitLength || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	u, _ := strconv.ParseUint(string(text[2:unitLength]), 16, 16) // valid, or an answer to it would say so
	return rune(u)
}

// HalfPair returns the first escape in a JSON value that is half of a surrogate pair without its other half, as it is
// written; "" if there is none. The value must be valid. Only escapes are looked at: a long text costs one search.
func HalfPair(value json.RawMessage) string {
	for i := 0; ; {
		n := bytes.Index(value[i:], []byte(`\u`))
		if n < 0 {
			return ""
		}
		i += n
		before := 0 // an odd number of backslashes before this one makes it the second of a pair
		for i-1-before >= 0 && value[i-1-before] == '\\' {
			before++
		}
		if before%2 == 1 || value[i+len(`\u`)]|' ' != 'd' { // surrogates are U+D800 to U+DFFF
			i += len(`\u`)
			continue
		}
		r, n := escaped(value[i:])
		if r == utf8.RuneError && utf16.IsSurrogate(unit(value[i:])) {
			return string(value[i : i+n])
		}
		i += n
	}
}

// Quote writes s as JSON, without escapes that only HTML needs.
//
// ASCII is read once. To look at all of it for bytes that are not UTF-8 and for each of two line ends first took 8 % of
// the processor time of a read of bytes (BenchmarkContent/read/bytes).
func Quote(b *bytes.Buffer, s string) {
	b.Grow(len(s) + len(s)/16 + len(`""`))
	p := append(b.AvailableBuffer(), '"')
	high := uint64(top)
	for rest := s; ; {
		n := find(Bytes(rest), high)
		p = append(p, rest[:n]...)
		if rest = rest[n:]; rest == "" {
			break
		}
		c := rest[0]
		if c >= utf8.RuneSelf {
			// Package encoding/json replaces bytes that are not UTF-8, and escapes the line ends U+2028 and U+2029.
			if !utf8.ValidString(rest) || strings.Contains(rest, "\u2028") || strings.Contains(rest, "\u2029") {
				encode(b, s)
				return
			}
			high = 0
			continue
		}
		switch c {
		case '"', '\\':
			p = append(p, '\\', c)
		case '\b':
			p = append(p, `\b`...)
		case '\f':
			p = append(p, `\f`...)
		case '\n':
			p = append(p, `\n`...)
		case '\r':
			p = append(p, `\r`...)
		case '\t':
			p = append(p, `\t`...)
		default:
			const digits = "0123456789abcdef"
			p = append(p, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
		}
		rest = rest[1:]
	}
	b.Write(append(p, '"'))
}

// encode writes s as Quote does, by package encoding/json.
func encode(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)       // a string always encodes
	b.Truncate(b.Len() - 1) // the line end
}
