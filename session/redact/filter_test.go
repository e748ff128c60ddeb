package redact

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// looking returns a filter that looks for the echo of these writes, as if all of them had been sent.
func looking(writes ...string) *filter {
	f := new(filter)
	for _, w := range writes {
		f.add(secretLines([]byte(w), &Expectation{going: true}))
	}
	return f
}

// through feeds the pieces, and ends the stream.
func through(f *filter, pieces ...string) string {
	var out []byte
	for _, p := range pieces {
		out = f.feed(out, []byte(p))
	}
	return string(f.release(out))
}

func TestEchoesAreMasked(t *testing.T) {
	const m = Mask
	long := strings.Repeat("0123456789abcdef", 100)
	for _, tc := range []struct {
		name   string
		writes []string
		in     string
		want   string
	}{
		{"echo", []string{"correct horse\r"}, "Password: correct horse\r\nok", "Password: " + m + "\r\nok"},
		{"nothing is echoed", []string{"correct horse\r"}, "\r\nok\r\n# ", "\r\nok\r\n# "},
		{"asterisks", []string{"hunter22\r\n"}, "********\r\nok", "********\r\nok"},
		{"twice", []string{"correct horse\r"}, "correct horse\r\n$ correct horse\r\n", m + "\r\n$ " + m + "\r\n"},
		{"after false starts", []string{"aaab4567"}, "aaaaab4567aaab456x", "aa" + m + "aaab456x"},
		{"wrapped by a terminal", []string{"correct horse\r"}, "correc\r\nt horse correc \rt horse", m + " " + m},
		{"wrapped with NUL and backspace", []string{"correct horse\r"}, "correct\x00 ho\b\brse", m},
		{"with control sequences between", []string{"correct horse\r"}, "cor\x1b[K\x1b[1;31mrect horse.", m + "."},
		{"as dialog draws it", []string{"correct"}, strings.Join(strings.Split("correct", ""), "\x1b[39;49m\x1b(B\x1b[m\x1b[30m\x1b[47m"), m},
		{"in true colour", []string{"correct"}, strings.Join(strings.Split("correct", ""), "\x1b[m\x1b[38;2;255;255;255m\x1b[48;2;100;100;100m"), m},
		{"with shifts between", []string{"correct"}, "\x0fcor\x1b)0\x0e\x0frect\x0e", "\x0f" + m + "\x0e"},
		{"with too much between", []string{"correct horse\r"}, "cor" + strings.Repeat(" ", maxGap+1) + "rect horse", "cor" + strings.Repeat(" ", maxGap+1) + "rect horse"},
		{"lines", []string{"first line\rsecond line\r"}, "first line\r\n> second line\r\n", m + "\r\n> " + m + "\r\n"},
		{"several writes", []string{"correct horse\r", "battery staple\r"}, "correct horse\r\nbattery staple\r\n", m + "\r\n" + m + "\r\n"},
		{"one is the beginning of the other", []string{"password", "password1"}, "password1 password2", m + " " + m + "2"},
		{"one within the other", []string{"xxadminyy", "in34567"}, "xxadmin34567", "xxadm" + m},
		{"longer than one is looked for", []string{long}, long + "$", m + m + "$"},
		{"control characters are keys", []string{"\x03", "\x1b\x1b"}, "\x03\x1b\x1b", "\x03\x1b\x1b"},
		{"short, echoed", []string{"admin\r"}, "admin\r\nadmin@r1> ", m + "\r\n" + m + "@r1> "},
		{"short, not echoed", []string{"admin\r"}, "\r\nadmin@r1> ", "\r\nadmin@r1> "},
		{"short, two lines", []string{"me\radmin\r"}, "me\r\nadmin\r\nme", m + "\r\n" + m + "\r\nme"},
		{"tiny, once", []string{"12\r"}, "PIN: 12 12 12\r\n", "PIN: " + m + " 12 12\r\n"},
		{"tiny, not echoed", []string{"12\r"}, "\r\n12 routes\r\n", "\r\n12 routes\r\n"},
		{"tiny is not wrapped", []string{"12\r"}, "1 2\r\n", "1 2\r\n"},
		{"one character", []string{"y"}, "yyy", m + "yy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := through(looking(tc.writes...), tc.in); got != tc.want {
				t.Fatalf("whole: %q, want %q", got, tc.want)
			}
			for i := range tc.in {
				if got := through(looking(tc.writes...), tc.in[:i], tc.in[i:]); got != tc.want {
					t.Errorf("cut at %d: %q, want %q", i, got, tc.want)
				}
				for j := i; j < len(tc.in) && len(tc.in) < 100; j++ {
					if got := through(looking(tc.writes...), tc.in[:i], tc.in[i:j], tc.in[j:]); got != tc.want {
						t.Errorf("cut at %d and %d: %q, want %q", i, j, got, tc.want)
					}
				}
			}
			if got := through(looking(tc.writes...), strings.Split(tc.in, "")...); got != tc.want {
				t.Errorf("byte by byte: %q, want %q", got, tc.want)
			}
		})
	}
}

