package marker

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"ptyctl/session/shell"
)

// scanned is the result of a Scanner for a stream.
type scanned struct {
	out     string
	done    bool
	status  int
	started bool
}

// scanPieces feeds a scanner for m with pieces, and flushes it.
func scanPieces(m Marker, pieces ...string) scanned {
	sc := Scanner{m: m}
	var out []byte
	for _, p := range pieces {
		out = sc.Feed(out, []byte(p))
	}
	out = sc.Flush(out)
	return scanned{string(out), sc.done, sc.status, sc.started}
}

// testMarker is the default marker with a nonce that tests can spell.
func testMarker() Marker {
	m := New("", "")
	m.nonce = "abcdefgh2345"
	m.anchor, m.closing = "PTYCTL_RC_"+m.nonce+"=", ":END_"+m.nonce
	return m
}

func customMarker(prefix, suffix string) Marker {
	m := New(prefix, suffix)
	m.nonce = "abcdefgh2345"
	return m
}

const (
	beginLine = "\x1eS=abcdefgh2345\x1f\r\n"
	asciiEnd7 = "PTYCTL_RC_abcdefgh2345=7:END_abcdefgh2345"
)

func TestMarkerScanner(t *testing.T) {
	ascii, custom, single := testMarker(), customMarker("<<RC:", ">>"), customMarker("@", "@")
	for _, tt := range []struct {
		name, in string
		m        Marker
		out      string
		done     bool
		status   int
	}{
		{"whole, CR LF", beginLine + "out\r\n\x1eRC=7\x1f\r\n" + asciiEnd7 + "\r\n$ ", ascii, "out\n", true, 7},
		{"whole, LF", beginLine + "out\n\x1eRC=7\x1f\n" + asciiEnd7, ascii, "out\n", true, 7},
		{"whole, CR CR LF", beginLine + "out\x1eRC=7\x1f\r\r\n" + asciiEnd7, ascii, "out", true, 7},
		{"controls stripped", "S=abcdefgh2345\r\nout\r\nRC=7\r\n" + asciiEnd7, ascii, "out\n", true, 7},
		{"ASCII line alone", beginLine + "out\r\n" + asciiEnd7, ascii, "out\n", true, 7},
		{"no output", beginLine + "\x1eRC=0\x1f\r\nPTYCTL_RC_abcdefgh2345=0:END_abcdefgh2345", ascii, "", true, 0},
		{"output without line end", beginLine + "a\rb\r\x1eRC=7\x1f\r\n" + asciiEnd7, ascii, "a\rb\r", true, 7},
		{"32 bits", beginLine + "PTYCTL_RC_abcdefgh2345=4294967295:END_abcdefgh2345", ascii, "", true, 4294967295},
		{"negative", beginLine + "\x1eRC=-1\x1f\nPTYCTL_RC_abcdefgh2345=-1073741510:END_abcdefgh2345", ascii, "", true, -1073741510},
		{"too many digits", beginLine + "PTYCTL_RC_abcdefgh2345=12345678901:END_abcdefgh2345", ascii, "PTYCTL_RC_abcdefgh2345=12345678901:END_abcdefgh2345", false, 0},
		{"no status", beginLine + "PTYCTL_RC_abcdefgh2345=:END_abcdefgh2345", ascii, "PTYCTL_RC_abcdefgh2345=:END_abcdefgh2345", false, 0},
		{"a sign alone", beginLine + "PTYCTL_RC_abcdefgh2345=-:END_abcdefgh2345", ascii, "PTYCTL_RC_abcdefgh2345=-:END_abcdefgh2345", false, 0},
		{"forged, then real", beginLine + "\x1eRC=0\x1f\r\n\x1eRC=7\x1f\r\n" + asciiEnd7, ascii, "\x1eRC=0\x1f\n", true, 7},
		{"forged without nonce", beginLine + "\x1eRC=0\x1f\r\nPTYCTL_RC_zzzzzzzzzzzz=0:END_zzzzzzzzzzzz\r\n", ascii, "\x1eRC=0\x1f\nPTYCTL_RC_zzzzzzzzzzzz=0:END_zzzzzzzzzzzz\n", false, 0},
		{"half with nonce", beginLine + "PTYCTL_RC_abcdefgh2345=0:END_zzzzzzzzzzzz", ascii, "PTYCTL_RC_abcdefgh2345=0:END_zzzzzzzzzzzz", false, 0},
		{"anchor twice", beginLine + "PTYCTL_RC_abcdefgh2345=" + asciiEnd7, ascii, "PTYCTL_RC_abcdefgh2345=", true, 7},
		{"end before start", "\x1eRC=7\x1f\r\n" + asciiEnd7 + "\r\n", ascii, "", false, 0},
		{"never ends", beginLine + "out\r\n\x1eRC=7\x1f\r\nPTYCTL_RC_abc\r", ascii, "out\n\x1eRC=7\x1f\nPTYCTL_RC_abc\r", false, 0},
		{"typed line, redrawn", "printf '\\036S=%s\\037\\n' \x1b[K\r$ printf '\\036S=%s' abcdefgh2345\r\n" + beginLine + "x\r\n" + asciiEnd7, ascii, "x\n", true, 7},
		{"start line with more on it", "S=abcdefgh2345\x1f\x1b[K\x1b[0m\r\nx" + asciiEnd7, ascii, "x", true, 7},
		{"title with half a marker", beginLine + "\x1b]0;PTYCTL_RC_z" + asciiEnd7, ascii, "\x1b]0;PTYCTL_RC_z", true, 7},
		{"custom", beginLine + "out <<RC:x>> <<RC:>>\r\n<<RC:7>>\r\n$ ", custom, "out <<RC:x>> <<RC:>>\n", true, 7},
		{"custom ignores ASCII", beginLine + asciiEnd7 + "\n<<RC:3>>", custom, asciiEnd7 + "\n", true, 3},
		{"custom of one character", beginLine + "a@b@@1@", single, "a@b@", true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := scanned{tt.out, tt.done, tt.status, tt.name != "end before start"}
			check := func(how string, pieces ...string) {
				t.Helper()
				if got := scanPieces(tt.m, pieces...); got != want {
					t.Fatalf("%s: %+v, want %+v", how, got, want)
				}
			}
			check("whole", tt.in)
			check("byte by byte", strings.Split(tt.in, "")...)
			for i := range tt.in {
				check(fmt.Sprint("cut at ", i), tt.in[:i], tt.in[i:])
				for j := i; j <= len(tt.in); j++ {
					check(fmt.Sprint("cut at ", i, " and ", j), tt.in[:i], tt.in[i:j], tt.in[j:])
				}
			}
		})
	}
}

