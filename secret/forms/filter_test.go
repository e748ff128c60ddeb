package forms

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// through feeds the pieces, and returns the output of all.
func through(m *Matcher, pieces ...string) string {
	var f Filter
	var all []byte
	for _, p := range pieces {
		out, _ := f.Feed(m, []byte(p))
		all = append(all, out...)
	}
	out, _ := f.End(m)
	return string(append(all, out...))
}

func known(values ...string) *Matcher {
	var list []Value
	for _, v := range values {
		list = append(list, Value{Text: []byte(v)})
	}
	return New(list)
}

// TestSplit: each form of each value is found in a stream that is cut at any place, or at every place.
func TestSplit(t *testing.T) {
	for _, v := range []string{"hunter2x", `it's "a" \b`, "pässwört", "sixsix"} {
		m := known(v)
		for _, l := range m.list {
			form := string(m.chars[l.from:l.to])
			// Blanks do not look like a form, and the form may be within another.
			in, want := "\x01"+form+"\x01\r\n", m.MaskString("\x01"+form+"\x01\r\n")
			if strings.Contains(want, form) {
				t.Fatalf("Mask(%q) = %q, want the form hidden", in, want)
			}
			for i := range in {
				if got := through(m, in[:i], in[i:]); got != want {
					t.Errorf("%q cut at %d: %q, want %q", in, i, got, want)
				}
			}
			if got := through(m, strings.Split(in, "")...); got != want {
				t.Errorf("%q byte by byte: %q, want %q", in, got, want)
			}
		}
	}
}

// TestWrapped: a form is found in lines of any width, whichever way they are wrapped, whole or cut anywhere.
func TestWrapped(t *testing.T) {
	m := known("correct horse battery staple, 0123456789 0123456789 0123456789 0123456789")
	for _, wrap := range []string{"\r\n", "\r", " \r", "\n", "\x1b[K\r\n", "\x1b[1B\x1b[1G", "\b\x1b[0;1;31m", "\r\n\x1b[32m", "\x00\x0f", "\x1b[A\x1b(B\x1b[m\r\n"} {
		for i, l := range m.list {
			form := string(m.chars[l.from:l.to])
			for width := 20 + i%7; width <= 200; width += 7 { // every width, with some of the forms
				at := width / 2 // of the first line that other text takes
				in := strings.Repeat("-", at)
				for rest := form; ; at = 0 {
					n := min(width-at, len(rest))
					in += rest[:n]
					if rest = rest[n:]; rest == "" {
						break
					}
					if strings.HasSuffix(in, " ") && lineEditor([]byte(wrap)) {
						in += " " // as line editors do
					}
					in += wrap
				}
				want := strings.Repeat("-", width/2) + Mask + "|"
				if got := m.MaskString(in + "|"); got != want {
					t.Fatalf("Mask(%q) = %q, want %q", in+"|", got, want)
				}
				i := width % len(in)
				if got := through(m, in[:i], in[i:]+"|"); !strings.HasSuffix(got, Mask+"|") || strings.Count(got, "*") > len(Mask) {
					t.Fatalf("%q cut at %d: %q, want %q", in+"|", i, got, want)
				}
			}
		}
	}
}

