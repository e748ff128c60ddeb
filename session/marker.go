package session

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
)

// The control-character marker of an exit status: RS, "RC=", the status, US.
const (
	defaultPrefix = "\x1eRC="
	defaultSuffix = "\x1f"
)

// A marker is how one exec recognises its own output and exit status in the terminal's stream.
//
// The start is "S=" and the nonce. The end is the status between prefix and suffix, followed, unless the caller
// chose prefix and suffix, by "PTYCTL_RC_nonce=status:END_nonce": terminals that strip control characters leave
// that. With it, only the nonce counts, so what the command prints itself, the echo, and the markers of earlier
// calls are never mistaken.
type marker struct {
	nonce          string
	prefix, suffix string
	ascii          bool
}

// newMarker makes the marker of one call. Empty prefix and suffix mean the default.
func newMarker(prefix, suffix string) marker {
	m := marker{nonce: strings.ToLower(rand.Text()[:12]), prefix: prefix, suffix: suffix}
	if m.prefix == "" && m.suffix == "" {
		m.prefix, m.suffix, m.ascii = defaultPrefix, defaultSuffix, true
	}
	return m
}

// printfArgument is the format that prints the end.
func (m marker) printfArgument() string {
	f := octal(m.prefix) + "%s" + octal(m.suffix) + `\n`
	if m.ascii {
		f += `PTYCTL_RC_%s=%s:END_%s\n`
	}
	return f
}

// statusArguments are the arguments for printfArgument's format; status is the shell's word for it.
func (m marker) statusArguments(status string) string {
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

// A markerScanner takes a terminal's stream, cut anywhere, and returns the output between the markers.
// It is fed until it is done.
type markerScanner struct {
	m       marker
	started bool
	done    bool
	status  int
	rest    []byte // received and not yet decided upon
	cr      bool   // a CR is held back: with the LF that may follow it is a line end
}

// feed takes the next bytes, and appends to out what is certainly output. Line ends are LF.
func (sc *markerScanner) feed(out, p []byte) []byte {
	if sc.done {
		return out
	}
	sc.rest = append(sc.rest, p...)
	if !sc.started && !sc.findStart() {
		return out
	}
	for len(sc.rest) > 0 && !sc.done {
		i := sc.candidate()
		out = sc.emit(out, sc.rest[:i])
		sc.rest = sc.rest[i:]
		if len(sc.rest) == 0 {
			break
		}
		n, status, verdict := sc.m.parseEnd(sc.rest)
		switch verdict {
		case endFound:
			out = sc.flushCR(out)
			sc.done, sc.status, sc.rest = true, status, sc.rest[n:]
		case endPartial:
			return out
		default:
			out = sc.emit(out, sc.rest[:1])
			sc.rest = sc.rest[1:]
		}
	}
	return out
}

// findStart drops everything up to the start marker's line end, and reports whether it was there.
func (sc *markerScanner) findStart() bool {
	start := []byte("S=" + sc.m.nonce)
	i := bytes.Index(sc.rest, start)
	if i < 0 {
		if keep := len(start) - 1; len(sc.rest) > keep {
			sc.rest = append(sc.rest[:0], sc.rest[len(sc.rest)-keep:]...)
		}
		return false
	}
	nl := bytes.IndexByte(sc.rest[i:], '\n')
	if nl < 0 {
		return false
	}
	sc.rest = sc.rest[i+nl+1:]
	sc.started = true
	return true
}

// candidate returns the offset of the first byte with which an end may begin.
func (sc *markerScanner) candidate() int {
	first := sc.m.firstBytes()
	if i := bytes.IndexAny(sc.rest, first); i >= 0 {
		return i
	}
	return len(sc.rest)
}

// firstBytes are the bytes with which an end may begin.
func (m marker) firstBytes() string {
	if m.ascii {
		return "\x1eRP"
	}
	return m.prefix[:1]
}

// emit appends output with its CR LF made LF.
func (sc *markerScanner) emit(out, p []byte) []byte {
	for _, c := range p {
		if sc.cr && c != '\n' {
			out = append(out, '\r')
		}
		if sc.cr = c == '\r'; !sc.cr {
			out = append(out, c)
		}
	}
	return out
}

func (sc *markerScanner) flushCR(out []byte) []byte {
	if sc.cr {
		sc.cr = false
		out = append(out, '\r')
	}
	return out
}

// The verdicts of parseEnd.
type endVerdict int

const (
	endNone    endVerdict = iota // no end begins here
	endPartial                   // one may: more bytes are needed
	endFound
)

// parseEnd reads an end marker at the start of p, and returns its length and the status.
//
// The default has three forms: whole; without its control characters, where the terminal strips them; and the
// ASCII line alone.
func (m marker) parseEnd(p []byte) (n, status int, v endVerdict) {
	if !m.ascii {
		s := &endParser{p: p}
		s.literal(m.prefix)
		status = s.number()
		s.literal(m.suffix)
		return s.n, status, s.verdict()
	}
	best := endNone
	for _, form := range [][2]string{{m.prefix, m.suffix}, {m.prefix[1:], ""}, {"", ""}} {
		s := &endParser{p: p}
		if form[0] != "" {
			s.literal(form[0])
			s.number()
			s.literal(form[1])
			s.lineEnd()
		}
		s.literal("PTYCTL_RC_" + m.nonce + "=")
		status = s.number()
		s.literal(":END_" + m.nonce)
		if v := s.verdict(); v == endFound {
			return s.n, status, v
		} else if v > best {
			best = v
		}
	}
	return 0, 0, best
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

// number matches one to ten digits: a status is at most 2^32-1.
func (s *endParser) number() int {
	start := s.n
	for !s.stopped() {
		switch {
		case s.n == len(s.p):
			s.more = true
		case s.p[s.n] >= '0' && s.p[s.n] <= '9' && s.n-start < 10:
			s.n++
		case s.n == start:
			s.fail = true
		default:
			v, _ := strconv.Atoi(string(s.p[start:s.n]))
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
