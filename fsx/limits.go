package fsx

import (
	"fmt"
	"math"
	"time"

	"ptyctl/term"
)

// Limits bound what one call may move.
type Limits struct {
	Read    int64 // bytes; 0: 1 MiB
	Write   int64 // bytes; 0: 4 MiB
	Entries int   // of a folder; 0: 1000
}

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

// read is how many bytes a read may return.
func (l Limits) read(r term.FileRead) (int64, error) {
	if r.Offset < 0 || r.Max < 0 {
		return 0, &term.Error{
			Op:      opRead,
			Kind:    term.InvalidArgument,
			Msg:     "offset and max_bytes count bytes from 0 on",
			Details: &term.Details{Field: "offset"},
		}
	}
	most := l.Read
	if r.Max > 0 {
		most = min(r.Max, l.Read)
	}
	return min(most, math.MaxInt64-r.Offset), nil // no file has more, whatever a server sends
}

// list is how many entries a listing may have.
func (l Limits) list(n int) int {
	if n <= 0 {
		return l.Entries
	}
	return min(n, l.Entries)
}

// write refuses what is too large, and what contradicts itself.
func (l Limits) write(w term.FileWrite) error {
	if n := int64(len(w.Data)); n > l.Write {
		return &term.Error{
			Op: opWrite, Kind: term.LimitExceeded, Details: &term.Details{Limit: "fs.max_write_bytes", Value: l.Write},
			Msg: fmt.Sprintf(
				"the data has %d bytes, and one write at most %d (fs.max_write_bytes); write the first part, and add the others with append",
				n,
				l.Write,
			),
		}
	}
	if w.Mode != nil && *w.Mode&^0o777 != 0 {
		return &term.Error{
			Op:      opWrite,
			Kind:    term.InvalidArgument,
			Msg:     "mode must be permissions in octal, 0777 at most, such as 0644",
			Details: &term.Details{Field: "mode"},
		}
	}
	return nil
}

// What is read or written between two looks at whether the call has ended: more where it goes fast, so that nothing waits
// for the looks, and less where it goes slowly, so that they come in time.
const (
	piece      = 4 << 20
	firstPiece = 256 << 10
	leastPiece = 32 << 10

	quick = 100 * time.Millisecond
	slow  = time.Second
)

// A pace is how large the next piece is. The zero pace is at its start.
type pace struct {
	size  int64
	began time.Time
}

// next returns the size of the next piece, and takes its time.
func (p *pace) next() int64 {
	now := time.Now()
	switch took := now.Sub(p.began); {
	case p.size == 0:
		p.size = firstPiece
	case took < quick:
		p.size = min(2*p.size, piece)
	case took > slow:
		p.size = max(p.size/2, leastPiece)
	}
	p.began = now
	return p.size
}