// naive returns the result of Mask, found by trying all forms at all places.
func naive(m *Matcher, in []byte) string {
	var chars []byte
	var places []int
	gap := true // right before at
	for at := 0; at < len(in); {
		n := gapLen(in[at:])
		if last := len(chars) - 1; n > 0 && !gap && chars[last] == ' ' && lineEditor(in[at:]) {
			chars, places = chars[:last], places[:last]
		}
		if gap = n > 0; !gap {
			chars, places, n = append(chars, in[at]), append(places, at), 1
		}
		at += n
	}
	hidden := make([]bool, len(in))
	for i := range chars {
		for _, l := range m.list {
			form := m.chars[l.from:l.to]
			last, to := i+len(form)-1, 0
			switch cut := bytes.TrimSuffix(form, []byte(" ")); {
			case bytes.HasPrefix(chars[i:], form):
				to = places[last]
			case bytes.HasPrefix(chars[i:], cut): // the blank may be one that was taken out
				if last--; last < i || places[last]+1 == len(in) || in[places[last]+1] != ' ' {
					continue
				}
				to = places[last] + 1
			default:
				continue
			}
			gap := false
			for k := i; k < last; k++ {
				gap = gap || places[k+1]-places[k] > maxGap+1
			}
			if gap || l.whole && !standsAlone(in, places[i], to, i > 0 && places[i-1] == places[i]-1) {
				continue
			}
			for k := places[i]; k <= to; k++ {
				hidden[k] = true
			}
		}
	}
	var out []byte
	for at := 0; at < len(in); at++ {
		if !hidden[at] {
			out = append(out, in[at])
			continue
		}
		out = append(out, Mask...)
		for at+1 < len(in) && hidden[at+1] {
			at++
		}
	}
	return string(out)
}

// standsAlone reports whether the text from the place at to the place end is no part of a word. With beside, a character
// is right before it.
func standsAlone(in []byte, at, end int, beside bool) bool {
	if beside && inWord(in[at-1]) && inWord(in[at]) {
		return false
	}
	return end+1 == len(in) || !inWord(in[end]) || !inWord(in[end+1])
}

// alphabets of random text: much of it is nearly a form.
func randomText(r *rand.Rand, m *Matcher, n int) []byte {
	var b []byte
	for len(b) < n {
		switch r.IntN(6) {
		case 0:
			b = append(b, []string{"\r\n", " ", "\x1b[31m", "\b", "\r", "|", strings.Repeat("\n", r.IntN(80)), "\x1b]0;", "\t"}[r.IntN(9)]...)
		case 1, 2: // a part of a form, or a whole one
			l := m.list[r.IntN(len(m.list))]
			form := m.chars[l.from:l.to]
			from := r.IntN(len(form))
			to := from + r.IntN(len(form)-from+1)
			switch r.IntN(3) {
			case 0:
				from, to = 0, len(form)
			case 1:
				from, to = 0, len(form)-1
			}
			b = append(b, form[from:to]...)
		case 3: // one character of it is another
			l := m.list[r.IntN(len(m.list))]
			form := bytes.Clone(m.chars[l.from:l.to])
			form[r.IntN(len(form))] = "abc~/+%09"[r.IntN(9)]
			b = append(b, form...)
		default:
			for range r.IntN(12) {
				b = append(b, byte(33+r.IntN(94)))
			}
		}
	}
	return b
}

func randomValue(r *rand.Rand) string {
	const alphabet = `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcabc"'\$%&/+ ~éß`
	chars := []rune(alphabet)
	v := make([]rune, 6+r.IntN(20))
	for i := range v {
		v[i] = chars[r.IntN(len(chars))]
	}
	return string(v)
}

// checkNothingElse compares Mask and a Filter with the naive search.
func checkNothingElse(t *testing.T, r *rand.Rand, values []string, size int) {
	t.Helper()
	m := known(values...)
	in := randomText(r, m, size)
	want := naive(m, in)
	if got := string(m.Mask(in)); got != want {
		t.Fatalf("of values %q, Mask(%q) =\n%q, want\n%q", values, in, got, want)
	}
	var pieces []string
	for rest := string(in); rest != ""; {
		n := min(1+r.IntN(40), len(rest))
		pieces, rest = append(pieces, rest[:n]), rest[n:]
	}
	// A line that ends is not held up, so of a wrapped form the first characters may be shown before it.
	got := through(m, pieces...)
	if got != want && !strings.Contains(string(in), "\n") && !strings.Contains(string(in), "\x1b") && !strings.ContainsAny(string(in), "\r\b") {
		t.Fatalf("of values %q, the pieces %q become\n%q, want\n%q", values, pieces, got, want)
	}
	for _, l := range m.list {
		if form := string(m.chars[l.from:l.to]); strings.Contains(got, form) {
			t.Fatalf("of values %q, the pieces %q become\n%q, which has %q", values, pieces, got, form)
		}
	}
}

