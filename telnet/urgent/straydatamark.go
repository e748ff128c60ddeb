package urgent

import (
	"bytes"
	"net"
	"time"
)

// Servers of the BSD family answer an interrupt with IAC DM and mark the IAC as TCP urgent
// data (RFC 854). If the connection ends at a bastion or a TLS front end, that kernel removes
// the urgent byte from the stream, and DM is left as data: a byte 0xF2 before the answer. The
// client cannot recover the IAC, so it removes the DM.

// strayDataMarkTime is how long after an interrupt a stray mark is expected.
const strayDataMarkTime = 2 * time.Second

// dataMark is the command DM (RFC 854).
const dataMark = 242

// interrupts are the keys that such servers answer with a mark: ctrl_c, ctrl_z,
// ctrl_backslash.
const interrupts = "\x03\x1a\x1c"

// A StrayDataMark removes one stray data mark from the data. The zero value expects none.
type StrayDataMark struct {
	until time.Time // when to stop; zero without an unanswered interrupt
	fresh bool      // no data since the interrupt
}

// Indirect reports whether nc is not a TCP connection, so that urgent data cannot arrive as
// such.
func Indirect(nc net.Conn) bool {
	_, tcp := nc.(*net.TCPConn)
	return !tcp
}

// Sent looks for an interrupt in the data that is being sent.
func (s *StrayDataMark) Sent(p []byte) {
	if bytes.ContainsAny(p, interrupts) {
		s.until, s.fresh = time.Now().Add(strayDataMarkTime), true
	}
}

// Remove removes the mark from data if present: the first byte since the interrupt, or the
// byte before the ^ with which a terminal shows the key. It returns the new length of data.
func (s *StrayDataMark) Remove(data []byte) int {
	if s.until.IsZero() || len(data) == 0 {
		return len(data)
	}
	// A terminal shows the interrupt key as ^C, so the mark before it is recognizable anywhere.
	at := bytes.Index(data, []byte{dataMark, '^'})
	if s.fresh && data[0] == dataMark {
		at = 0
	}
	s.fresh = false
	if time.Now().After(s.until) {
		s.until = time.Time{}
		return len(data)
	}
	if at < 0 {
		return len(data)
	}
	s.until = time.Time{}
	return at + copy(data[at:], data[at+1:])
}
