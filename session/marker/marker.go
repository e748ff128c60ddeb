package marker

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The control-character marker of an exit status: RS, "RC=", the status, US.
const (
	defaultPrefix = "\x1eRC="
	defaultSuffix = "\x1f"
)

// maxStatus is the longest status in a marker: ten digits of 2^32-1, or a sign and the digits of -2^31, as Windows
// reports a program that crashed.
const maxStatus = 11

// A Marker is how one exec recognises its own output and exit status in the terminal's stream.
//
// The start is "S=" and the nonce. The end is the status between prefix and suffix, followed, unless the caller chose
// prefix and suffix, by "PTYCTL_RC_nonce=status:END_nonce" for terminals that strip control characters. There only the
// nonce counts, so text that the command prints itself, the echo, and the markers of earlier calls are never mistaken
// for it.
type Marker struct {
	nonce          string
	prefix, suffix string
	ascii          bool
	anchor         string // the text to search for: the part of an end before the status
	closing        string // and the part behind it
	lead           int    // how far before the anchor an end may begin
}

// New makes the marker of one call. Empty prefix and suffix mean the default.
func New(prefix, suffix string) Marker {
	m := Marker{
		nonce:   strings.ToLower(rand.Text()[:12]),
		prefix:  prefix,
		suffix:  suffix,
		anchor:  prefix,
		closing: suffix,
	}
	if m.prefix == "" && m.suffix == "" {
		m.prefix, m.suffix, m.ascii = defaultPrefix, defaultSuffix, true
		m.anchor, m.closing = "PTYCTL_RC_"+m.nonce+"=", ":END_"+m.nonce
		m.lead = len(m.prefix) + maxStatus + len(m.suffix) + len("\r\r\n")
	}
	return m
}

// Check returns the reason why a custom marker cannot be used; empty: it can.
func Check(prefix, suffix string) string {
	switch {
	case prefix == "" && suffix == "":
		return ""
	case prefix == "" || suffix == "":
		return "a custom marker needs both a prefix and a suffix; pass both or none"
	case strings.ContainsAny(prefix+suffix, "\x00\r\n"):
		return "a custom marker cannot hold NUL, CR or LF, which terminals change; choose other characters"
	case suffix[0] >= '0' && suffix[0] <= '9':
		return "the suffix of a custom marker cannot begin with a digit, which would be taken for one of the " +
			"exit code; " +
			"choose another"
	}
	return ""
}

// printfArgument is the format that prints the end.
func (m Marker) printfArgument() string {
	f := octal(m.prefix) + "%s" + octal(m.suffix) + `\n`
	if m.ascii {
		f += `PTYCTL_RC_%s=%s:END_%s\n`
	}
	return f
}

// statusArguments are the arguments for printfArgument's format; status is the shell's word for it.
func (m Marker) statusArguments(status string) string {
	if !m.ascii {
		return status
	}
	return fmt.Sprintf("%s %s %s %s", status, m.nonce, status, m.nonce)
}