// TestNothingElse: of random text, forms are replaced, all of them, and nothing else.
func TestNothingElse(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	for range 200 {
		var values []string
		for range 1 + r.IntN(5) {
			values = append(values, randomValue(r))
		}
		checkNothingElse(t, r, values, 50+r.IntN(500))
	}
}

// TestBegins: the characters that may be the beginning of a form are the same in the bytes held as in all of the output
// that the filter has looked at.
func TestBegins(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	found := 0
	for range 200 {
		m := known(randomValue(r), randomValue(r))
		in := randomText(r, m, 50+r.IntN(500))
		var f Filter
		for len(in) > 0 {
			n := min(1+r.IntN(60), len(in))
			raw := append(bytes.Clone(f.held), in[:n]...)
			f.Feed(m, in[:n])
			in = in[n:]
			f.Waiting(m)
			var all text
			all.join(raw)
			want := 0
			if gap := len(raw) - all.end(); len(all.runs) > 0 && gap <= maxGap {
				k, at := all.last(m.longest)
				chars := all.appendFrom(nil, k, at)
				want = m.tail(append(chars, make([]byte, padding)...)[:len(chars)], gap > 0)
			}
			if f.Waits() && f.chars != want {
				t.Fatalf("after %q, %d characters of %q may be the beginning of a form, want %d", raw, f.chars, f.held, want)
			}
			if want >= some {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("no text ends with the beginning of a form")
	}
}

// TestDrawn: a form is found with gaps of all kinds at any of its places, in text that has many, whatever its length.
func TestDrawn(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 2))
	t.Logf("seed %d", seed)
	gap := func() string {
		return []string{
			"\r\n", "\x1b[m", "\x1b[0m", "\x1b[01;34m", "\x1b[38;2;255;100;20m", "\x1b[K\r\n", " \b", " \r", " \x1b[K\b", "\x1b(B", "\x1b",
			"\x1b[1\x07", "\x1b[?\x80", "\x1b[1\x7f", "\x00\x0f", "\x1b[" + strings.Repeat("1;", r.IntN(40)) + "m", strings.Repeat("\n", r.IntN(70)),
			"\x1b[1", "\x1b[\r\n", "\x1b[12345678", "\t",
		}[r.IntN(21)]
	}
	for range 500 {
		var values []Value
		for range 1 + r.IntN(3) {
			v := []byte(randomValue(r))
			word := r.IntN(3) == 0
			if word {
				v = v[:4+r.IntN(3)]
			}
			values = append(values, Value{Text: v, Word: word})
		}
		m := New(values)
		var in []byte
		for len(in) < 200 && len(m.list) > 0 {
			often := []int{1, 2, 5, 20}[r.IntN(4)]
			l := m.list[r.IntN(len(m.list))]
			for _, c := range m.chars[l.from:l.to] {
				if in = append(in, c); r.IntN(often) == 0 {
					in = append(in, gap()...)
				}
			}
			for range r.IntN(12) {
				if in = append(in, "abcdef 0123_-."[r.IntN(14)]); r.IntN(often) == 0 {
					in = append(in, gap()...)
				}
			}
		}
		if got, want := string(m.Mask(in)), naive(m, in); got != want {
			t.Fatalf("of values %v, Mask(%q) =\n%q, want\n%q", values, in, got, want)
		}
	}
}

// TestGapsAlone: output that has no characters is searched, whatever grams are in its gaps.
func TestGapsAlone(t *testing.T) {
	m := known("38;5;200m", "a 1;31m b")
	for _, in := range []string{"", "\r\n", "\x1b[38;5;200m", "\x1b[1;31m\x1b[0m\r\n", " \b", " \r"} {
		if got := string(m.Mask([]byte(in))); got != in {
			t.Errorf("Mask(%q) = %q, want it as it is", in, got)
		}
		if got := through(m, in, in); got != in+in {
			t.Errorf("the pieces %q, twice, become %q, want them as they are", in, got)
		}
	}
}