// echoes are ways in which terminals show a typed line.
func echoes(line string) []string {
	wrapped := func(cols int, sep string) string {
		var b strings.Builder
		for at := 0; at < len(line); at += cols {
			b.WriteString(line[at:min(at+cols, len(line))])
			b.WriteString(sep)
		}
		return b.String()
	}
	var redrawn strings.Builder
	for i := range line {
		fmt.Fprintf(&redrawn, "\r\x1b[K$ \x1b[1m%s\x1b[0m", line[:i+1])
	}
	return []string{
		line,
		wrapped(80, "\r"),
		wrapped(80, " \r"),
		wrapped(120, "\r\n"),
		wrapped(120, "\x1b[K\r\n> "),
		wrapped(1, "\b \b"),
		redrawn.String(),
	}
}

// The echo of the line that is typed never starts or ends the output, however it is shown.
func TestMarkerEcho(t *testing.T) {
	for _, class := range shell.Classes() {
		if !shell.Class(class).TakesMarker() {
			continue
		}
		for _, m := range []Marker{testMarker(), customMarker("<<RC:", ">>")} {
			if shell.Class(class) == shell.Cmd && !m.ascii {
				continue
			}
			line := m.Line(shell.Shell{Class: shell.Class(class)}, "echo 7")
			for i, e := range echoes(line) {
				if got := scanPieces(m, e+"\r\n"); got.started || got.done || got.out != "" {
					t.Errorf("%s: echo %d starts: %+v", class, i, got)
				}
				if got := scanPieces(m, beginLine+e+"\r\n"); got.done {
					t.Errorf("%s: echo %d ends: %+v", class, i, got)
				}
			}
		}
	}
}

