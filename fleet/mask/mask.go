package mask

import "bytes"

// The replacements.
const (
	hostToken    = "<host>"
	addressToken = "<address>"
	timeToken    = "<time>"
	pidToken     = "<pid>"
	uptimeToken  = "<uptime>"
	loadToken    = "<load>"
)

// A Mask is for one output of one host, line by line. It is not safe for concurrent use.
type Mask struct {
	own     own
	columns []column // of the table that is being read; nil outside of one
	spans   []span
	timed   bool // a time was found in the line
	out     []byte
}

// New returns the mask of a host with these names and addresses, by which it is known here. Of a name with dots, its
// first part is one of the host's names, too, if it has a digit or a hyphen: others may be ordinary words.
func New(names []string) *Mask { return &Mask{own: newOwn(names)} }

// A span is a part of a line, and its replacement.
type span struct {
	from, to int
	token    string
}

// Line returns the line, which has no line feed, with its replacements. The result is valid until the next call, and
// may be line itself.
func (m *Mask) Line(line []byte) []byte {
	m.find(line)
	if len(m.spans) == 0 {
		return line
	}
	m.out = m.out[:0]
	from := 0
	for _, s := range m.spans {
		m.out = append(append(m.out, line[from:s.from]...), s.token...)
		from = s.to
	}
	m.out = append(m.out, line[from:]...)
	return m.out
}

// find sets the spans of a line.
func (m *Mask) find(line []byte) {
	m.spans, m.timed = m.spans[:0], false
	if !bytes.ContainsAny(line, "0123456789") && !m.own.anyIn(line) {
		m.table(line) // the header of a table has no digits
		return
	}
	begin := m.table(line)
	if n := loadLine(line); n > 0 {
		m.spans = append(m.spans, span{0, n, loadToken})
		return
	}
	for i := begin; i < len(line); {
		from, to, token := m.at(line, i)
		switch {
		case to <= i:
			i++
			continue
		case token == "":
			i = to
			continue
		}
		m.spans = append(m.spans, span{from, to, token})
		m.timed = m.timed || token == timeToken
		i = to
	}
}

// at returns the replacement that begins at i, or of a number after a word that begins at i. to is 0 if nothing is
// replaced; without a token, the text up to it stays.
func (m *Mask) at(line []byte, i int) (from, to int, token string) {
	c := line[i]
	if c >= 0x80 || c == '|' || c == '`' {
		return treePID(line, i)
	}
	if !isWord(c) && c != ':' && c != '[' || i > 0 && isWord(line[i-1]) && !inCamel(line, i) {
		return 0, 0, ""
	}
	if n, token := m.own.at(line, i); n > 0 {
		return i, i + n, token
	}
	if c == '[' {
		return bootTime(line, i)
	}
	if n := instant(line, i); n > 0 {
		if fixed(line[:i]) {
			return i + n, i + n, "" // not a part of it either
		}
		return i, i + n, timeToken
	}
	if n := ago(line, i); n > 0 {
		return i, i + n, timeToken
	}
	switch c | 0x20 {
	case 'u':
		return m.uptime(line, i)
	case 'l':
		return load(line, i)
	case 'p':
		return pid(line, i)
	}
	if isDigit(c) || !m.timed {
		return 0, 0, ""
	}
	return tagPID(line, i)
}

// inCamel reports whether a word begins within another one: the PID of MainPID.
func inCamel(line []byte, i int) bool {
	return line[i] == 'P' && line[i-1] >= 'a' && line[i-1] <= 'z'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord reports whether a byte is part of a word. Those of other scripts than Latin are.
func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
}

// foldPrefix reports whether the line has the lower-case word at i, in any case.
func foldPrefix(line []byte, i int, word string) bool {
	if len(line)-i < len(word) {
		return false
	}
	for j := range len(word) {
		c := line[i+j]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != word[j] {
			return false
		}
	}
	return true
}

// digits returns the end of the digits at i.
func digits(line []byte, i int) int {
	for i < len(line) && isDigit(line[i]) {
		i++
	}
	return i
}

// spaces returns the end of the spaces at i.
func spaces(line []byte, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	return i
}

// ends reports whether a word ends at i.
func ends(line []byte, i int) bool { return i >= len(line) || !isWord(line[i]) }