// TestBlankAtTheEnd: a blank that ends a form is a part of it also where a line editor could have written it.
func TestBlankAtTheEnd(t *testing.T) {
	m := known("open sesame ", "hunter ")
	for in, want := range map[string]string{
		"open sesame \rx":   "********\rx",
		"open sesame \b\bx": "********\b\bx",
		"hunter \r":         "********\r",
		"hunter \b":         "********\b",
	} {
		if got := string(m.Mask([]byte(in))); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestLog: a log of text, numbers and base64 is left as it is.
func TestLog(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var values []string
	for range 50 {
		values = append(values, randomValue(r))
	}
	m := known(values...)
	var log []byte
	for i := range 20000 {
		log = fmt.Appendf(log, "%d -rw-r--r-- 1 root root %d Jan %d 00:00 file-%x.txt \x1b[1;31m%d\x1b[0m\r\n", i, r.IntN(1<<30), i%31, r.Uint64(), r.Uint64())
	}
	if got := m.Mask(log); !bytes.Equal(got, log) {
		t.Errorf("a log of %d bytes without a secret becomes one of %d", len(log), len(got))
	}
	var f Filter
	var out []byte
	for p := range slices.Chunk(log, 4096) {
		got, cuts := f.Feed(m, p)
		if out = append(out, got...); len(cuts) > 0 {
			t.Fatalf("Feed finds %q in a log without secrets", cuts[0].Text)
		}
	}
	got, _ := f.End(m)
	if !bytes.Equal(append(out, got...), log) {
		t.Error("the log has changed in the filter")
	}
}

func FuzzFilter(f *testing.F) {
	f.Add([]byte("a hunter2x b\r\n"), "hunter2x", "correct horse", uint(3))
	f.Add([]byte("aHVudGVyMng= 68756e74\r\n65723278"), "hunter2x", "x2retnuh", uint(1))
	f.Fuzz(func(t *testing.T, in []byte, v, w string, size uint) {
		if len(in) > 2000 || len(v) > 300 || len(w) > 300 {
			return
		}
		m := known(v, w)
		defer m.Wipe()
		if !m.Any() {
			return
		}
		whole := string(m.Mask(in))
		if want := naive(m, in); whole != want {
			t.Fatalf("Mask(%q) = %q, want %q", in, whole, want)
		}
		var pieces []string
		for p := range slices.Chunk(in, int(1+size%50)) {
			pieces = append(pieces, string(p))
		}
		if got := through(m, pieces...); !bytes.ContainsAny(in, "\r\n\b\x00\x0e\x0f\x1b") && got != whole {
			t.Fatalf("the pieces %q become %q, want %q", pieces, got, whole)
		}
	})
}

// TestWait: the end of a stream waits, longer if it may be the beginning of a form, is shown after a while, and its rest
// is hidden.
func TestWait(t *testing.T) {
	m := known("hunter2x")
	const line = "a line that is much longer than any form of the value, and of which the beginning is shown at once: "
	for in, wait := range map[string]time.Duration{
		"plain text.": Brief, "text h": Brief, "text hun": Brief, "text hun\r\n": Brief, "text hunt": holdSome,
		"text hunt\r\n": holdSome, "text hunter2": holdSome, "text hunter2x": Brief, "text hunter2x.": Brief,
	} {
		in = line + in
		var f Filter
		out, _ := f.Feed(m, []byte(in))
		if len(out) == 0 || len(out) > len(in)-m.longest || !strings.HasPrefix(in, string(out)) || f.Waiting(m) != wait {
			t.Errorf("Feed(%q) = %q, waiting %v; want a beginning without the last %d characters, %v", in, out, f.Waiting(m),
				m.longest, wait)
		}
		all := string(out)
		out, _ = f.Release(m)
		all += string(out)
		if want := strings.ReplaceAll(in, "hunter2x", Mask); all != want || f.Waiting(m) != 0 {
			t.Errorf("%q released: %q, waiting %v; want %q", in, all, f.Waiting(m), want)
		}
		begun := strings.TrimSpace(strings.TrimPrefix(in, line+"text "))
		if rest, found := strings.CutPrefix("hunter2x", begun); found && rest != "" {
			out, cuts := f.Feed(m, []byte(rest+"."))
			shown := string(out)
			for _, c := range cuts {
				shown += string(c.Text)
			}
			if out, cuts = f.Release(m); len(cuts) == 1 {
				shown += string(out) + string(cuts[0].Text)
			}
			if shown != Mask+"."+rest || f.Came() != (len(begun) >= some) {
				t.Errorf("the rest %q after %q: %q, came: %t; want it masked", rest, in, shown, f.Came())
			}
		}
	}
}

// TestBounded: a filter's memory is bounded, whatever the far side sends.
func TestBounded(t *testing.T) {
	m := known("hunter2x", "aaaaaaaa", strings.Repeat("ab", 500))
	for _, text := range []string{"hunter2x", "hunt\r\n\r\n", "a", "h\x1b[31m", "\x1b[", "\n", "ab", "h\x00", " \r", "x2retnuhunter2x"} {
		var f Filter
		shown := 0
		for range 2000 {
			out, _ := f.Feed(m, []byte(strings.Repeat(text, 20)))
			shown += len(out)
			if len(f.held) > maxPiece*(maxGap+1) {
				t.Fatalf("of %q again and again, %d bytes are held", text, len(f.held))
			}
		}
		f.End(m)
	}
	for _, text := range []string{"\n", " \b", "\x1b[m", strings.Repeat("\n", 1000) + "x"} {
		var f Filter
		for f.Feed(m, []byte("hunt")); len(text) < 1<<16; text += text {
			if f.Feed(m, []byte(text)); len(f.held) > maxPiece*(maxGap+1) {
				t.Fatalf("of %q again and again, %d bytes are held", text, len(f.held))
			}
		}
	}
	in := strings.Repeat("hunter2x", 50)
	for i := range in {
		if got := through(m, in[:i], in[i:]); got != Mask {
			t.Fatalf("50 values in a row, cut at %d, become %q, want one mask", i, got)
		}
	}
}

// TestWord: a code is found as a word alone.
func TestWord(t *testing.T) {
	m := New([]Value{{Text: []byte("123456"), Word: true}, {Text: []byte("k9x2"), Word: true}, {Text: []byte("abc"), Word: true}, {Text: []byte("short")}})
	for in, want := range map[string]string{
		"123456":                          Mask,
		"code 123456\r\n":                 "code " + Mask + "\r\n",
		"1234567 0123456 a123456 123456_": "1234567 0123456 a123456 123456_",
		"\x1b[31m123456\x1b[m":            "\x1b[31m" + Mask + "\x1b[m",
		"654321,":                         Mask + ",",
		"k9x2 k9x22 (k9x2)":               Mask + " k9x22 (" + Mask + ")",
		"abc short":                       "abc short",
		"MTIzNDU2":                        Mask,
		"1234\r\n56":                      Mask,
	} {
		if got := m.MaskString(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
		for i := range in {
			if got := through(m, in[:i], in[i:]); got != want && i > 3 {
				t.Errorf("%q cut at %d: %q, want %q", in, i, got, want)
			}
		}
	}
}

// TestWipe: nothing of the values stays in the memory of a matcher and a filter.
func TestWipe(t *testing.T) {
	m := known("hunter2x", "correct horse")
	var f Filter
	f.Feed(m, []byte("say hunter2x and corr"))
	f.End(m)
	f.Wipe()
	chars := m.chars
	m.Wipe()
	for _, b := range [][]byte{chars, f.last[:cap(f.last)], f.raw[:cap(f.raw)], f.out[:cap(f.out)], f.held[:cap(f.held)]} {
		if i := bytes.IndexFunc(b, func(r rune) bool { return r != 0 }); i >= 0 {
			t.Errorf("%q is left in memory", b)
		}
	}
	if got := m.MaskString("hunter2x"); got != "hunter2x" {
		t.Errorf("a wiped matcher makes %q of it", got)
	}
}
