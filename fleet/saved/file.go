package saved

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
	"unicode/utf8"
)

// The bounds of a file.
const (
	MaxFile    = 256 << 20 // bytes
	maxOutputs = 100 << 20 // bytes of outputs, as they are in it
	maxHosts   = 100_000
	maxCommand = 1 << 20 // bytes
)

// version is the form of the file.
const version = 1

// A file is the form of Answers in a file.
type file struct {
	Version int                 `json:"ptyctl_fleet"`
	Command string              `json:"command"`
	Began   time.Time           `json:"began"`
	Hosts   []fileHost          `json:"hosts"`
	Outputs map[string]fileText `json:"outputs"` // by SHA-256
}

type fileHost struct {
	Host   string   `json:"host"`
	Names  []string `json:"names,omitempty"`
	Exit   *int     `json:"exit_code,omitempty"`
	Code   string   `json:"error_code,omitempty"`
	Stdout string   `json:"stdout,omitempty"` // a SHA-256; absent: empty
	Stderr string   `json:"stderr,omitempty"`
}

type fileText struct {
	Bytes  int64  `json:"bytes"` // of all; more than those of head and tail: the others are not kept
	Head   string `json:"head,omitempty"`
	Tail   string `json:"tail,omitempty"`
	Base64 bool   `json:"base64,omitempty"` // of head and tail
}

// Write writes the answers.
func Write(w io.Writer, a *Answers) error { return write(w, a, maxOutputs) }

// write is Write with room for so many bytes of outputs.
func write(w io.Writer, a *Answers, room int) error {
	f := file{Version: version, Command: a.Command, Began: a.Began, Outputs: make(map[string]fileText)}
	add := func(o Output) string {
		if o.Total == 0 {
			return ""
		}
		sum := hex.EncodeToString(o.Sum[:])
		if _, ok := f.Outputs[sum]; ok {
			return sum
		}
		text := newText(o)
		if room -= len(text.Head) + len(text.Tail); room < 0 {
			room += len(text.Head) + len(text.Tail)
			text = fileText{Bytes: o.Total}
		}
		f.Outputs[sum] = text
		return sum
	}
	for _, h := range a.Hosts {
		one := fileHost{Host: h.Label, Names: h.Names, Exit: h.Exit, Code: h.Code}
		if h.Exit != nil {
			one.Stdout, one.Stderr = add(h.Stdout), add(h.Stderr)
		}
		f.Hosts = append(f.Hosts, one)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(f)
}

// newText returns the form of an output in the file. Outputs that are not text are in base64, and so are outputs with
// bytes that JSON would write as six.
func newText(o Output) fileText {
	plain := utf8.Valid(o.Head) && utf8.Valid(o.Tail)
	for _, part := range [][]byte{o.Head, o.Tail} {
		plain = plain && bytes.IndexFunc(part, func(r rune) bool {
			return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\u2028' || r == '\u2029'
		}) < 0
	}
	if plain {
		return fileText{Bytes: o.Total, Head: string(o.Head), Tail: string(o.Tail)}
	}
	encode := base64.StdEncoding.EncodeToString
	return fileText{Bytes: o.Total, Head: encode(o.Head), Tail: encode(o.Tail), Base64: true}
}

// Read reads a file that Write has written.
func Read(path string) (*Answers, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file; give a file that ptyctl has written", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := read(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s has no saved answers of hosts: %w; give a file that ptyctl has written, as it was", path, err)
	}
	return a, nil
}

// read reads answers that may have been written by anyone.
func read(r io.Reader) (*Answers, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxFile {
		return nil, fmt.Errorf("it has more than %d MiB", MaxFile>>20)
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	switch {
	case f.Version == 0:
		return nil, errors.New("its form is not known")
	case f.Version != version:
		return nil, fmt.Errorf("its form is %d, and this ptyctl reads %d", f.Version, version)
	case len(f.Hosts) > maxHosts || len(f.Command) > maxCommand:
		return nil, errors.New("it has too many hosts, or too long a command")
	}
	outputs := make(map[string]Output, len(f.Outputs))
	for sum, text := range f.Outputs {
		if outputs[sum], err = text.output(sum); err != nil {
			return nil, err
		}
	}
	a := &Answers{Command: f.Command, Began: f.Began}
	seen := make(map[string]bool, len(f.Hosts))
	for _, h := range f.Hosts {
		one := Answer{Label: h.Host, Names: h.Names, Exit: h.Exit, Code: h.Code}
		if h.Host == "" || seen[h.Host] || h.Exit == nil && h.Code == "" {
			return nil, fmt.Errorf("the host %.80q has no name of its own, or no answer", h.Host)
		}
		seen[h.Host] = true
		for _, s := range []struct {
			sum string
			to  *Output
		}{{h.Stdout, &one.Stdout}, {h.Stderr, &one.Stderr}} {
			o, ok := outputs[s.sum]
			if !ok && s.sum != "" {
				return nil, fmt.Errorf("an output of the host %.80q is missing", h.Host)
			}
			if !ok {
				o = Output{Sum: sha256.Sum256(nil)}
			}
			*s.to = o
		}
		a.Hosts = append(a.Hosts, one)
	}
	if len(a.Hosts) == 0 {
		return nil, errors.New("it has no host")
	}
	return a, nil
}

// errChanged is the error of a file that is not as it was written.
var errChanged = errors.New("an output in it was changed")

// output returns the output with this hash.
func (t fileText) output(sum string) (o Output, err error) {
	o = Output{Head: []byte(t.Head), Tail: []byte(t.Tail), Total: t.Bytes}
	if t.Base64 {
		var bad error
		o.Head, err = base64.StdEncoding.DecodeString(t.Head)
		o.Tail, bad = base64.StdEncoding.DecodeString(t.Tail)
		if err = errors.Join(err, bad); err != nil {
			return o, err
		}
	}
	raw, err := hex.DecodeString(sum)
	if err != nil || len(raw) != sha256.Size || o.dropped() < 0 {
		return o, errChanged
	}
	copy(o.Sum[:], raw)
	if o.dropped() == 0 && sha256.Sum256(append(slices.Clip(o.Head), o.Tail...)) != o.Sum {
		return o, errChanged
	}
	return o, nil
}
