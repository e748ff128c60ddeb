package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// A Seal closes a part of a recording.
type Seal struct {
	Number int    // from 1
	Hash   string // SHA-256 in hex of the seal before, of all between the two, and of the number
	Bytes  int64  // of the recording up to the end of the seal, before encryption
	End    bool   // nothing follows
}

// sealWord begins a seal's line, after "# ptyctl ".
const sealWord = "seal "

// A chain computes the hashes of seals.
type chain struct {
	number int
	prev   [sha256.Size]byte
	sum    hash.Hash // of the part that no seal closes yet
	open   int64     // its size
	bytes  int64     // of all
}

func newChain() *chain {
	c := &chain{sum: sha256.New()}
	c.sum.Write(c.prev[:])
	return c
}

// add makes lines part of the next seal.
func (c *chain) add(lines []byte) {
	c.sum.Write(lines)
	c.open += int64(len(lines))
	c.bytes += int64(len(lines))
}

// next returns the next seal and its line, which counts once it is closed.
func (c *chain) next(end bool) (Seal, []byte) {
	s := Seal{Number: c.number + 1, End: end}
	what := sealWord + strconv.Itoa(s.Number)
	if end {
		what += " end"
	}
	sum := c.sum
	if cloner, ok := sum.(hash.Cloner); ok { // as that of package sha256 is
		if clone, err := cloner.Clone(); err == nil {
			sum = clone
		}
	}
	sum.Write([]byte(what))
	s.Hash = hex.EncodeToString(sum.Sum(nil))
	line := fmt.Appendf(nil, "# ptyctl %s sha256=%s prev=%s\n", what, s.Hash, hex.EncodeToString(c.prev[:]))
	s.Bytes = c.bytes + int64(len(line))
	return s, line
}

// close makes s the last seal.
func (c *chain) close(s Seal) {
	c.number, c.open, c.bytes = s.Number, 0, s.Bytes
	_, _ = hex.Decode(c.prev[:], []byte(s.Hash))
	c.sum.Reset()
	c.sum.Write(c.prev[:])
}

// undo forgets the part without a seal, and returns the size of the rest.
func (c *chain) undo() int64 {
	c.bytes -= c.open
	c.open = 0
	c.sum.Reset()
	c.sum.Write(c.prev[:])
	return c.bytes
}

// isSeal reports whether line is the line of a seal, or imitates one.
func isSeal(line []byte) bool { return bytes.HasPrefix(line, []byte("# ptyctl "+sealWord)) }

// readSeal returns the number and the end of a seal's line, which need not be right.
func readSeal(line []byte) (number int, end bool) {
	words := strings.Fields(strings.TrimPrefix(string(line), "# ptyctl "+sealWord))
	if len(words) == 0 {
		return 0, false
	}
	number, _ = strconv.Atoi(words[0])
	return number, len(words) > 1 && words[1] == "end"
}

// check compares a seal's line with the chain so far.
func (c *chain) check(line []byte) (Seal, error) {
	number, end := readSeal(line)
	if number != c.number+1 {
		return Seal{}, fmt.Errorf("seal %d follows seal %d: one was removed, added or moved", number, c.number)
	}
	s, want := c.next(end)
	if !bytes.Equal(line, want) {
		return Seal{}, fmt.Errorf("seal %d does not fit what is before it: that was changed", number)
	}
	c.close(s)
	return s, nil
}
