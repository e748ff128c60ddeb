package vt_test

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/vt"
)

var kinds = map[vt.Kind]string{
	vt.Text: "Text", vt.Control: "Control", vt.Escape: "Escape", vt.CSI: "CSI", vt.OSC: "OSC", vt.DCS: "DCS",
	vt.SOS: "SOS", vt.PM: "PM", vt.APC: "APC", vt.Canceled: "Canceled",
}

// describe returns a readable form of a token. tokens joins adjacent texts.
func describe(t *vt.Token) string {
	switch t.Kind {
	case vt.Control:
		return fmt.Sprintf("Control %02x", t.Final)
	case vt.Escape:
		return "Escape " + strings.TrimRight(string(t.Inter[:]), "\x00") + string(rune(t.Final))
	case vt.CSI:
		var b strings.Builder
		b.WriteString("CSI ")
		if t.Private != 0 {
			b.WriteByte(t.Private)
		}
		for i := range t.Len() {
			switch {
			case t.Sub(i):
				b.WriteByte(':')
			case i > 0:
				b.WriteByte(';')
			}
			if n := t.Param(i, -1); n >= 0 {
				fmt.Fprint(&b, n)
			}
		}
		b.WriteString(strings.TrimRight(string(t.Inter[:]), "\x00") + string(rune(t.Final)))
		return b.String()
	case vt.Canceled:
		return "Canceled"
	}
	s := fmt.Sprintf("%s %q", kinds[t.Kind], t.Data)
	if t.Truncated {
		s += "..."
	}
	return s
}

func tokens(p vt.Parser, pieces ...string) []string {
	var all []string
	var text string
	add := func(t *vt.Token) {
		if t.Kind == vt.Text {
			text += string(t.Data)
			return
		}
		if text != "" {
			all = append(all, fmt.Sprintf("Text %q", text))
			text = ""
		}
		all = append(all, describe(t))
	}
	for _, piece := range pieces {
		for t, b := p.Next([]byte(piece)); t != nil; t, b = p.Next(b) {
			add(t)
		}
	}
	if t := p.Flush(); t != nil {
		add(t)
	}
	if text != "" {
		all = append(all, fmt.Sprintf("Text %q", text))
	}
	return all
}

