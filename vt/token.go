package vt

// A Kind is the type of a Token.
type Kind uint8

// The kinds of tokens.
const (
	Text     Kind = iota + 1 // a run of printable characters
	Control                  // a C0 control or DEL (ECMA-48 section 8.2.1)
	Escape                   // ESC, intermediate bytes, final byte (ECMA-35 section 13)
	CSI                      // a control sequence (ECMA-48 section 5.4)
	OSC                      // operating system command
	DCS                      // device control string; its parameters and final byte are part of Data
	SOS                      // start of string
	PM                       // privacy message
	APC                      // application program command
	Canceled                 // an interrupted (CAN, SUB, a new ESC) or malformed sequence, without effect
)

const maxParams = 32 // xterm keeps 30; a terminal ignores the others

// A Token is one element of the output. It is valid until the next call of its Parser.
type Token struct {
	Kind Kind
	// Final is the final byte of an Escape or a CSI, the character itself of a Control, and BEL
	// after a string that BEL has ended.
	Final byte
	// Private is the first byte of a CSI if it is one of < = > ?, else 0.
	Private byte
	// Inter holds the intermediate bytes (0x20-0x2f) of an Escape or a CSI; 0 marks an unused
	// element. A sequence with more than two is Canceled.
	Inter [2]byte
	// ASCII is true for a Text if all its bytes are known to be below 0x7f; with false they may
	// be.
	ASCII bool
	// Truncated is true for a string longer than Parser.MaxString.
	Truncated bool
	// Data is the bytes of a Text or the content of a string. A rune is never cut, but a Text
	// may contain bytes that are not UTF-8. Decoding the pieces gives the same runes as decoding
	// the whole stream.
	Data []byte

	params  [maxParams]int32 // -1 where left out
	nparams int
	sub     uint32 // bit i: parameter i follows a colon
}

// Len returns the number of parameters of a CSI, including subparameters.
func (t *Token) Len() int { return t.nparams }

// Param returns parameter i of a CSI, at most 65535, or def if it was omitted.
func (t *Token) Param(i, def int) int {
	if i >= t.nparams || t.params[i] < 0 {
		return def
	}
	return int(t.params[i])
}

// Sub reports whether parameter i is a subparameter: it follows a colon (ITU-T T.416 section 13.1.8).
func (t *Token) Sub(i int) bool { return i < t.nparams && t.sub&(1<<i) != 0 }

// count returns parameter 0 of a CSI that takes a count. As on a VT100, 0 means 1.
func (t *Token) count() int { return max(1, t.Param(0, 1)) }

// plain reports whether a CSI has neither private marker nor intermediate bytes.
func (t *Token) plain() bool { return t.Private == 0 && t.Inter[0] == 0 }

// clear prepares t for the next token.
func (t *Token) clear() {
	t.Private, t.Inter = 0, [2]byte{}
	t.ASCII, t.Truncated = false, false
	if t.Data != nil { // writing a pointer is slower than testing it
		t.Data = nil
	}
	t.nparams, t.sub = 0, 0
}

const maxParam = 65535

// sequence is the fast path for a complete sequence of a usual form at the front of b, which
// begins with ESC: a CSI with an optional private marker, numbers between semicolons and the
// final byte, or an Escape with one intermediate byte. It returns the length, or 0 for any
// other or incomplete sequence.
func (t *Token) sequence(b []byte) int {
	if len(b) < 3 {
		return 0
	}
	t.clear()
	if b[1] != '[' {
		if b[1] < 0x20 || b[1] > 0x2f || b[2] < 0x30 || b[2] >= del {
			return 0
		}
		t.Kind, t.Inter[0], t.Final = Escape, b[1], b[2]
		return 3
	}
	i := 2
	if c := b[i]; '<' <= c && c <= '?' {
		t.Private = c
		i++
	}
	params, value := 0, int32(-1)
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c-'0' <= 9:
			value = min(max(value, 0)*10+int32(c-'0'), maxParam)
		case c == ';' && params < maxParams-1:
			t.params[params] = value
			params++
			value = -1
		case 0x40 <= c && c < del:
			if params > 0 || value >= 0 {
				t.params[params] = value
				params++
			}
			t.Kind, t.Final, t.nparams = CSI, c, params
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// digits adds the digits at the front of b to the current parameter and returns how many
// there are.
func (t *Token) digits(b []byte) (n int) {
	if t.nparams == 0 {
		t.params[0], t.nparams = -1, 1
	}
	i := min(t.nparams, maxParams) - 1
	value := max(t.params[i], 0)
	for n < len(b) && b[n]-'0' <= 9 {
		value = min(value*10+int32(b[n]-'0'), maxParam)
		n++
	}
	if t.nparams <= maxParams {
		t.params[i] = value
	}
	return n
}

// separator starts the next parameter; after a colon it is a subparameter.
func (t *Token) separator(c byte) {
	if t.nparams == 0 {
		t.params[0], t.nparams = -1, 1
	}
	if t.nparams >= maxParams {
		t.nparams = maxParams + 1 // its digits must not change the last parameter
		return
	}
	t.params[t.nparams] = -1
	if c == ':' {
		t.sub |= 1 << t.nparams
	}
	t.nparams++
}

// intermediate stores c and reports whether there was room.
func (t *Token) intermediate(c byte) bool {
	for i := range t.Inter {
		if t.Inter[i] == 0 {
			t.Inter[i] = c
			return true
		}
	}
	return false
}
