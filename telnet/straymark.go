package telnet

import (
	"bytes"
	"net"
	"time"
)

// Servers of the BSD family answer an interrupt with IAC DM, of which IAC is TCP urgent data (RFC 854). Where the
// connection ends at a bastion or a TLS front, that one's kernel takes the urgent byte out of the stream, and DM is left
// as if it were data: a byte 0xF2 before the answer. Nothing on our side can get IAC back.

// strayFor is how long after an interrupt such a mark is looked for.
const strayFor = 2 * time.Second

// interrupts are the keys that servers answer like that: ctrl_c, ctrl_z, ctrl_backslash.
const interrupts = "\x03\x1a\x1c"

// A strayMark takes one such byte out of the data. The zero value looks for none.
type strayMark struct {
	until time.Time // an interrupt was sent; zero: none that is not answered
	fresh bool      // no data came since
}

// indirect reports whether urgent data cannot reach us as such.
func indirect(nc net.Conn) bool {
	_, tcp := nc.(*net.TCPConn)
	return !tcp
}

// sent notes what goes out.
func (s *strayMark) sent(p []byte) {
	if bytes.ContainsAny(p, interrupts) {
		s.until, s.fresh = time.Now().Add(strayFor), true
	}
}

// remove takes the mark out of data, if it is there: the first byte since the interrupt, or the one before the ^ with
// which a terminal shows the key. It returns the data's new length.
func (s *strayMark) remove(data []byte) int {
	if s.until.IsZero() || len(data) == 0 {
		return len(data)
	}
	at := bytes.Index(data, []byte{cmdDM, '^'})
	if s.fresh && data[0] == cmdDM {
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
