package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"filippo.io/age"
)

// maxLineBytes is the longest line of a recording; ptyctl writes shorter ones.
const maxLineBytes = 4 << 20

// An Event is one event of a recording.
type Event struct {
	Time time.Duration // since the start
	// Code is 'o' for output, 'r' for a new size (COLSxROWS), 'm' for a marker, 'x' for the status of the program. Others
	// may come, and must be skipped.
	Code byte
	Text string

	View View // of output: the view that shows it
	// Redraw says that the output only draws the other view again. Its content was in the recording before.
	Redraw bool
}

// A FormatError says why a file is no recording.
type FormatError struct {
	File string
	Line int
	Why  string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Why)
}

// A Reader reads a recording from its start. It keeps no more than a line of it.
type Reader struct {
	Header Header

	name   string
	in     *bufio.Reader
	file   io.Closer
	raw    *counter
	size   int64 // of the file; 0: not known
	line   int
	buf    []byte // a line that is longer than in's buffer
	time   time.Duration
	view   View
	redraw bool
	torn   bool
}

// A counter counts the bytes that are read.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// ErrEncrypted means that a recording cannot be read without one of the identities that it is encrypted to.
var ErrEncrypted = errors.New("the recording is encrypted: pass an identity of age that it is encrypted to")

// Open opens the recording in a file. Identities are for one that is encrypted.
func Open(path string, identities ...age.Identity) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := newReader(path, f, identities)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	r.file = f
	if info, err := f.Stat(); err == nil {
		r.size = info.Size()
	}
	return r, nil
}

