package forms

// maxGap is how much a terminal or a program puts between two characters of a form where a line wraps, in bytes.
const maxGap = 64

// A text is output; some parts of it, the gaps, wrap lines and set how characters are drawn: a form may have them
// between its characters. It copies nothing of the output. The zero value is empty.
type text struct {
	p    []byte // the output
	runs []run  // in order, none of them empty
}

// A run is a part of the output without gaps.
type run struct{ at, end int } // in the output

// barred reports whether the gap before the run k is too long for a form to have it.
func (t *text) barred(k int) bool { return t.runs[k].at-t.runs[k-1].end > maxGap }

// back returns the place n characters before the place at in the run k, and the run it is in. With fewer characters, the
// run is -1.
func (t *text) back(k, at, n int) (int, int) {
	for n > at-t.runs[k].at {
		n -= at - t.runs[k].at
		if k == 0 {
			return -1, 0
		}
		k--
		at = t.runs[k].end
	}
	return k, at - n
}

// has returns where the form ends if it begins at the place at, in the run k, otherwise 0. A blank at its end is also the
// one that a line editor seems to have written, which is in no run.
func (t *text) has(k, at int, form []byte) int {
	end := 0 // with that blank
	for {
		n := min(len(form), t.runs[k].end-at)
		if string(t.p[at:at+n]) != string(form[:n]) {
			return end
		}
		at += n
		if form = form[n:]; len(form) == 0 {
			return at
		}
		if len(form) == 1 && form[0] == ' ' && at < len(t.p) && t.p[at] == ' ' {
			end = at + 1
		}
		if k++; k == len(t.runs) || t.barred(k) {
			return end
		}
		at = t.runs[k].at
	}
}

// last returns the run and the place of the character n from the end, or of the first behind a gap that no form has.
// There must be a run.
func (t *text) last(n int) (k, at int) {
	for k = len(t.runs) - 1; ; k-- {
		r := t.runs[k]
		if n <= r.end-r.at || k == 0 || t.barred(k) {
			return k, max(r.at, r.end-n)
		}
		n -= r.end - r.at
	}
}

// appendFrom appends to b the characters from the place at on, in the run k.
func (t *text) appendFrom(b []byte, k, at int) []byte {
	for _, r := range t.runs[k:] {
		b = append(b, t.p[max(at, r.at):r.end]...)
	}
	return b
}

// end returns where the last character ends.
func (t *text) end() int {
	if len(t.runs) == 0 {
		return 0
	}
	return t.runs[len(t.runs)-1].end
}

// before returns the character right before the place at, or 0.
func (t *text) before(at int) byte {
	k := len(t.runs) - 1
	for k >= 0 && t.runs[k].at >= at {
		k--
	}
	if k < 0 || t.runs[k].end < at {
		return 0
	}
	return t.p[at-1]
}