// A scanner's memory does not grow, even if an attacker knows its nonce.
func TestMarkerScannerBounded(t *testing.T) {
	for name, in := range map[string]string{
		"before the start":    "S=abcdefgh234",
		"start without end":   "S=abcdefgh2345",
		"half ends":           beginLine + "\x1eRC=7\x1f\r\nPTYCTL_RC_abcdefgh2345=",
		"digits":              beginLine + "PTYCTL_RC_abcdefgh2345=" + strings.Repeat("9", 99),
		"carriage returns":    beginLine + "\x1eRC=7\x1f" + strings.Repeat("\r", 99),
		"first bytes of ends": beginLine + "\x1eRPRP\x1e\x1e",
	} {
		sc := Scanner{m: testMarker()}
		for range 1000 {
			sc.Feed(nil, []byte(in))
			if len(sc.rest) > 600 {
				t.Errorf("%s: %d bytes kept", name, len(sc.rest))
				break
			}
		}
	}
}

func TestBadMarker(t *testing.T) {
	for _, tt := range []struct {
		prefix, suffix string
		bad            bool
	}{
		{"", "", false},
		{"<", ">", false},
		{"\x1eX=", "\x1f", false},
		{"é", "€", false},
		{"<", "", true},
		{"", ">", true},
		{"<", "0>", true},
		{"<\n", ">", true},
		{"<", ">\r", true},
		{"\x00", ">", true},
	} {
		if got := Check(tt.prefix, tt.suffix); (got != "") != tt.bad {
			t.Errorf("%q %q: %q", tt.prefix, tt.suffix, got)
		}
	}
}

func TestMarkersDiffer(t *testing.T) {
	if a, b := New("", ""), New("", ""); a.nonce == b.nonce || len(a.nonce) < 12 {
		t.Errorf("nonces %q and %q", a.nonce, b.nonce)
	}
}

// FuzzMarker feeds any output, cut anywhere, between the true markers: nothing in it ends the scan, and only its line
// ends are changed.
func FuzzMarker(f *testing.F) {
	f.Add([]byte("out\r\n"), uint16(3), uint16(9), uint8(7))
	f.Add([]byte("\x1eRC=0\x1f\r\nPTYCTL_RC_zzzzzzzzzzzz=0:END_zzzzzzzzzzzz\r\n"), uint16(30), uint16(60), uint8(1))
	f.Add([]byte("S=abcdefgh234\r\r\n\x1eRC=\x1eRC=1\x1f\r\n"), uint16(1), uint16(2), uint8(0))
	f.Add([]byte("\r\r\rRC=1\nRC=12\r\r"), uint16(20), uint16(25), uint8(255))
	f.Add([]byte("\x1b^PTYCTL_RC_z"), uint16(11), uint16(42), uint8(35))
	f.Fuzz(func(t *testing.T, out []byte, a, b uint16, status uint8) {
		m := testMarker()
		if m.shown(out) { // who knows the nonce may end it, and a title with the typed line is left out
			return
		}
		for _, form := range []string{"\x1eRC=%d\x1f\r\n", "\x1eRC=%d\x1f\n"} {
			end := fmt.Sprintf(form+"PTYCTL_RC_%s=%d:END_%s", status, m.nonce, status, m.nonce)
			stream := "echo S=%s " + beginLine + string(out) + end + "\r\n$ "
			i, j := int(a)%(len(stream)+1), int(b)%(len(stream)+1)
			i, j = min(i, j), max(i, j)
			want := scanned{strings.ReplaceAll(string(out), "\r\n", "\n"), true, int(status), true}
			if got := scanPieces(m, stream[:i], stream[i:j], stream[j:]); got != want {
				t.Errorf("cut at %d and %d: %+v, want %+v", i, j, got, want)
			}
			open := beginLine + string(out)
			i, j = min(i, len(open)), min(j, len(open))
			want = scanned{want.out, false, 0, true}
			if got := scanPieces(m, open[:i], open[i:j], open[j:]); got != want {
				t.Errorf("open, cut at %d and %d: %+v, want %+v", i, j, got, want)
			}
		}
		scanPieces(m, string(out)) // never started: only must not panic
		scanPieces(customMarker("R", "P"), beginLine, string(out))
	})
}

