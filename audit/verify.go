package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Report says what Verify has found.
type Report struct {
	Files int
	Lines int
	First int64    // number of the first file; if it is not 1, those before it were not looked at
	Head  string   // hash of the last line
	Since int      // lines after the one whose hash was given
	Lost  int64    // lines that ptyctl says it could not keep
	Torn  []string // file:line of lines that were never finished, and that a later line vouches for
}

// A BrokenError says where the chain breaks first.
type BrokenError struct {
	File string
	Line int // from 1; 0: the file as a whole
	Why  string
}

func (e *BrokenError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Why
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Why
}

// Verify checks the chain over the files, which may be given in any order: a name that ends in .2 is older than one
// that ends in .1. head, if not empty, is the hash of a line that must be there. The report is as far as it came.
func Verify(head string, names ...string) (Report, error) {
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int { return age(b) - age(a) })
	v := verifier{head: strings.ToLower(head)}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return v.report, err
		}
		var size int64
		if size, err = settledSize(f); err == nil {
			err = v.file(name, io.LimitReader(f, size))
		}
		_ = f.Close()
		if err != nil {
			return v.report, err
		}
	}
	return v.report, v.end()
}

// settledSize is the size of a file between two batches of lines, if ptyctl is writing it.
func settledSize(f *os.File) (int64, error) {
	if err := lockShared(f); err != nil {
		return 0, err
	}
	defer unlockFile(f)
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// age is the number that rotation has added to a name.
func age(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(name), "."))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// A verifier follows the chain line by line.
type verifier struct {
	report Report
	head   string
	found  bool // head was seen

	name   string
	line   int
	number int64        // of the file
	last   string       // hash of the last good line; empty: none yet
	prev   string       // what that line had for the line before
	bad    *BrokenError // of the last line, which is forgiven if the next one says that it was never finished
	badSum string
}

// file checks the next file.
func (v *verifier) file(name string, r io.Reader) error {
	if v.bad != nil {
		return v.bad
	}
	v.name, v.line = name, 0
	v.report.Files++
	lines := bufio.NewReaderSize(r, 2*maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			if len(line) > 0 {
				v.line++
				return v.broken(
					"the last line is not finished (%d bytes): ptyctl is at it, was stopped at it, or it was cut",
					len(line),
				)
			}
			break
		}
		v.line++
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return v.broken("the line is longer than any that ptyctl writes")
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := v.add(line[:len(line)-1]); err != nil {
			return err
		}
	}
	if v.line == 0 {
		return v.broken("the file is empty: an audit file has a first line at least")
	}
	return nil
}

// add checks the next line.
func (v *verifier) add(line []byte) error {
	var n Entry
	notJSON := json.Unmarshal(line, &n)
	if notJSON == nil && n.Event == eventTorn && n.Self != nil && v.line > 1 {
		return v.torn(line, n)
	}
	if v.bad != nil {
		return v.bad
	}
	switch {
	case notJSON != nil:
		v.suspect(line, "the line is no JSON object of an audit log: it was changed, or never finished")
	case v.line == 1:
		return v.first(line, n)
	case n.Event == eventFile:
		v.suspect(
			line,
			"the first line of a file in the middle of one: the line end before it, or what lay between, was changed",
		)
	case n.Prev != v.last:
		v.suspect(
			line,
			"the line does not follow the one before it: that one was changed, or lines between them were removed, added or moved",
		)
	default:
		v.accept(line, n)
	}
	return nil
}

// first checks the first line of a file.
func (v *verifier) first(line []byte, n Entry) error {
	switch {
	case n.Event != eventFile || n.Self == nil || n.Self.File < 1:
		return v.broken("the file does not begin with the line that begins each: lines before this one were removed")
	case v.last == "" && (n.Self.File == 1) != (n.Prev == origin):
		return v.broken("the line says that this is file %d, but its hash says otherwise: it was changed", n.Self.File)
	case v.last != "" && n.Self.File != v.number+1:
		return v.broken("this is file %d, and file %d was before it: give all files, each once", n.Self.File, v.number)
	case v.last != "" && n.Prev != v.last:
		return v.broken("the file does not follow the one before it: the last line of that one was changed or removed")
	}
	if v.last == "" {
		v.report.First = n.Self.File
	}
	v.number = n.Self.File
	v.accept(line, n)
	return nil
}

// torn checks a line that vouches for the one before it.
func (v *verifier) torn(line []byte, n Entry) error {
	switch {
	case v.bad != nil && n.Prev == v.last && n.Self.TornHash == v.badSum:
		v.bad = nil
	case v.bad == nil && n.Prev == v.prev && n.Self.TornHash == v.last: // only its line end was missing
	case v.bad != nil:
		return v.bad
	default:
		return v.broken("the line speaks of an unfinished line before it, which is not there: it was changed or removed")
	}
	v.report.Torn = append(v.report.Torn, v.name+":"+strconv.Itoa(v.line-1))
	v.accept(line, n)
	return nil
}

func (v *verifier) accept(line []byte, n Entry) {
	v.prev, v.last = n.Prev, digest(line)
	v.report.Lines++
	v.report.Head = v.last
	v.report.Since++
	if v.last == v.head {
		v.found, v.report.Since = true, 0
	}
	if n.Self != nil {
		v.report.Lost += n.Self.Lost
	}
}

// suspect puts the line aside until the next one is known.
func (v *verifier) suspect(line []byte, why string) {
	v.bad, v.badSum = &BrokenError{v.name, v.line, why}, digest(line)
}

func (v *verifier) broken(format string, args ...any) error {
	if v.bad != nil {
		return v.bad
	}
	return &BrokenError{v.name, v.line, fmt.Sprintf(format, args...)}
}

// end checks what can be said only after the last line.
func (v *verifier) end() error {
	switch {
	case v.bad != nil:
		return v.bad
	case v.head != "" && !v.found:
		return &BrokenError{
			File: v.name,
			Why:  "no line has the hash " + v.head + ": the log was cut before it, made anew, or is another one",
		}
	}
	return nil
}

// IsHash reports whether text has the form of a line's hash.
func IsHash(text string) bool {
	return len(text) == len(origin) && len(bytes.Trim([]byte(strings.ToLower(text)), "0123456789abcdef")) == 0
}