// An echo that stops half way is let go of: a few characters as they are, more of them as the mask.
func TestSlowEcho(t *testing.T) {
	const m, text = Mask, "correct horse"
	for i := 1; i < len(text); i++ {
		f := looking(text)
		out := f.release(f.feed(nil, []byte(text[:i])))
		want := m
		if i < anyChars {
			want = text[:i]
		}
		if string(out) != want {
			t.Errorf("%d characters: %q, want %q", i, out, want)
		}
		if i < anyChars {
			want += m
		}
		if out = f.release(f.feed(out, []byte(text[i:]+"\r\n"))); string(out) != want+"\r\n" {
			t.Errorf("%d characters, and the rest: %q, want %q", i, out, want)
		}
		f = looking(text)
		out = f.release(f.feed(nil, []byte(text[:i])))
		if out = f.feed(out, []byte("#")); !bytes.HasSuffix(out, []byte("#")) || i < anyChars && string(out) != text[:i]+"#" {
			t.Errorf("%d characters, and something else: %q", i, out)
		}
	}
	f := looking(text)
	var out []byte
	for _, c := range []byte(text) {
		out = f.release(f.feed(out, []byte{c}))
	}
	if string(out) != text[:anyChars-1]+m {
		t.Errorf("each character on its own: %q", out)
	}
	if len(f.held) != 0 {
		t.Errorf("held: %q", f.held)
	}
}

// A forgotten secret is wiped.
func TestSecretsAreWiped(t *testing.T) {
	f := looking("correct horse\r")
	text := f.secrets[0].text
	f.feed(nil, []byte("$ correct hors"))
	held := f.held
	f.cut(len(f.held))
	f.drop(func(*secret) bool { return true })
	if all := append(held[:cap(held):cap(held)], text...); !bytes.Equal(all, make([]byte, len(all))) {
		t.Errorf("memory of forgotten secrets = %q, want zeros", all)
	}
	if f.size != 0 || f.begin != nil {
		t.Errorf("%d bytes looked for", f.size)
	}
}