// BenchmarkMarker compares the scanner, line ends included, with the bare search for one word.
func BenchmarkMarker(b *testing.B) {
	text := map[string][]byte{
		"log":        bytes.Repeat([]byte("2026-01-01T00:00:00 ERROR PROXY: RESET by PEER, RETRYING THE PORT\r\n"), 16<<10/68),
		"candidates": bytes.Repeat([]byte("RPRC=1 PTYCTL_RC_"), 16<<10/17),
	}
	for name, p := range text {
		b.Run(name+"/scanner", func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			sc := Scanner{m: testMarker(), started: true}
			var out []byte
			for b.Loop() {
				out = sc.Feed(out[:0], p)
			}
		})
		b.Run(name+"/Index", func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			word := []byte(testMarker().anchor)
			for b.Loop() {
				if bytes.Contains(p, word) {
					b.Fatal("found")
				}
			}
		})
	}
}

// A shell that shows each command in the terminal's title shows parts of the typed line there. They are no output,
// however the stream is cut; the titles of the command itself are.
func TestTitlesOfTheTypedLine(t *testing.T) {
	m := New("", "")
	title := func(text string) string { return "\x1b]0;" + text + "\x07" }
	end := "\x1eRC=3\x1f\r\nPTYCTL_RC_" + m.nonce + "=3:END_" + m.nonce
	for _, tt := range []struct{ stream, want string }{
		{title(`eval "$(printf 'ls')"`) + title("ls") + "a\r\n" + title(`printf '\036\122\103\075%s\037\n' $? `+m.nonce), title("ls") + "a\n"},
		{"a\r\n\x1bk" + `printf '\036\122\103\075%s` + "\x1b\\", "a\n"},
		{"a\x1b[1mb\x1b[m\x1b]8;;http://x\x1b\\c\x1b", "a\x1b[1mb\x1b[m\x1b]8;;http://x\x1b\\c\x1b"},
		{"a\x1b]0;unfinished", "a\x1b]0;unfinished"},
		{"\x1b]0;" + m.nonce, ""},
	} {
		stream := "S=" + m.nonce + "\r\n" + tt.stream + end
		for cut := range len(stream) {
			sc := NewScanner(m)
			out := sc.Feed(nil, []byte(stream[:cut]))
			out = sc.Feed(out, []byte(stream[cut:]))
			if status, ok := sc.Status(); string(out) != tt.want || !ok || status != 3 {
				t.Fatalf("cut at %d: %q gives %q, status %d %v; want %q", cut, tt.stream, out, status, ok, tt.want)
			}
		}
	}
}

// The end of a line at which a command waits is output at once, though an end may begin like it.
func TestPeek(t *testing.T) {
	m := New("", "")
	end := "\x1eRC=0\x1f\r\nPTYCTL_RC_" + m.nonce + "=0:END_" + m.nonce
	for _, tt := range []struct{ line, rest, peeked, want string }{
		{"Press ENTER", " now\r\n" + end, "Press ENTER", "Press ENTER now\n"},
		{"STOP", "\r\n" + end, "STOP", "STOP\n"},
		{"Type P", "TYCTL_RC_x\r\n" + end, "Type P", "Type PTYCTL_RC_x\n"},
		{"a\r\n", end, "a\n", "a\n"},
		{"a\r\n\x1e", end[1:], "a\n", "a\n"},
		{"R", "C=0 " + end, "R", "RC=0 "},
		{"x P", end[len("\x1eRC=0\x1f\r\nP"):], "x P", "x P"}, // it was the end: shown text stays shown
	} {
		sc := NewScanner(m)
		out := sc.Feed(nil, []byte("S="+m.nonce+"\r\n"+tt.line))
		out = sc.Peek(out)
		out = sc.Peek(out)
		if string(out) != tt.peeked {
			t.Errorf("%q shows as %q, want %q", tt.line, out, tt.peeked)
		}
		for i := range len(tt.rest) { // byte by byte
			out = sc.Feed(out, []byte(tt.rest[i:i+1]))
		}
		if _, ok := sc.Status(); string(out) != tt.want || !ok {
			t.Errorf("%q and %q give %q (%v), want %q", tt.line, tt.rest, out, ok, tt.want)
		}
	}
}
