package saved

import (
	"crypto/sha256"
	"time"
)

// Answers are the results of hosts for one command.
type Answers struct {
	Command string    // as a line
	Began   time.Time // of the run
	Hosts   []Answer  // in the order of the run; their labels are unique
}

// An Answer is the result of one host: an exit code with two outputs, or the reason why it has no exit code.
type Answer struct {
	Label  string
	Names  []string // further names and addresses of the host, which groups.Volatile masks
	Exit   *int     // nil: no exit code
	Code   string   // without one: a word such as timeout or not_run
	Stdout Output
	Stderr Output
}

// An Output is one stream of a command, as far as it is kept. It shares its bytes with the run, which does not change
// them any more.
type Output struct {
	Head  []byte // from the first byte on
	Tail  []byte // the last bytes; Total-len(Head)-len(Tail) bytes between them are not kept
	Total int64
	Sum   [sha256.Size]byte // of all bytes
}

// dropped returns how many bytes are not kept.
func (o Output) dropped() int64 { return o.Total - int64(len(o.Head)) - int64(len(o.Tail)) }
