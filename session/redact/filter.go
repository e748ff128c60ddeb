package redact

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"time"
)

const (
	// Mask replaces a secret that was echoed. It has one length, however long the secret is.
	Mask = "********"

	// maxSecretLine bounds the text to search for: a longer line is searched for in parts.
	maxSecretLine = 1 << 10

	// A secret shorter than commonWord may be a word that the far side prints anyway, as a user name in its prompt: it
	// is looked for only until the line in which its echo is due has ended, unless that shows it. A secret shorter than
	// anyChars is likely to be part of one, and is looked for once.
	commonWord = 8
	anyChars   = 4

	// maxGap is how much a terminal puts between two characters of an echo where its line wraps, in bytes, and how much a
	// program does that sets the colours of each character (dialog: 24).
	maxGap = 64
)

// A secret is a line that was written and must not be kept when it is echoed.
type secret struct {
	text []byte
	of   *Expectation
	line int  // how many line ends there may be before its echo has been; commonWord only
	seen bool // an echo of it was
}

// secretLines returns the lines of data, each a secret. Control characters alone are keys, and no secret.
func secretLines(data []byte, of *Expectation) []*secret {
	var found []*secret
	for i, line := range bytes.FieldsFunc(data, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if bytes.IndexFunc(line, func(r rune) bool { return !isControl(r) }) < 0 {
			continue
		}
		parts := (len(line) + maxSecretLine - 1) / maxSecretLine
		for part := range slices.Chunk(line, (len(line)+parts-1)/parts) {
			found = append(found, &secret{text: bytes.Clone(part), of: of, line: i + 1})
		}
	}
	return found
}

// An echoMatch describes the echoes of some secrets that begin like p.
type echoMatch struct {
	p     []byte
	n     int     // length of the longest echo; 0: none is whole
	of    *secret // the secret that n bytes match
	chars int     // if p may be the beginning of a longer one: how many characters of a secret it holds, at most
}

// compare looks for the secrets that p[:at] echoes the first chars characters of. The secrets must be sorted. All that
// have a beginning in common are compared at once: a configuration has thousands of lines that begin alike.
func (m *echoMatch) compare(among []*secret, chars, at int) {
	for gap := 0; ; {
		whole := sort.Search(len(among), func(i int) bool { return len(among[i].text) > chars })
		if whole > 0 && at > m.n {
			m.n, m.of = at, among[0]
		}
		among = among[whole:]
		switch {
		case len(among) == 0:
			return
		case at == len(m.p):
			m.chars = max(m.chars, chars)
			return
		}
		with, without := split(among, chars, m.p[at])
		if len(without) == 0 {
			among, chars, at, gap = with, chars+1, at+1, 0
			continue
		}
		if len(with) > 0 {
			m.compare(with, chars+1, at+1)
		}
		if chars == 0 {
			return
		}
		n, more := wrapping(m.p[at:])
		if n == 0 && !more {
			return
		}
		if among = without; chars < anyChars {
			among = slices.DeleteFunc(slices.Clone(among), func(s *secret) bool { return len(s.text) < anyChars })
		}
		if more {
			if len(among) > 0 {
				m.chars = max(m.chars, chars)
			}
			return
		}
		if at, gap = at+n, gap+n; gap > maxGap {
			return
		}
	}
}

// split returns those of the secrets, which are sorted and longer than at, that have c there, and those that have not.
func split(among []*secret, at int, c byte) (with, without []*secret) {
	if among[0].text[at] == c && among[len(among)-1].text[at] == c {
		return among, nil
	}
	from := sort.Search(len(among), func(i int) bool { return among[i].text[at] >= c })
	to := from + sort.Search(len(among)-from, func(i int) bool { return among[from+i].text[at] > c })
	switch with = among[from:to]; {
	case len(with) == 0:
		return nil, among
	case from == 0:
		return with, among[to:]
	case to == len(among):
		return with, among[:from]
	case !mayWrap(c): // then no caller looks at them
		return with, among[:from]
	}
	return with, slices.Concat(among[:from], among[to:])
}

// mayWrap reports whether a sequence that wrapping recognises can begin with c.
func mayWrap(c byte) bool { return strings.IndexByte("\r\n\b \x00\x0e\x0f\x1b", c) >= 0 }

// wrapping returns the length of the bytes at the start of p that a terminal inserts into a line that wraps, or by
// which a program sets the style of the next character; else 0. more says that the rest of p is a control or escape
// sequence (ECMA-48 section 5.4, ECMA-35 section 13.2) that is not complete.
func wrapping(p []byte) (n int, more bool) {
	switch p[0] {
	case '\r', '\n', '\b', ' ', 0, 0x0e, 0x0f:
		return 1, false
	case '\x1b':
	default:
		return 0, false
	}
	if len(p) == 1 {
		return 0, true
	}
	if p[1] == '(' || p[1] == ')' { // the character set, which curses programs set with the colours
		return 3 * min(len(p)/3, 1), len(p) == 2
	}
	if p[1] != '[' {
		return 0, false
	}
	for i, c := range p[2:min(len(p), maxGap)] {
		switch {
		case c >= 0x40 && c <= 0x7e:
			return i + 3, false
		case c < 0x20 || c > 0x7e:
			return 0, false
		}
	}
	return 0, len(p) < maxGap
}

// found notes an echo of the secret. The first one shows that the echo of the write is on its way, however slow.
func (s *secret) found() {
	if !s.seen && !s.of.until.IsZero() {
		s.of.until = time.Now().Add(Window)
	}
	s.seen = true
}

