package forms

import (
	"bytes"
	"slices"
	"time"
)

const (
	// Brief is how long the end of the output waits, as many characters as a form has, whatever they are: otherwise the
	// time would tell whether they are the beginning of one. Four and more that may be one wait longer.
	Brief    = 20 * time.Millisecond
	holdSome = 200 * time.Millisecond
	holdMost = time.Second

	some = 4
	most = 8
)

// A Filter replaces the forms of secrets in a stream that is cut anywhere. The end of the output so far, if a form may
// have begun there, is held back. The zero value is ready. Only one goroutine may use it at a time.
type Filter struct {
	held     []byte // the end of the stream that may be the beginning of a form
	released int    // how many bytes of it were already passed on
	masked   bool   // the output ends with a Mask
	looked   bool   // chars and begun are of held
	chars    int    // how many characters at the end may be the beginning of a form
	begun    int    // where these characters begin in held, if they are 4 or more; negative: they are not
	came     bool   // the last Feed has found a form that begins where those did
	before   byte   // the character before held; 0: none, or a gap

	t     text
	found []span
	raw   []byte
	out   []byte
	last  []byte // characters
}

// A Cut is a form that was replaced. From and To are the part of the output that took its place: a Mask, or nothing
// if its beginning was passed on before as a Mask. Text is the replaced text as the far side sent it. It is valid
// until the next call of the Filter.
type Cut struct {
	From, To int
	Text     []byte
}

// Feed returns the part of the stream that is certain now that p has come, and the forms that were replaced in it. The
// output is p itself, if it can be, and otherwise valid until the next call.
func (f *Filter) Feed(m *Matcher, p []byte) ([]byte, []Cut) {
	raw := f.look(m, p, true)
	keep := incomplete(raw)
	if m.Any() && len(f.t.runs) > 0 && len(raw)-f.t.end() <= maxGap {
		_, first := f.t.last(m.longest)
		keep = min(keep, first)
	}
	f.came = f.looked && f.begun >= 0 && slices.ContainsFunc(f.found, func(s span) bool { return s.from == f.begun })
	n := len(f.found)
	for n > 0 && f.found[n-1].from >= keep { // it may grow
		n--
	}
	f.found = f.found[:n]
	show := keep
	if n > 0 && f.found[n-1].to > keep { // another form may begin in it
		show = f.found[n-1].to
	}
	f.looked = false
	out, cuts := f.replace(raw, show)
	f.keep(raw, keep, max(0, show-keep))
	return out, cuts
}

// begins finds the characters at the end of the bytes held that may be the beginning of a form.
//
// Only the time that they wait depends on that, and the next output mostly comes before. So Feed does not do it, which
// takes 0.2 µs.
func (f *Filter) begins(m *Matcher) {
	f.looked, f.chars, f.begun = true, 0, -1
	f.t.join(f.held)
	gap := len(f.held) - f.t.end()
	if !m.Any() || len(f.t.runs) == 0 || gap > maxGap {
		return
	}
	k, first := f.t.last(m.longest)
	if cap(f.last) < m.longest+padding {
		clear(f.last[:cap(f.last)])
		f.last = make([]byte, 0, m.longest+padding)
	}
	f.last = f.t.appendFrom(f.last[:0], k, first)
	n := len(f.last)
	clear(f.last[n : n+padding])
	if f.chars = m.tail(f.last, gap > 0); f.chars >= some {
		_, f.begun = f.t.last(f.chars)
	}
}

// Release passes on the bytes that are held back. The search goes on: if they are the beginning of a form, its rest is
// replaced.
func (f *Filter) Release(m *Matcher) ([]byte, []Cut) {
	raw := f.look(m, nil, false)
	out, cuts := f.replace(raw, len(raw))
	f.released = len(f.held)
	return out, cuts
}

// End is the end of the stream, or of the values to look for: it passes on all that is held back.
func (f *Filter) End(m *Matcher) ([]byte, []Cut) {
	out, cuts := f.Release(m)
	clear(f.held)
	f.held, f.released, f.masked, f.looked, f.before = f.held[:0], 0, false, false, 0
	return out, cuts
}

// Waits reports whether bytes are held back.
func (f *Filter) Waits() bool { return len(f.held) > f.released }

// Waiting returns how long the bytes held back may wait for more; 0: none are. It is at least Brief otherwise.
func (f *Filter) Waiting(m *Matcher) time.Duration {
	if !f.Waits() {
		return 0
	}
	if !f.looked {
		f.begins(m)
	}
	switch {
	case f.chars < some:
		return Brief
	case f.chars < most:
		return holdSome
	}
	return holdMost
}

// Came reports whether the last Feed found the form that the held-back bytes began, if Waiting was called before it.
func (f *Filter) Came() bool { return f.came }

// Holds reports whether the filter has bytes of the stream, passed on or not.
func (f *Filter) Holds() bool { return len(f.held) > 0 }

// Wipe overwrites the data of the last calls in memory, except the bytes held back.
func (f *Filter) Wipe() {
	clear(f.last[:cap(f.last)])
	clear(f.raw[:cap(f.raw)])
	clear(f.out[:cap(f.out)])
}

// look finds the forms in the bytes held and p, which more bytes follow or not.
func (f *Filter) look(m *Matcher, p []byte, more bool) (raw []byte) {
	raw = p
	if len(f.held) > 0 {
		f.raw = append(append(f.raw[:0], f.held...), p...)
		raw = f.raw
	}
	f.t.join(raw)
	f.found = f.found[:0]
	if m.Any() {
		f.found = m.find(f.found, &f.t, f.before, more)
	}
	return raw
}

// replace returns the output for raw[:to].
func (f *Filter) replace(raw []byte, to int) ([]byte, []Cut) {
	at := min(f.released, to)
	if len(f.found) == 0 {
		f.masked = f.masked && at == to
		return raw[at:to], nil
	}
	var cuts []Cut
	f.out = f.out[:0]
	for _, s := range f.found {
		from, end := s.from, s.to
		if end <= at {
			continue // of the bytes that were passed on
		}
		f.out = append(f.out, raw[at:max(at, from)]...)
		c := Cut{From: len(f.out), Text: raw[max(at, from):end]}
		if len(f.out) > 0 || !f.masked {
			f.out = append(f.out, Mask...)
		}
		c.To = len(f.out)
		cuts, at = append(cuts, c), end
	}
	f.masked = at == to && (f.masked || len(f.out) > 0)
	f.out = append(f.out, raw[at:max(at, to)]...)
	return f.out, cuts
}

// keep holds raw[from:] back. Some of its bytes were already passed on.
func (f *Filter) keep(raw []byte, from, shown int) {
	if from > 0 {
		f.before = f.t.before(from)
	}
	last := len(f.held)
	f.held = append(f.held[:0], raw[from:]...)
	if last > len(f.held) {
		clear(f.held[len(f.held):last])
	}
	f.released = max(0, f.released-from, shown)
}

// incomplete returns where a control sequence begins that is cut at the end of p, or len(p).
func incomplete(p []byte) int {
	from := max(0, len(p)-maxGap)
	i := bytes.LastIndexByte(p[from:], '\x1b')
	if i < 0 {
		return len(p)
	}
	i += from
	if rest := p[i:]; len(rest) == 1 || len(rest) == 2 && (rest[1] == '[' || rest[1] == '(' || rest[1] == ')') ||
		rest[1] == '[' && gapLen(rest) == len(rest) && (rest[len(rest)-1] < 0x40 || rest[len(rest)-1] > 0x7e) {
		return i
	}
	return len(p)
}
