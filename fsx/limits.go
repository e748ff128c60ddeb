package fsx

import (
	"fmt"
	"math"
	"time"

	"ptyctl/term"
)

// Limits bound the size of one call.
type Limits struct {
	Read    int64 // bytes of one read; 0: 1 MiB
	Write   int64 // bytes of one write; 0: 4 MiB
	Entries int   // entries of one listing; 0: 1000
}

// withDefaults returns l with defaults in place of zero fields.
func (l Limits) withDefaults() Limits {
	if l.Read <= 0 {
		l.Read = 1 << 20
	}
	if l.Write <= 0 {
		l.Write = 4 << 20
	}
	if l.Entries <= 0 {
		l.Entries = 1000
	}
	return l
}

// read returns the most bytes that a read may return.
func (l Limits) read(r term.FileRead) (int64, error) {
	if r.Offset < 0 || r.Max < 0 {
		return 0, &term.Error{
			Op:    opRead,
			Kind:  term.InvalidArgument,
			Msg:   "the offset and the most bytes to read count from 0 on",
			Facts: term.Facts{term.ArgumentFault{Field: term.FieldOffset}},
		}
	}
	most := l.Read
	if r.Max > 0 {
		most = min(r.Max, l.Read)
	}
	return min(most, math.MaxInt64-r.Offset), nil // no offset beyond int64, for any data of a server
}

// list returns the most entries that a listing may have.
func (l Limits) list(n int) int {
	if n <= 0 {
		return l.Entries
	}
	return min(n, l.Entries)
}

// write refuses data that is too large, and modes other than permissions.
func (l Limits) write(w term.FileWrite) error {
	if n := int64(len(w.Data)); n > l.Write {
		return &term.Error{
			Op: opWrite, Kind: term.LimitExceeded,
			Msg:    fmt.Sprintf("the data has %d bytes, and one write at most %d", n, l.Write),
			Facts:  term.Facts{term.LimitReached{Limit: term.LimitFileWrite, Value: l.Write}},
			Advice: "write the first part, and append the others",
		}
	}
	if w.Mode != nil && *w.Mode&^0o777 != 0 {
		return &term.Error{
			Op:    opWrite,
			Kind:  term.InvalidArgument,
			Msg:   "mode must be permissions in octal, 0777 at most, such as 0644",
			Facts: term.Facts{term.ArgumentFault{Field: term.FieldMode}},
		}
	}
	return nil
}

// The sizes of data between two checks whether the call has ended: larger if the
// transfer is fast, so that the checks cost nothing, and smaller if it is slow, so
// that they come in time.
const (
	piece      = 4 << 20
	firstPiece = 256 << 10
	leastPiece = 32 << 10

	quick = 100 * time.Millisecond
	slow  = time.Second
)

// A pace chooses the size of the next piece. The zero value starts with firstPiece.
type pace struct {
	unit  int64 // larger pieces are whole multiples of it, so that none has a request for a few bytes; 0: any size
	size  int64
	began time.Time
}

// next returns the size of the next piece, and starts its time.
func (p *pace) next() int64 {
	p.look()
	p.began = time.Now()
	if p.unit > 0 && p.size > p.unit {
		return p.size - p.size%p.unit
	}
	return p.size
}

// look changes the size by the time of the last piece, which shows the speed of the transfer.
func (p *pace) look() {
	switch took := time.Since(p.began); {
	case p.size == 0:
		p.size = firstPiece
	case p.began.IsZero():
	case took < quick:
		p.size = min(2*p.size, piece)
	case took > slow:
		p.size = max(p.size/2, leastPiece)
	}
}

// rest ends the time of the last piece, of so many bytes: the next one begins an action of its own. A smaller piece than
// was allowed does not show that the transfer is fast.
func (p *pace) rest(last int) {
	if int64(last) >= p.size || time.Since(p.began) > slow {
		p.look()
	}
	p.began = time.Time{}
}