// A filter takes the echoes of secrets out of a stream that is cut anywhere.
type filter struct {
	secrets []*secret       // sorted by their text
	begin   *[256][]*secret // the secrets by their first byte; nil: no secrets
	words   []*secret       // those shorter than commonWord
	size    int             // of all secrets

	// The end of the stream, if an echo may have begun there. The first released bytes of it were passed on already,
	// as Mask if masked is set.
	held     []byte
	released int
	masked   bool

	echoes []Echo // found by the present call of feed, settle or release
}

// show notes that held[from:to] is left out of the output, for which out ends with a Mask if masked is set.
func (f *filter) show(out []byte, from, to int, masked bool) {
	e := Echo{From: len(out), To: len(out), Text: bytes.Clone(f.held[from:to])}
	e.escape = slices.ContainsFunc(f.secrets, func(s *secret) bool { return bytes.IndexByte(s.text, '\x1b') >= 0 })
	if masked {
		e.From -= len(Mask)
	}
	f.echoes = append(f.echoes, e)
}

func (f *filter) add(secrets []*secret) {
	f.secrets = append(f.secrets, secrets...)
	slices.SortStableFunc(f.secrets, func(a, b *secret) int { return bytes.Compare(a.text, b.text) })
	f.index()
}

// drop forgets the secrets for which gone is true, and wipes them.
func (f *filter) drop(gone func(*secret) bool) {
	f.secrets = slices.DeleteFunc(f.secrets, func(s *secret) bool {
		if gone(s) {
			clear(s.text)
			return true
		}
		return false
	})
	f.index()
}

func (f *filter) index() {
	f.begin, f.words, f.size = nil, f.words[:0], 0
	if len(f.secrets) == 0 {
		return
	}
	f.begin = new([256][]*secret)
	from := 0
	for i, s := range f.secrets {
		if s.text[0] != f.secrets[from].text[0] {
			from = i
		}
		f.begin[s.text[0]] = f.secrets[from : i+1]
		if f.size += len(s.text); len(s.text) < commonWord {
			f.words = append(f.words, s)
		}
	}
}

// feed appends to out the part of the stream that is certain to be shown, now that p has come.
func (f *filter) feed(out, p []byte) []byte {
	f.held = append(f.held, p...)
	return f.settle(out)
}

// settle appends to out the held bytes that can no longer be part of an echo, and Mask for each echo.
func (f *filter) settle(out []byte) []byte {
	at := 0
	for at < len(f.held) {
		c := f.held[at]
		n, chars := f.find(f.held[at:])
		if chars > 0 {
			break
		}
		if n > 0 {
			begins := at >= f.released || !f.masked
			if begins {
				out = append(out, Mask...)
			}
			if from := max(at, f.released); from < at+n {
				f.show(out, from, at+n, begins)
			} else if begins { // all of it was shown before it was known
				f.show(out, at, at, true)
			}
			at += n
			continue
		}
		if at >= f.released {
			out = append(out, c)
		}
		if at++; c == '\n' {
			f.lineEnd()
		}
	}
	f.cut(at)
	return out
}

// find returns the length of the longest echo with which p begins, or, if p may yet become a longer one, how many
// characters of that it holds.
func (f *filter) find(p []byte) (n, chars int) {
	if f.begin == nil || len(f.begin[p[0]]) == 0 { // most bytes
		return 0, 0
	}
	m := f.match(p)
	if m.n > 0 && m.chars == 0 {
		m.of.found()
		if len(m.of.text) < anyChars {
			f.drop(func(s *secret) bool { return s == m.of })
		}
	}
	return m.n, m.chars
}

// match compares p with the echoes of all secrets.
func (f *filter) match(p []byte) echoMatch {
	m := echoMatch{p: p}
	if among := f.begin[p[0]]; len(among) > 0 {
		m.compare(among, 0, 0)
	}
	return m
}

// lineEnd counts the end of a line for the secrets that are looked for in one only.
func (f *filter) lineEnd() {
	over := false
	for _, s := range f.words {
		if !s.seen && s.of.going {
			s.line--
			over = over || s.line == 0
		}
	}
	if over {
		f.drop(func(s *secret) bool { return s.line <= 0 && !s.seen && len(s.text) < commonWord })
	}
}

// cut removes the first n bytes held, and wipes the memory behind the rest.
func (f *filter) cut(n int) {
	rest := copy(f.held, f.held[n:])
	clear(f.held[rest:])
	f.held = f.held[:rest]
	if f.released = max(f.released-n, 0); f.released == 0 {
		f.masked = false
	}
}

// release passes on the bytes held back, although more of the echo may come: a few characters as they are, more of
// them as Mask. It goes on searching for the rest of the echo.
func (f *filter) release(out []byte) []byte {
	if f.waiting() == 0 {
		return out
	}
	switch {
	case f.masked:
		f.show(out, f.released, len(f.held), false)
	case f.reveals():
		out = append(out, Mask...)
		f.show(out, f.released, len(f.held), true)
		f.masked = true
	default:
		out = append(out, f.held[f.released:]...)
	}
	f.released = len(f.held)
	return out
}

// reveals reports whether the bytes held show more of a secret than may be shown.
func (f *filter) reveals() bool {
	if f.begin == nil {
		return false
	}
	for i := range f.held {
		if m := f.match(f.held[i:]); m.n > 0 || m.chars >= anyChars {
			return true
		}
	}
	return false
}

// waiting returns how many bytes are held back.
func (f *filter) waiting() int { return len(f.held) - f.released }

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
