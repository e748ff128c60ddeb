package vt_test

import (
	"fmt"

	"ptyctl/vt"
)

func ExampleCleaner() {
	c := vt.Cleaner{Cols: 80}
	var text []byte
	for _, chunk := range []string{"\x1b[1;3", "2mok\x1b[0m\r\nfetch 10%\rfetch", " 100%\r\n\x1b]0;title\x07done"} {
		text = c.Append(text, []byte(chunk))
	}
	text = c.Flush(text)
	fmt.Println(string(text))
	fmt.Printf("%+v\n", c.Sanitized())
	// Output:
	// ok
	// fetch 100%
	// done
	// {CSI:2 OSC:1 DCS:0 Other:0 Controls:0 Bidi:0 ZeroWidth:0 BadUTF8:0 Hidden:0 Rewritten:1 Escapes:0}
}

func ExampleCleanFrom() {
	stream := []byte("building\x1b[31mfailed\x1b[m: no rule\r\n")
	cursor := 10 // within the first sequence
	text, _ := vt.CleanFrom(stream[:cursor], stream[cursor:])
	fmt.Printf("%q\n", text)
	// Output:
	// "failed: no rule\n"
}

func ExampleLastLine() {
	fmt.Printf("%q\n", vt.LastLine([]byte("\x1b[?2004h\x1b[32mme@host\x1b[m:~$ ls\b\bpwd\b \b\b \b\b \b")))
	// Output:
	// "me@host:~$ "
}

func ExampleTracker() {
	var t vt.Tracker
	fmt.Fprint(&t, "\x1b[?1049h\x1b[?1h\x1b[6n")
	fmt.Println(t.Modes().AltScreen, t.Modes().AppCursor, t.Queries().CursorPosition)
	// Output:
	// true true 1
}

func ExampleParser() {
	var p vt.Parser
	for t, rest := p.Next([]byte("\x1b[4;38:5:9mred")); t != nil; t, rest = p.Next(rest) {
		switch t.Kind {
		case vt.Text:
			fmt.Printf("text %q\n", t.Data)
		case vt.CSI:
			fmt.Printf("CSI %c, first parameter %d of %d\n", t.Final, t.Param(0, 0), t.Len())
		}
	}
	// Output:
	// CSI m, first parameter 4 of 4
	// text "red"
}