// FuzzScrub checks that it does not matter where a stream is cut, that it comes out unchanged except for the echoes,
// and that those are gone.
func FuzzScrub(f *testing.F) {
	f.Add("correct horse\r", "Password: \x01\r\n$ \x01", []byte{3, 1, 1})
	f.Add("hunter22", "hunter\x01hunt\x01er22", []byte{1})
	f.Add("aaaaaaaab", "aaaa\x01aaa\x01\x01", []byte{2, 0, 5})
	f.Add("12", "1\x01\n12", []byte{})
	f.Fuzz(func(t *testing.T, write, form string, cuts []byte) {
		if len(write) > 3*maxSecretLine || len(form) > 1<<12 {
			t.Skip()
		}
		in := strings.ReplaceAll(form, "\x01", write)
		whole := through(looking(write), in)
		var pieces []string
		for rest := in; rest != ""; {
			n := len(rest)
			if len(cuts) > 0 {
				n = min(int(cuts[0]), n)
				cuts = cuts[1:]
			}
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		if got := through(looking(write), pieces...); got != whole {
			t.Fatalf("cut: %q, whole %q", got, whole)
		}
		text := strings.Trim(write, "\r\n")
		if len(text) < commonWord || len(text) > maxSecretLine || strings.ContainsAny(text, "\r\n") ||
			strings.Trim(text, "\x00\x7f\x1b\b") == "" ||
			strings.ContainsFunc(text, isControl) {
			return
		}
		if strings.Contains(whole, text) && !strings.Contains(text, "*") {
			t.Errorf("%q is in %q", text, whole)
		}
		if !strings.Contains(in, text[:1]) && whole != in {
			t.Errorf("%q came out as %q", in, whole)
		}
	})
}

// BenchmarkScrub measures the search for a secret, which goes on for some seconds after one was written, in chunks of
// 4 KiB.
func BenchmarkScrub(b *testing.B) {
	lines := bytes.Repeat([]byte("-rw-r--r-- 1 root root 1379 Jan  1 00:00 file.txt\r\n"), 82)[:4<<10]
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("secrets=%d", n), func(b *testing.B) {
			f := new(filter)
			for i := range n {
				f.add(secretLines(fmt.Appendf(nil, "correct horse %d\r", i), new(Expectation)))
			}
			var out []byte
			b.SetBytes(int64(len(lines)))
			b.ReportAllocs()
			for b.Loop() {
				out = f.feed(out[:0], lines)
			}
		})
	}
	b.Run("configuration", func(b *testing.B) { // with a password in it, and echoed
		var text bytes.Buffer
		for i := range 6000 {
			fmt.Fprintf(&text, "set interfaces ethernet description %06d\r", i)
		}
		f := looking(text.String())
		echo := bytes.ReplaceAll(text.Bytes(), []byte("\r"), []byte("\r\n"))
		var out []byte
		b.SetBytes(int64(len(echo)))
		for b.Loop() {
			out = out[:0]
			for piece := range slices.Chunk(echo, 4<<10) {
				out = f.feed(out, piece)
			}
		}
	})
}

// alone returns the result that compare must have for one secret: each of its characters, or the bytes that a wrapping
// line puts before it.
func alone(s *secret, p []byte) (n, chars int) {
	gap := 0
	for i := 0; i < len(p); {
		if p[i] == s.text[chars] {
			if i, chars, gap = i+1, chars+1, 0; chars == len(s.text) {
				return i, 0
			}
			continue
		}
		if chars == 0 || len(s.text) < anyChars {
			return 0, 0
		}
		w, more := wrapping(p[i:])
		if more {
			break
		}
		if i, gap = i+w, gap+w; w == 0 || gap > maxGap {
			return 0, 0
		}
	}
	return 0, chars
}

// FuzzEchoMatch checks that a comparison with all secrets at once finds the same as a comparison with each of them.
func FuzzEchoMatch(f *testing.F) {
	f.Add("set a b\nset a c\nset  a\nse\ns\nset\n", "set \x1b[K a b")
	f.Add("a a\naa\na  a\naaaa aa\naaaaaa\n", "aaaa  aa")
	f.Add("ab cd\nab\x1bcd\nab cd e\nabcdef\nabcdef\n", "ab\x1b[1mcdef")
	f.Fuzz(func(t *testing.T, writes, in string) {
		if in == "" || len(writes) > 1<<12 {
			t.Skip()
		}
		var n, chars int
		all := looking(writes)
		for _, s := range all.secrets {
			one, some := alone(s, []byte(in))
			n, chars = max(n, one), max(chars, some)
		}
		if all.begin == nil {
			return
		}
		m := all.match([]byte(in))
		if m.n != n || m.chars != chars {
			t.Fatalf("%d, %d characters; one by one %d, %d", m.n, m.chars, n, chars)
		}
		if n > 0 {
			if one, _ := alone(m.of, []byte(in)); one != n {
				t.Fatalf("%q is not what was found", m.of.text)
			}
		}
	})
}
