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

// A Report is the result of Verify.
type Report struct {
	Files int
	Lines int
	First int64    // number of the first file; files before it were not checked
	Head  string   // hash of the last line
	Since int      // lines after the one with the given hash
	Lost  int64    // lines that ptyctl could not keep, according to the log
	Torn  []string // file:line of incomplete lines that a later line explains

	// Recordings are the newest entries about recordings that were not removed, by path. Their files are to be compared
	// with them.
	Recordings map[string]Recording
}

// A BrokenError says where the chain breaks first.
type BrokenError struct {
	File string
	Line int // from 1; 0: the whole file
	Why  string
}

func (e *BrokenError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Why
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Why
}

// Verify checks the chain in the files, in any order: a name that ends in .2 is older
// than one that ends in .1. If head is not empty, a line with this hash must exist. After
// an error the report covers the lines before it.
func Verify(head string, names ...string) (Report, error) {
	v := verifier{head: strings.ToLower(head)}
	if err := v.files(names); err != nil {
		return v.report, err
	}
	return v.report, v.end()
}

// files checks the files, the oldest one first.
func (v *verifier) files(names []string) error {
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int { return age(b) - age(a) })
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		var size int64
		if size, err = settledSize(f); err == nil {
			err = v.file(name, io.LimitReader(f, size))
		}
		_ = f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// settledSize returns the size of a file between two batches of lines, because ptyctl may
// be writing it.
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

// age returns the number that rotation has added to a name; 0 for the current file.
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
	found  bool            // head has been seen
	heads  map[string]bool // of VerifyHeads: whether they have been seen

	name   string
	line   int
	number int64        // of the file
	last   string       // hash of the last good line; empty: none yet
	prev   string       // previous hash in that line
	bad    *BrokenError // set for the last line, unless the next line explains it as incomplete
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
					"the last line is incomplete (%d bytes): ptyctl is writing it, was killed, or the file was cut",
					len(line),
				)
			}
			break
		}
		v.line++
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return v.broken("line longer than ptyctl writes; it is longer than any in an audit log")
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := v.add(line[:len(line)-1]); err != nil {
			return err
		}
	}
	if v.line == 0 {
		return v.broken("empty file: an audit file has at least one line")
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
		v.suspect(line, "line is not JSON of an audit log: it was changed, or never finished")
	case v.line == 1:
		return v.first(line, n)
	case n.Event == eventFile:
		v.suspect(
			line,
			"first line of a file in the middle of another: "+
				"the line end before it, or lines between them, were changed",
		)
	case n.Prev != v.last:
		v.suspect(
			line,
			"line does not follow the one before it: that one was changed, or lines between them were removed, "+
				"added or moved",
		)
	default:
		v.accept(line, n)
	}
	return nil
}

// first checks the first line of a file against the end of the file before it.
func (v *verifier) first(line []byte, n Entry) error {
	switch {
	case n.Event != eventFile || n.Self == nil || n.Self.File < 1:
		return v.broken("first line of the file missing: lines before this one were removed")
	case v.last == "" && (n.Self.File == 1) != (n.Prev == origin):
		return v.broken("line changed: it says that this is file %d, but its hash does not", n.Self.File)
	case v.last != "" && n.Self.File != v.number+1:
		return v.broken("file %d follows file %d: pass all files, each once", n.Self.File, v.number)
	case v.last != "" && n.Prev != v.last:
		return v.broken("file does not follow the one before it: the last line of that one was changed or removed")
	}
	if v.last == "" {
		v.report.First = n.Self.File
	}
	v.number = n.Self.File
	v.accept(line, n)
	return nil
}

// torn checks a line that explains the incomplete line before it.
func (v *verifier) torn(line []byte, n Entry) error {
	switch {
	case v.bad != nil && n.Prev == v.last && n.Self.TornHash == v.badSum:
		v.bad = nil
	case v.bad == nil && n.Prev == v.prev && n.Self.TornHash == v.last: // only its line end was missing
	case v.bad != nil:
		return v.bad
	default:
		return v.broken("no incomplete line before this one, although it describes one: that was changed or removed")
	}
	v.report.Torn = append(v.report.Torn, v.name+":"+strconv.Itoa(v.line-1))
	v.accept(line, n)
	return nil
}

// accept counts a good line.
func (v *verifier) accept(line []byte, n Entry) {
	v.prev, v.last = n.Prev, digest(line)
	v.report.Lines++
	v.report.Head = v.last
	v.report.Since++
	if v.last == v.head {
		v.found, v.report.Since = true, 0
	}
	if _, wanted := v.heads[v.last]; wanted {
		v.heads[v.last] = true
	}
	if n.Self != nil {
		v.report.Lost += n.Self.Lost
	}
	if r := n.Recording; r != nil {
		if v.report.Recordings == nil {
			v.report.Recordings = make(map[string]Recording)
		}
		if v.report.Recordings[r.Path] = *r; r.Removed != "" {
			delete(v.report.Recordings, r.Path)
		}
	}
}

// suspect keeps a bad line until the next line shows whether it was only incomplete.
func (v *verifier) suspect(line []byte, why string) {
	v.bad, v.badSum = &BrokenError{v.name, v.line, why}, digest(line)
}

// broken returns the error for the current line.
func (v *verifier) broken(format string, args ...any) error {
	if v.bad != nil {
		return v.bad
	}
	return &BrokenError{v.name, v.line, fmt.Sprintf(format, args...)}
}

// end makes the checks that are possible only after the last line.
func (v *verifier) end() error {
	switch {
	case v.bad != nil:
		return v.bad
	case v.head != "" && !v.found:
		return &BrokenError{
			File: v.name,
			Why:  "no line has the hash " + v.head + ": the log was cut before it, rewritten, or is another one",
		}
	}
	return nil
}

// IsHash reports whether text has the form of a line's hash: 64 hexadecimal digits.
func IsHash(text string) bool {
	return len(text) == len(origin) && len(bytes.Trim([]byte(strings.ToLower(text)), "0123456789abcdef")) == 0
}