// Plain writes a recording as it is in its file, decrypted, seals included.
func Plain(w io.Writer, path string, identities ...age.Identity) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in, err := decrypted(f, identities)
	if err == nil {
		if _, err = io.Copy(w, in); errors.Is(err, io.ErrUnexpectedEOF) { // that is where it ends
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// NewReader reads a recording from in.
func NewReader(in io.Reader, identities ...age.Identity) (*Reader, error) {
	return newReader("recording", in, identities)
}

func newReader(name string, in io.Reader, identities []age.Identity) (*Reader, error) {
	r := &Reader{name: name, raw: &counter{Reader: in}}
	plain, err := decrypted(r.raw, identities)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.in = bufio.NewReaderSize(plain, 64<<10)
	line, err := r.next()
	switch {
	case errors.Is(err, io.EOF) && r.torn:
		return nil, &FormatError{name, 1, "the first line is not complete"}
	case errors.Is(err, io.EOF):
		return nil, &FormatError{name, 1, "the file is empty: its session had not opened when the recording ended"}
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(line, &r.Header); err != nil || r.Header.Version != 3 {
		return nil, &FormatError{name, 1, "the first line is not the header of an asciicast v3"}
	}
	if t := r.Header.Term; t.Cols < 1 || t.Rows < 1 {
		return nil, &FormatError{name, 1, "the header has no size of the terminal"}
	}
	return r, nil
}

// lineReader reads lines from the middle of a recording, where the terminal is the view.
func lineReader(in io.Reader) *Reader {
	return &Reader{name: "recording", raw: &counter{Reader: in}, in: bufio.NewReaderSize(in, 64<<10)}
}

// next returns the next line without its end. The error is io.EOF also after a line that is not finished.
func (r *Reader) next() ([]byte, error) {
	r.buf = r.buf[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		switch {
		case err == nil:
			r.line++
			if part = part[:len(part)-1]; len(r.buf) == 0 {
				return part, nil
			}
			r.buf = append(r.buf, part...)
			return r.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if r.buf = append(r.buf, part...); len(r.buf) > maxLineBytes {
				return nil, &FormatError{r.name, r.line + 1, "the line is longer than any of a recording"}
			}
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the latter from age
			r.torn = r.torn || len(part)+len(r.buf) > 0 || !errors.Is(err, io.EOF)
			return nil, io.EOF
		default:
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
	}
}

// Next returns the next event. The error is io.EOF at the end.
func (r *Reader) Next() (Event, error) {
	for {
		line, err := r.next()
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 || line[0] == '#' {
			r.comment(line)
			continue
		}
		e, ok := readEvent(line)
		if !ok {
			return Event{}, &FormatError{r.name, r.line, "the line is not an event of an asciicast v3"}
		}
		r.time = min(r.time+e.Time, maxTime)
		if e.Time = r.time; e.Code == codeOutput {
			e.View, e.Redraw, r.redraw = r.view, r.redraw, false
		}
		return e, nil
	}
}

// comment follows the changes of the view.
func (r *Reader) comment(line []byte) {
	view, ok := bytes.CutPrefix(line, []byte("# ptyctl view "))
	if !ok {
		return
	}
	r.redraw = true
	if r.view = Terminal; string(view) == Commands.String() {
		r.view = Commands
	}
}

// Torn reports, at the end, whether the file ends in the middle of a line: it is being written, its writer was killed,
// or it was cut.
func (r *Reader) Torn() bool { return r.torn }

// Progress returns how much of the file is read; of is 0 if its size is not known.
func (r *Reader) Progress() (read, of int64) { return r.raw.n, r.size }

// Close closes the file.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// readEvent reads the line of an event. Its time is the interval.
func readEvent(line []byte) (Event, bool) {
	head, rest, ok := bytes.Cut(line, []byte(","))
	if !ok || len(head) < 2 || head[0] != '[' {
		return Event{}, false
	}
	at, ok := readSeconds(bytes.TrimSpace(head[1:]))
	if !ok {
		return Event{}, false
	}
	rest = bytes.TrimSpace(rest)
	if len(rest) > 0 && rest[len(rest)-1] == ']' {
		rest = bytes.TrimSpace(rest[:len(rest)-1])
	} else {
		return Event{}, false
	}
	code, rest, ok := bytes.Cut(rest, []byte(","))
	if code = bytes.TrimSpace(code); !ok || len(code) != 3 || code[0] != '"' || code[2] != '"' {
		return Event{}, false
	}
	text, ok := readString(bytes.TrimSpace(rest))
	return Event{Time: at, Code: code[1], Text: text}, ok
}

// maxTime bounds the times of a recording: a century.
const maxTime = 100 * 366 * 24 * time.Hour

// readSeconds reads a decimal number of seconds, down to the nanosecond.
func readSeconds(p []byte) (time.Duration, bool) {
	whole, frac, _ := bytes.Cut(p, []byte("."))
	s, err := strconv.ParseUint(string(whole), 10, 32)
	if err != nil || len(p) == 0 {
		v, err := strconv.ParseFloat(string(p), 64) // 1e-3
		return time.Duration(v * float64(time.Second)), err == nil && v >= 0 && v < maxTime.Seconds()
	}
	d := time.Duration(s) * time.Second
	unit := time.Second
	for _, c := range frac {
		if c < '0' || c > '9' {
			return 0, false
		}
		unit /= 10
		d += time.Duration(c-'0') * unit
	}
	return d, d < maxTime
}

// readString reads a JSON string.
func readString(p []byte) (string, bool) {
	if len(p) < 2 || p[0] != '"' || p[len(p)-1] != '"' {
		return "", false
	}
	in := p[1 : len(p)-1]
	if bytes.IndexByte(in, '\\') < 0 {
		return string(in), bytes.IndexByte(in, '"') < 0 && utf8.Valid(in)
	}
	out := make([]byte, 0, len(in))
	for len(in) > 0 {
		n := bytes.IndexByte(in, '\\')
		if n < 0 {
			n = len(in)
		}
		if bytes.IndexByte(in[:n], '"') >= 0 {
			return "", false
		}
		if out, in = append(out, in[:n]...), in[n:]; len(in) == 0 {
			break
		}
		if len(in) < 2 {
			return "", false
		}
		var c byte
		switch in[1] {
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case '"', '\\', '/':
			c = in[1]
		default:
			if v, err := strconv.ParseUint(string(in[2:min(6, len(in))]), 16, 16); in[1] == 'u' && len(in) >= 6 && err == nil && v < 0xa0 {
				out, in = utf8.AppendRune(out, rune(v)), in[6:]
				continue
			}
			var s string // a form that ptyctl does not write
			err := json.Unmarshal(p, &s)
			return s, err == nil
		}
		out, in = append(out, c), in[2:]
	}
	return string(out), utf8.Valid(out)
}
