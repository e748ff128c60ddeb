package processes

import (
	"math/rand/v2"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A Tag marks a process and all its descendants: a value of a limit that no kernel since 2.4.25 enforces
// (RLIMIT_LOCKS, getrlimit(2)). It survives fork, exec and setsid, and unlike a variable it stays when the environment is
// cleared. 0 is no tag.
type Tag uint64

// A tag has three parts: the base bit, a number that no two programs share, and the family, which all programs of this
// process share. So a process can be known as one of ours without a list of all tags.
const (
	familyBits = 32
	numberBits = 27 // with the family they fill the bits below tagBase/2

	// tagBase is above every value that a user would choose for the limit. A tag that is also the upper limit has one
	// more bit than a tag below an upper limit.
	tagBase = 1 << 60
)

// A Family is the part that the tags of all programs of one process share.
type Family uint32

// OwnFamily is the family of the programs of this process.
var OwnFamily = Family(rand.Uint32())

// lastTag counts the tags.
var lastTag atomic.Uint64

// nextTag returns a value below tagBase that is the tag of no other program.
func nextTag() uint64 {
	return tagBase/2 | lastTag.Add(1)&(1<<numberBits-1)<<familyBits | uint64(OwnFamily)
}

// NewTag returns a mark that carries a new tag, and this process's own limit. If that has an upper limit, it is the mark
// of an outer ptyctl, which must still see our processes; then only the lower limit is ours. The mark is zero if the
// system has no such limit.
func NewTag() (mark, own unix.Rlimit) {
	if unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &own) != nil {
		return unix.Rlimit{}, own
	}
	mark = unix.Rlimit{Cur: nextTag(), Max: own.Max}
	if own.Max == unix.RLIM_INFINITY {
		mark.Cur |= tagBase
		mark.Max = mark.Cur
	}
	return mark, own
}

// On reports whether a process has the tag.
func (t Tag) On(pid int) bool {
	var l unix.Rlimit
	return t != 0 && unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &l) == nil && (Tag(l.Cur) == t || Tag(l.Max) == t)
}

// Has reports whether a process has a tag of the family. An error means that it cannot be looked at, also because it has
// ended.
func (f Family) Has(pid int) (bool, error) {
	var l unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &l); err != nil {
		return false, err
	}
	ours := func(v uint64) bool {
		return v != unix.RLIM_INFINITY && v&(tagBase/2) != 0 && v>>(familyBits+numberBits+2) == 0 && Family(v) == f
	}
	return ours(l.Cur) || ours(l.Max), nil
}
