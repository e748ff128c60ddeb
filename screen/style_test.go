package screen_test

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/screen"
)

// ECMA-48 section 8.3.117, ITU-T T.416 section 13.1.8, and xterm's "Character Attributes (SGR)".
func TestSGR(t *testing.T) {
	index := func(n int) screen.Color { return screen.Color(1<<24 | n) }
	rgb := screen.Color(2<<24 | 0x010203)
	for in, want := range map[string]screen.Style{
		"":                            {},
		"1;2;3;5;7;8;9;53":            {Attr: 0xff},
		"1;2;3;5;7;8;9;53;0":          {},
		"1;2;3;5;7;8;9;53;":           {},
		"1;3;7;22;23;27":              {},
		"5;8;9;53;25;28;29;55":        {},
		"4":                           {Underline: screen.Single},
		"4:3":                         {Underline: screen.Curly},
		"4:0":                         {},
		"4;4:0":                       {},
		"21":                          {Underline: screen.Double},
		"21;24":                       {},
		"31;42":                       {Fg: index(1), Bg: index(2)},
		"91;102":                      {Fg: index(9), Bg: index(10)},
		"31;42;39;49":                 {},
		"38;5;208":                    {Fg: index(208)},
		"38:5:208":                    {Fg: index(208)},
		"48;2;1;2;3":                  {Bg: rgb},
		"48:2:1:2:3":                  {Bg: rgb},
		"48:2::1:2:3":                 {Bg: rgb},
		"48:2:0:1:2:3:0:0":            {Bg: rgb},
		"58:2::1:2:3;4:3":             {Line: rgb, Underline: screen.Curly},
		"58;5;9":                      {Line: index(9)},
		"58;5;9;59":                   {},
		"38;5;8;1":                    {Fg: index(8), Attr: screen.Bold},
		"38;2;1;2;3;1":                {Fg: rgb, Attr: screen.Bold},
		"38;5;999;1":                  {Attr: screen.Bold},
		"38":                          {},
		"38;5":                        {Fg: index(0)},
		"1:2":                         {Attr: screen.Bold},
		"99;1":                        {Attr: screen.Bold},
		"1m\x1b[>4;2m\x1b[?7":         {Attr: screen.Bold}, // XTMODKEYS is no SGR
		"7m\x1b]8;;http://a/b\x1b\\x": {},
	} {
		s := draw("\x1b[" + in + "mX").Snapshot()
		got := s.Cell(0, 0)
		if in == "7m\x1b]8;;http://a/b\x1b\\x" {
			want, got = screen.Style{Attr: screen.Reverse, Link: "http://a/b"}, s.Cell(0, 0)
		}
		if got.Style != want {
			t.Errorf("SGR %q draws in %+v, want %+v", in, got.Style, want)
		}
	}
}

// An erasure leaves the background that is set, and nothing else (the "bce" of terminfo).
func TestEraseKeepsBackground(t *testing.T) {
	for _, in := range []string{"\x1b[2J", "\x1b[K", "\x1b[3X", "\x1b[2@", "\x1b[2P", "\x1b[L", "\x1b[M", "\x1b[T", "\x1b[9;9H\x1b[9S"} {
		s := draw("\x1b[1;31;44m" + in).Snapshot()
		row, col := 0, 0
		switch in {
		case "\x1b[2P":
			col = 9
		case "\x1b[M":
			row = 4
		}
		if got := s.Cell(row, col).Style; got != (screen.Style{Bg: 1<<24 | 4}) {
			t.Errorf("%q with a blue background leaves %+v", in, got)
		}
	}
}

func TestLinks(t *testing.T) {
	s := screen.New(20, 2)
	s.Write([]byte("a\x1b]8;id=1;https://example.org/\x07b\x1b[1mc\x1b[md\x1b]8;;\x07e"))
	want := []string{"", "https://example.org/", "https://example.org/", "https://example.org/", ""}
	snap := s.Snapshot()
	for col, link := range want {
		if got := snap.Cell(0, col).Link; got != link {
			t.Errorf("column %d has the link %q, want %q", col, got, link)
		}
	}
}

// The far side chooses links and clusters: their store must stay bounded, and free those
// that are not on the screen any more.
func TestStoresAreBounded(t *testing.T) {
	s := screen.New(80, 24)
	for i := range 50_000 {
		fmt.Fprintf(s, "\x1b]8;;http://h/%d\x07x\x1b]8;;\x07%c%c\u0301\u0302 ", i, 'a'+rune(i%26), 0x4e00+rune(i%20000))
	}
	snap := s.Snapshot()
	links, clusters := 0, 0
	for y := range snap.Rows {
		for x := range snap.Cols {
			c := snap.Cell(y, x)
			if c.Link != "" {
				links++
			}
			if c.Cluster != "" {
				clusters++
			}
		}
	}
	if links < 200 || clusters < 200 {
		t.Errorf("after 50000 links and clusters the screen has %d and %d, want those of all its rows", links, clusters)
	}
}