func TestParser(t *testing.T) {
	tests := []struct {
		name, in string
		parser   vt.Parser
		want     string // tokens, joined by " | "
	}{
		{name: "text", in: "a ü漢🙂~", want: `Text "a ü漢🙂~"`},
		{name: "bytes that are no UTF-8", in: "\x80\xe2\x82\xf0\x9f\xff", want: `Text "\x80\xe2\x82\xf0\x9f\xff"`},
		{name: "controls", in: "a\r\n\x00\x7f", want: `Text "a" | Control 0d | Control 0a | Control 00 | Control 7f`},
		{name: "control within a rune", in: "\xe2\x82\n\xac", want: `Text "\xe2\x82" | Control 0a | Text "\xac"`},
		{name: "CAN outside a sequence", in: "\x18", want: "Control 18"},
		{name: "ESC", in: "\x1b7\x1b(B\x1b $", want: "Escape 7 | Escape (B | Canceled"},
		{name: "ESC with three intermediates", in: "\x1b !#Ax", want: `Canceled | Text "x"`},
		{name: "CSI", in: "\x1b[m\x1b[1;31m\x1b[;5H\x1b[1;H", want: "CSI m | CSI 1;31m | CSI ;5H | CSI 1;H"},
		{name: "CSI private", in: "\x1b[?1;2004h\x1b[>c\x1b[=c\x1b[<0;1;2M", want: "CSI ?1;2004h | CSI >c | CSI =c | CSI <0;1;2M"},
		{name: "CSI intermediates", in: "\x1b[!p\x1b[2 q\x1b[?1$p\x1b[1;2 !A", want: "CSI !p | CSI 2 q | CSI ?1$p | CSI 1;2 !A"},
		{name: "CSI colons", in: "\x1b[38:2::1:2:3;4:3m", want: "CSI 38:2::1:2:3;4:3m"},
		{name: "CSI large parameter", in: "\x1b[99999999999999999999A", want: "CSI 65535A"},
		{name: "CSI many parameters", in: "\x1b[" + strings.Repeat("1;", 40) + "2m", want: "CSI 1" + strings.Repeat(";1", 31) + "m"},
		{name: "CSI malformed", in: "\x1b[1?h\x1b[ 1q\x1b[??h\x1b[ !#pz", want: `Canceled | Canceled | Canceled | Canceled | Text "z"`},
		{name: "CSI with controls", in: "\x1b[1\b;\x7f2\x07m", want: "Control 08 | Control 07 | CSI 1;2m"},
		{name: "CSI broken off", in: "\x1b[1\x1b[2\x18\x1b[3\x1a\x1b[4ü", want: `Canceled | Canceled | Canceled | Canceled | Text "ü"`},
		{name: "CSI cut by the end", in: "\x1b[1;", want: "Canceled"},
		{name: "OSC", in: "\x1b]0;ü\n\x07\x1b]8;;\x1b\\x", want: `OSC "0;ü" | OSC "8;;" | Text "x"`},
		{name: "strings", in: "\x1bP1$r\n\x1b\\\x1bXa\x1b\\\x1b^b\x1b\\\x1b_c\x1b\\", want: `DCS "1$r\n" | SOS "a" | PM "b" | APC "c"`},
		{name: "string with 0x9c in UTF-8", in: "\x1b]0;\u271c\u009c\x07", want: `OSC "0;✜\u009c"`},
		{name: "string broken off", in: "\x1b]a\x18b\x1b]c\x1b[1md\x1b]e\x1b\x1b\\", want: `Canceled | Text "b" | Canceled | CSI 1m | Text "d" | Canceled | Canceled | Escape \`},
		{name: "long string", in: "\x1b]0123456789\x07", parser: vt.Parser{MaxString: 4}, want: `OSC "0123"...`},
		{name: "string not kept", in: "\x1b]0123456789\x07\x1b]\x07", parser: vt.Parser{MaxString: -1}, want: `OSC ""... | OSC ""`},
		{name: "C1 in UTF-8", in: "\x9b1m\u009b", want: `Text "\x9b1m\u009b"`},
		{name: "C1", in: "\x9b1m\xe4\x84\x9d0;\xfc\x9cx\x90q\x9c", parser: vt.Parser{C1: true}, want: `CSI 1m | Text "\xe4" | Escape D | OSC "0;\xfc" | Text "x" | DCS "q"`},
		{name: "C1 within a sequence", in: "\x1b[1\x9b2m\x9dx\x1b\x9c\x1b]y\x9bm", parser: vt.Parser{C1: true}, want: `Canceled | CSI 2m | OSC "x" | Canceled | CSI m`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			everyCut(tt.in, func(how string, pieces ...string) {
				if got := strings.Join(tokens(tt.parser, pieces...), " | "); got != tt.want {
					t.Errorf("%s: %q is\n%s, want\n%s", how, tt.in, got, tt.want)
				}
			})
		})
	}
}

// Text must be cut between runes only, and ASCII must be reported where it is certain.
func TestParserText(t *testing.T) {
	in := "plain text of some length, ü and 漢字 \x1b[m and plain again"
	everyCut(in, func(how string, pieces ...string) {
		var p vt.Parser
		for _, piece := range pieces {
			for tok, b := p.Next([]byte(piece)); tok != nil; tok, b = p.Next(b) {
				if tok.Kind != vt.Text {
					continue
				}
				ascii := true
				for _, r := range string(tok.Data) {
					ascii = ascii && r < 0x80
					if r == '\ufffd' {
						t.Errorf("%s: text %q has a rune that is cut", how, tok.Data)
					}
				}
				if tok.ASCII && !ascii {
					t.Errorf("%s: text %q has ASCII %v", how, tok.Data, tok.ASCII)
				}
			}
		}
	})
}

// A rune that the end cuts is counted, and nothing that cannot become one.
func TestPartialRune(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "a": 0, "ä": 0, "漢": 0, "😀": 0,
		"\xc3": 1, "a\xe6\xbc": 2, "\xf0\x9f\x98": 3,
		"\xff": 0, "\x80": 0, "a\x80\x80\x80": 0, "漢\x80": 0, "\xc3a": 0, "\xed\xa0": 0,
	} {
		if got := vt.PartialRune([]byte(in)); got != want {
			t.Errorf("PartialRune(%q) = %d, want %d", in, got, want)
		}
	}
}

// The scan of eight bytes at a time must find the first control at each offset, after any
// bytes.
func TestParserFindsControls(t *testing.T) {
	for _, fill := range []byte{' ', 'a', '~', 0x80, 0xff, 0x9f, 0xa0} {
		for n := range 40 {
			for _, stop := range []byte{0, 1, '\n', 0x1f, 0x7f} {
				var p vt.Parser
				in := append([]byte(strings.Repeat(string([]byte{fill}), n)), stop)
				in = append(in, "~~~~~~~~~~~~~~~~"...)
				total := 0
				for tok, b := p.Next(in); tok != nil; tok, b = p.Next(b) {
					if tok.Kind == vt.Control {
						if tok.Final != stop || total != n {
							t.Errorf("%#x x %d then %#x: control %#x at %d", fill, n, stop, tok.Final, total)
						}
						break
					}
					total += len(tok.Data)
				}
			}
		}
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	chunk := []byte("\x1b[1;32mINFO\x1b[0m grün \x1b]0;title\x07 10%\r20%\x1b[K\r\n\x1bP1$r\x1b\\\x1b[5;1Hx\x1b[6n\n")
	var p vt.Parser
	var c vt.Cleaner
	var tracker vt.Tracker
	out := make([]byte, 0, 4096)
	f := func() {
		for t, b := p.Next(chunk); t != nil; t, b = p.Next(b) {
		}
		out = c.Append(out[:0], chunk)
		tracker.Write(chunk)
	}
	f()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%v allocations per chunk, want none", n)
	}
}
