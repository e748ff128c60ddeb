package transcript

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// A Transcript is a recording.
type Transcript struct {
	Comments []string
	Settings [][]string // words; the first names the setting
	Events   []Event
}

// An Event is one line of a recording other than comments and settings.
type Event struct {
	Dir  byte     // '<', '>', '!' or '='
	Data []byte   // of '<', '>' and '='
	Did  []string // '!': words; the first names the action
}

// Parse parses a recording. The error names the line.
func Parse(text []byte) (*Transcript, error) {
	t := new(Transcript)
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if err := t.line(lines.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return t, lines.Err()
}

// line parses one line.
func (t *Transcript) line(line string) error {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil
	}
	rest := strings.TrimSpace(line[1:])
	e := Event{Dir: line[0]}
	var err error
	switch e.Dir {
	case '#':
		t.Comments = append(t.Comments, rest)
		return nil
	case ':':
		var words []string
		if words, err = split(rest); err == nil {
			t.Settings = append(t.Settings, words)
		}
		return err
	case '<', '>':
		e.Data, err = hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
	case '!':
		e.Did, err = split(rest)
	case '=':
		var data string
		data, err = strconv.Unquote(rest)
		e.Data = []byte(data)
	default:
		err = fmt.Errorf("%q is not an event", line)
	}
	t.Events = append(t.Events, e)
	return err
}

// split splits a line into words; a quoted word is a Go string.
func split(s string) ([]string, error) {
	var words []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if s[0] != '"' {
			word, rest, _ := strings.Cut(s, " ")
			words, s = append(words, word), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		words, s = append(words, word), s[len(quoted):]
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("a word is missing")
	}
	return words, nil
}

// Bytes returns the recording in the form for Parse.
func (t *Transcript) Bytes() []byte {
	var b bytes.Buffer
	for _, c := range t.Comments {
		fmt.Fprintln(&b, "#", c)
	}
	for _, s := range t.Settings {
		fmt.Fprintln(&b, ":", join(s))
	}
	for _, e := range t.Events {
		switch e.Dir {
		case '!':
			fmt.Fprintln(&b, "!", join(e.Did))
		case '=':
			fmt.Fprintln(&b, "=", strconv.QuoteToASCII(string(e.Data)))
		default:
			fmt.Fprintf(&b, "%c %x\n", e.Dir, e.Data)
		}
	}
	return b.Bytes()
}

// join is the reverse of split.
func join(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if i > 0 && (w == "" || strings.ContainsFunc(w, func(r rune) bool { return r <= ' ' || r == '"' || r > '~' })) {
			quoted[i] = strconv.QuoteToASCII(w)
		}
	}
	return strings.Join(quoted, " ")
}