// octal writes every byte as an escape of printf(1): \x is not known to all, and "%" must not be a format.
func octal(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\%03o`, s[i])
	}
	return b.String()
}

// A Scanner takes a terminal's stream, cut anywhere, and returns the output between the markers.
// It is fed until it is done, or flushed if the end never comes.
type Scanner struct {
	m       Marker
	begun   bool // the start marker was seen; the rest of its line is still to come
	started bool
	done    bool
	status  int
	rest    []byte   // received and not yet decided upon; never more than a marker is long, between calls
	early   int      // bytes of rest that Peek has passed on
	outer   []Marker // of the commands that wait for a shell within which this one runs
	left    int      // 1 + the index in outer of the one that came; 0: none
	ends    LineEnds
	trace   trace
}

// NewScanner makes the scanner for one exec's marker.
func NewScanner(m Marker) *Scanner { return &Scanner{m: m} }

// maxBefore bounds the kept output before the start marker: a trace of it, and a part of the marker.
const maxBefore = 512

// Started reports whether the start marker has come: the shell runs the line.
func (sc *Scanner) Started() bool { return sc.started }

// Assume says that the start marker has come, for output that was dropped with it.
func (sc *Scanner) Assume() { sc.started = true }

// Status returns the exit status, once the end marker has come.
func (sc *Scanner) Status() (status int, ok bool) { return sc.status, sc.done }

// Marker returns the marker that ends the exec.
func (sc *Scanner) Marker() Marker { return sc.m }

// Within adds the markers of commands that have started a shell and wait for its end. If one of them comes once the
// command has started, the shell that ran it is gone, and no further output is its own.
func (sc *Scanner) Within(outer []Marker) { sc.outer = outer }

// Left returns the index of the outer marker that came, and its exit status.
func (sc *Scanner) Left() (i, status int, ok bool) { return sc.left - 1, sc.status, sc.left > 0 }

// Feed takes the next bytes, and appends to out the part that is certain to be output. Line ends are LF.
func (sc *Scanner) Feed(out, p []byte) []byte {
	if sc.done || sc.left > 0 {
		return out
	}
	p = append(sc.rest, p...)
	if !sc.started {
		p = sc.findStart(p)
	}
	if !sc.started {
		sc.rest = p
		return out
	}
	if len(sc.trace.head) > 0 && sc.early == 0 {
		var more bool
		if p, more = sc.trace.dropHead(p); more {
			sc.rest = p
			return out
		}
	}
	from, status, v, left := sc.findFirst(p)
	passed := min(sc.early, from)
	sc.early -= passed
	body, held := sc.m.dropTitles(p[passed:from])
	open := p[from-held : from]
	body, traced := sc.trace.drop(body, append(slices.Clone(sc.outer), sc.m)...)
	if v == endFound {
		out = sc.ends.Convert(out, body)
		if !sc.m.shown(open) {
			out = sc.ends.Convert(out, open)
		}
		sc.done, sc.left, sc.status, sc.rest = left == 0, left, status, nil
		return sc.ends.Flush(out)
	}
	out = sc.ends.Convert(out, body[:len(body)-traced])
	if traced == 0 {
		sc.rest = append(sc.rest[:0], p[from-held:]...)
	} else {
		sc.rest = slices.Concat(body[len(body)-traced:], p[from-held:])
	}
	return out
}

// Peek appends the bytes held back, as far as they are text: where a command waits, they are the end of its line, as
// the R of ENTER is. They may still turn out to begin an end.
func (sc *Scanner) Peek(out []byte) []byte {
	if !sc.started || bytes.ContainsAny(sc.rest, "\x1b\x1e\r\n") {
		return out
	}
	out = sc.ends.Convert(out, sc.rest[sc.early:])
	sc.early = len(sc.rest)
	return out
}

// Flush appends the bytes held back for an end that does not come any more.
func (sc *Scanner) Flush(out []byte) []byte {
	if sc.started {
		out = sc.ends.Convert(out, sc.rest[sc.early:])
	}
	sc.rest, sc.early = nil, 0
	return sc.ends.Flush(out)
}

// findStart drops everything up to the start marker's line end, and returns the bytes after it.
func (sc *Scanner) findStart(p []byte) []byte {
	if !sc.begun {
		start := "S=" + sc.m.nonce
		i := bytes.Index(p, []byte(start))
		if i < 0 {
			return bytes.Clone(p[max(0, len(p)-maxBefore):])
		}
		sc.trace.learn(p[max(0, i-maxBefore):i], sc.m)
		sc.begun, p = true, p[i+len(start):]
	}
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		return nil
	}
	sc.started, sc.rest = true, nil
	return p[i+1:]
}

// The verdicts of parseEnd.
type endVerdict int

const (
	endNone    endVerdict = iota // no end begins here
	endPartial                   // one may: more bytes are needed
	endFound
)

// findFirst is findEnd for the own marker and the outer ones; left is as in Scanner.
func (sc *Scanner) findFirst(p []byte) (from, status int, v endVerdict, left int) {
	from, status, v = sc.m.findEnd(p)
	for i, m := range sc.outer {
		f, s, found := m.findEnd(p)
		if found > v || found == v && f < from {
			from, status, v, left = f, s, found, i+1
		}
	}
	return from, status, v, left
}

// findEnd returns where the first end begins, or may begin if more comes; len(p) if nowhere. Only the anchor is
// searched for in all of p.
func (m Marker) findEnd(p []byte) (from, status int, v endVerdict) {
	for at := 0; ; at++ {
		i := bytes.Index(p[at:], []byte(m.anchor))
		if i < 0 {
			break
		}
		at += i
		for from = max(0, at-m.lead); from <= at; from++ {
			if status, v = m.parseEnd(p[from:]); v != endNone {
				return from, status, v
			}
		}
	}
	for from = max(0, len(p)-m.lead-len(m.anchor)-maxStatus-len(m.closing)); from < len(p); from++ {
		if _, v = m.parseEnd(p[from:]); v == endPartial {
			return from, 0, v
		}
	}
	return len(p), 0, endNone
}

// parseEnd reads an end marker at the start of p, and returns the status.
//
// The default has three forms: whole; without its control characters, where the terminal strips them; and the
// ASCII line alone.
func (m Marker) parseEnd(p []byte) (status int, v endVerdict) {
	if !m.ascii {
		s := endParser{p: p}
		return m.closeEnd(&s)
	}
	for _, form := range [...][2]string{{m.prefix, m.suffix}, {m.prefix[1:], ""}, {"", ""}} {
		s := endParser{p: p}
		if form[0] != "" {
			s.literal(form[0])
			s.number()
			s.literal(form[1])
			s.lineEnd()
		}
		status, found := m.closeEnd(&s)
		if found == endFound {
			return status, found
		}
		v = max(v, found)
	}
	return 0, v
}

// closeEnd reads the part of an end that counts.
func (m Marker) closeEnd(s *endParser) (status int, v endVerdict) {
	s.literal(m.anchor)
	status = s.number()
	s.literal(m.closing)
	return status, s.verdict()
}

// An endParser matches one form step by step.
type endParser struct {
	p    []byte
	n    int // matched so far
	fail bool
	more bool // p ended before the form did
}

func (s *endParser) stopped() bool { return s.fail || s.more }

func (s *endParser) literal(text string) {
	for i := 0; i < len(text) && !s.stopped(); i++ {
		switch {
		case s.n == len(s.p):
			s.more = true
		case s.p[s.n] != text[i]:
			s.fail = true
		default:
			s.n++
		}
	}
}

// number matches one to ten digits, with or without a minus sign.
func (s *endParser) number() int {
	start := s.n
	if !s.stopped() && s.n < len(s.p) && s.p[s.n] == '-' {
		s.n++
	}
	first := s.n
	for !s.stopped() {
		switch {
		case s.n == len(s.p):
			s.more = true
		case s.p[s.n] >= '0' && s.p[s.n] <= '9' && s.n-first < maxStatus-1:
			s.n++
		case s.n == first:
			s.fail = true
		default:
			v, _ := strconv.Atoi(string(s.p[start:s.n])) // digits alone; out of range on 32 bits is the greatest
			return v
		}
	}
	return 0
}

// lineEnd matches CR LF, or LF, or CR CR LF as some terminals double it.
func (s *endParser) lineEnd() {
	for range 2 {
		if !s.stopped() && s.n < len(s.p) && s.p[s.n] == '\r' {
			s.n++
		}
	}
	s.literal("\n")
}

func (s *endParser) verdict() endVerdict {
	switch {
	case s.fail:
		return endNone
	case s.more:
		return endPartial
	}
	return endFound
}