func TestStrings(t *testing.T) {
	long := make([]byte, 5000)
	for i := range long {
		long[i] = 'x'
	}
	s := screen.New(20, 3)
	s.Write([]byte("\x1b]0;one\x07\x1b]7;file://h/tmp\x1b\\\x1b[22;0t\x1b]2;two\u202e\u0085\x07"))
	if got := s.Snapshot(); got.Title != "two" || got.Dir != "file://h/tmp" {
		t.Errorf("title %q and folder %q, want two and file://h/tmp", got.Title, got.Dir)
	}
	s.Write([]byte("\x1b[23;0t"))
	if got := s.Snapshot().Title; got != "one" {
		t.Errorf("after XTPOPTITLE the title is %q, want one", got)
	}
	s.Write([]byte("\x1b]2;" + string(long) + "\x07\x1b]7;" + string(long) + "\x07"))
	if got := s.Snapshot(); len(got.Title) != 256 || got.Dir != "file://h/tmp" {
		t.Errorf("the title has %d bytes, the folder is %q; want 256, and the folder as before", len(got.Title), got.Dir)
	}
	s.Write([]byte("\x1b]133;A\x07$ \x1b]133;B\x07ls\r\n\x1b]133;C\x07"))
	if got := s.Snapshot(); got.Mark(0) != screen.Prompt || got.Mark(1) != screen.Output || got.Prompt != screen.Output {
		t.Errorf("the marks are %v and %v, the last is %v", got.Mark(0), got.Mark(1), got.Prompt)
	}
}

// A selected entry must be recognised by its text alone, also in programs that change no background.
func TestEntryByItsText(t *testing.T) {
	list := func(selected int, on, off string) string {
		var b strings.Builder
		for i, name := range []string{"open", "save", "print", "close", "quit", "about", "help", "more"} {
			style := off
			if i == selected {
				style = on
			}
			b.WriteString("\x1b[4C\x1b[" + style + "m" + name + "\x1b[m\r\n")
		}
		return b.String()
	}
	const alt, bar = "\x1b[?1049h\x1b[H", "\x1b[1;1H\x1b[7mA title\x1b[K\x1b[m\x1b[14;1H\x1b[7mkeys\x1b[K\x1b[m\x1b[3;1H"
	for _, tt := range []struct{ name, output, want string }{
		{"a colour, as in lynx", alt + bar + list(2, "93", "32"), "5|     print\n<- bright-yellow\n"},
		{"a line below, as in w3m", alt + list(1, "4;34", "34"), "2|     save\n<- underline blue\n"},
		{"bold", alt + bar + list(3, "1", ""), "6|     close\n<- bold\n"},
		{"all others faint", alt + list(2, "", "2"), "3|     print\n<- plain\n"},
		{"the first", alt + bar + list(0, "36", ""), "3|     open\n<- cyan\n"},
		{"the last", alt + bar + list(7, "36", ""), "10|     more\n<- cyan\n"},
		{"in a window", alt + "\x1b[44m\x1b[2J" + list(1, "44;93", "44;37"), "2|     save\n<- bright-yellow\n"},
		{"the main screen, with a hidden cursor", "\x1b[?25l" + list(1, "36", ""), "2|     save\n<- cyan\n"},
		{"the main screen, with the cursor there", list(1, "36", "") + "\x1b[2;5H", "2|     save\n<- cyan\n"},
		{"a listing on the main screen", list(1, "34", "32"), ""},
		{"two of them", alt + list(1, "36", "") + "\x1b[5;5H\x1b[35mquit\x1b[m\x1b[9;1H", ""},
		{"two of them, and the cursor", alt + list(1, "36", "") + "\x1b[5;5H\x1b[35mquit\x1b[m\x1b[5;5H", "5|     quit\n<- magenta\n"},
		{"beside a selection", alt + list(1, "36", "") + "\x1b[10;9H\x1b[7mhere\x1b[m", "10|         here\n<- reverse\n"},
		{"a word in a text", alt + "one two\r\nis \x1b[36mit\x1b[m so\r\nlonger\r\ntext x\r\nmore y", ""},
		{"a letter that is a key", alt + list(1, "", "") + "\x1b[2;5H\x1b[36ms\x1b[m", ""},
		{"a line", alt + "aaaa\r\nbbbb\r\n\x1b[36m----\x1b[m\r\ncccc\r\ndddd", ""},
	} {
		s := screen.New(30, 14)
		s.Write([]byte(tt.output))
		var got []string
		rows := strings.SplitAfter(s.Snapshot().Render(screen.Options{}), "\n")
		for i, row := range rows {
			if strings.HasPrefix(row, "<-") && !strings.Contains(rows[i-1], "title") && !strings.Contains(rows[i-1], "keys") {
				got = append(got, strings.TrimLeft(rows[i-1], " ")+row)
			}
		}
		if got := strings.Join(got, ""); got != tt.want {
			t.Errorf("%s: what stands out is %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A single column without text can be the only sign of the box of a list, or of the field, that has the focus.
func TestBlockWithoutText(t *testing.T) {
	for _, tt := range []struct{ name, output, want string }{
		{"a radio button of whiptail", "\x1b[37;44m\x1b[2J(*) one\r\n(\x1b[41m \x1b[44m) two", "2| ( ) two\n<- 2-2 on red\n"},
		{"a cursor that the program draws", "\x1b[?25lName:\x1b[2;1HMail: \x1b[7m \x1b[m", "2| Mail:\n<- 7-7 reverse\n"},
		{"the shadow of a window", "\x1b[44m\x1b[2J\x1b[1;3H\x1b[47mwin\x1b[40m \x1b[2;3H\x1b[47mdow\x1b[40m ", ""},
	} {
		s := screen.New(20, 6)
		s.Write([]byte(tt.output))
		text := s.Snapshot().Render(screen.Options{First: 2, Last: 2})
		_, text, _ = strings.Cut(text, "\n")
		if tt.want != "" && text != tt.want || tt.want == "" && strings.Contains(text, "6-6") {
			t.Errorf("%s is shown as %q, want %q", tt.name, text, tt.want)
		}
	}
}
