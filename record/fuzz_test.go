package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"ptyctl/term"
)

// FuzzOutput: whatever a terminal sends, and however it comes in pieces, is read back, with U+FFFD for each byte that is
// not UTF-8, and the terminal alone looks like a screen that got it all.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("$ \x1b[31mred\xffä\xe2\x82"), uint8(3))
	f.Add([]byte("\x1b]0;\x9ctitle\x1b[?1049h\x1b[2;3r\x1b(0qq"), uint8(1))
	f.Fuzz(func(t *testing.T, p []byte, piece uint8) {
		if len(p) > 300 {
			t.Skip()
		}
		synctest.Test(t, func(t *testing.T) {
			cast := recorded(t, Options{}, func(r *Recorder) {
				opening(r, 40, 10)
				n := 0
				for rest := p; len(rest) > 0; n++ {
					size := min(int(piece)+1, len(rest))
					r.Observe(term.Event{Verb: term.VerbOutput, Data: rest[:size]})
					if rest = rest[size:]; n%7 == 0 {
						time.Sleep(time.Second)
						ran(r, "exec-1", string(p), string(p), string(p), 0)
					}
				}
			})
			if rep, err := verify("a.cast", bytes.NewReader(cast), nil, nil); err != nil || !rep.Ended {
				t.Fatalf("Verify = %+v, %v", rep, err)
			}
			var got strings.Builder
			_, all := read(t, cast)
			for _, e := range all {
				if e.Code == codeOutput && e.View == Terminal && !e.Redraw {
					got.WriteString(e.Text)
				}
			}
			want, _ := appendString(nil, p)
			text, ok := readString([]byte(`"` + string(want) + `"`))
			if !ok {
				t.Fatalf("%q is not read back", want)
			}
			// The bytes of a character that never comes whole may be one U+FFFD or several.
			single := regexp.MustCompile("\uFFFD+")
			if a, b := single.ReplaceAllString(got.String(), "\uFFFD"), single.ReplaceAllString(text, "\uFFFD"); a != b {
				t.Fatalf("%q was recorded as %q", b, a)
			}
		})
	})
}

// FuzzRead: any file is read without a fault, as events or with an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"version":3,"term":{"cols":80,"rows":24}}` + "\n" + `[0.5, "o", "a\u001b[31m\ud83d\ude00"]` + "\n# ptyctl view commands\n" + `[1e-3,"x","3"]`))
	f.Add([]byte("{\"version\":3,\"term\":{\"cols\":1,\"rows\":1}}\n[1, \"r\", \"5x\"]\n[1, \"m\", \"\\"))
	f.Fuzz(func(t *testing.T, p []byte) {
		for _, use := range []func(r *Reader) error{
			func(r *Reader) error { return Text(io.Discard, r) },
			func(r *Reader) error { return V2(io.Discard, r) },
			func(r *Reader) error {
				last := time.Duration(0)
				for {
					e, err := r.Next()
					if err != nil {
						return err
					}
					if e.Time < last {
						t.Fatalf("an event at %v after one at %v", e.Time, last)
					}
					last = e.Time
				}
			},
		} {
			r, err := NewReader(bytes.NewReader(p))
			if err != nil {
				return
			}
			if err := use(r); err != nil && !errors.Is(err, io.EOF) {
				if _, ok := errors.AsType[*FormatError](err); !ok {
					t.Fatalf("the error is %v", err)
				}
			}
		}
		_, _ = verify("a.cast", bytes.NewReader(p), nil, nil)
	})
}

// slowString is appendString a character at a time.
func slowString(p []byte) (text string, bad int) {
	var b strings.Builder
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '"', r == '\\':
			fmt.Fprintf(&b, `\%c`, r)
		case r < ' ', 0x80 <= r && r < 0xa0:
			fmt.Fprintf(&b, `\u%04x`, r)
		case r == utf8.RuneError && size == 1:
			bad++
			fallthrough
		default:
			b.WriteRune(r)
		}
		p = p[size:]
	}
	return b.String(), bad
}

func checkString(t *testing.T, before string, p []byte) {
	t.Helper()
	want, wantBad := slowString(p)
	got, bad := appendString([]byte(before), p)
	if string(got) != before+want || bad != wantBad {
		t.Fatalf("appendString(%q, %q) = %q, %d; want %q, %d", before, p, got, bad, before+want, wantBad)
	}
	var back string
	if err := json.Unmarshal([]byte(`"`+string(got[len(before):])+`"`), &back); err != nil {
		t.Fatalf("%q is not JSON: %v", got, err)
	}
	if valid := strings.ToValidUTF8(string(p), ""); bad == 0 && back != valid {
		t.Fatalf("%q is read back as %q", p, back)
	}
}

// TestAppendString: output of any kind is in JSON as if it was written a character at a time.
func TestAppendString(t *testing.T) {
	for c := range 256 {
		for at := range 18 { // in each place of two words
			for _, filler := range []string{"x", "!", "#", "[", "]", "~", "ä", "\xff", "\x1b"} {
				p := []byte(strings.Repeat(filler, 20))
				p[at] = byte(c)
				checkString(t, "", p)
				checkString(t, "[0, ", p[:at+1])
			}
		}
	}
	parts := []string{
		"some text ", "\x1b[32m", "\r\n", "\"", "\\", "\x00", "\x7f", "ä", "漢字", "😀", "\u009b", "\xe2\x82", "\xff", "\xc2", "\xed\xa0\x80", "x",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var p []byte
		for size := r.IntN(3 * pieceBytes); len(p) < size; {
			p = append(p, parts[r.IntN(len(parts))]...)
		}
		checkString(t, "[0, ", p)
	}
	for n := range 10 { // a cut where bytes follow that are in no character
		checkString(t, "", []byte(strings.Repeat("x", pieceBytes-n)+"😀\x80\x80\x80\x80\x80\x80x"))
	}
	for _, c := range []string{"\x1b", "\u0085", "漢", "😀", "\x80", "\xff"} { // as long as it becomes, and cut anywhere
		for n := range utf8.UTFMax {
			checkString(t, "", append(bytes.Repeat([]byte{'x'}, n), strings.Repeat(c, pieceBytes)...))
		}
	}
}

// TestPlainRune: the characters that are known by eight bytes are those that a slow reader finds there.
func TestPlainRune(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			for _, c := range []byte{0, 0x7f, 0x80, 0x9f, 0xa0, 0xbf, 0xc0, 0xff} {
				r, size := utf8.DecodeRune([]byte{byte(a), byte(b), c, 'x'})
				want := 0
				if (size == 2 || size == 3) && r >= 0xa0 {
					want = size
				}
				if got := plainRune(uint64(a) | uint64(b)<<8 | uint64(c)<<16 | 'x'<<24 | 0xff<<56); got != want {
					t.Fatalf("plainRune of %02x %02x %02x = %d, want %d", a, b, c, got, want)
				}
			}
		}
	}
}
