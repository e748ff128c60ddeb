package marker

import "bytes"

// A shell may be made to show each command that it runs in the terminal's title (a DEBUG trap of bash does it). Then
// the parts of the typed line come back in control strings, between the output and the end.

// maxTitle is how much of an unfinished control string is held back. A longer one is no title.
const maxTitle = 8 << 10

// dropTitles returns p without the control strings that hold a part of the typed line, and how many bytes at the end
// of p belong to a control string that is not finished. It may change p.
func (m Marker) dropTitles(p []byte) (kept []byte, held int) {
	at := bytes.IndexByte(p, '\x1b')
	if at < 0 {
		return p, 0
	}
	kept = p[:at]
	for p = p[at:]; len(p) > 0; {
		n := stringLength(p)
		switch {
		case n < 0 && len(p) <= maxTitle:
			return kept, len(p)
		case n > 0 && m.shown(p[:n]):
			p = p[n:]
		default:
			n = 1 + bytes.IndexByte(p[1:], '\x1b')
			if n == 0 {
				n = len(p)
			}
			kept, p = append(kept, p[:n]...), p[n:]
		}
	}
	return kept, 0
}

// stringLength returns the length of the control string that p begins with, which begins with ESC (ECMA-48, 5.6; ESC k
// is screen's): 0 if p begins with no such string, and -1 if it is not finished.
func stringLength(p []byte) int {
	if len(p) == 1 {
		return -1
	}
	if bytes.IndexByte([]byte("]P_^k"), p[1]) < 0 {
		return 0
	}
	for i := 2; i < len(p); i++ {
		switch {
		case p[i] == '\a':
			return i + 1
		case p[i] == '\x1b' && i+1 < len(p) && p[i+1] == '\\':
			return i + 2
		case p[i] == '\x1b' && i+1 < len(p), p[i] == '\n':
			return 0
		}
	}
	return -1
}

// shown reports whether a control string holds a part of the typed line.
func (m Marker) shown(text []byte) bool {
	for _, part := range []string{
		m.nonce, octal(m.prefix), "PTYCTL_RC_%s", `\036S=%s`, `eval "$(printf '`,
		"eval \"`printf '",
	} {
		if bytes.Contains(text, []byte(part)) {
			return true
		}
	}
	return false
}
