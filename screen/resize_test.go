package screen_test

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/screen"
)

func TestResize(t *testing.T) {
	for _, tt := range []struct {
		name, in   string
		cols, rows int
		want       string
		row, col   int
	}{
		{"a wrapped line grows", "0123456789abc\r\n$ ", 20, 5, "0123456789abc|$", 1, 2},
		{"a line is wrapped", "0123456789\r\n$ ", 4, 5, "0123|4567|89|$", 3, 2},
		{"the prompt stays as it is", "abc\r\n$ 0123456", 4, 5, "abc|$ 01", 1, 3},
		{"a wrapped prompt stays as it is", "abcdefgh\r\n$ 0123456789", 6, 5, "abcdef|gh|$ 0123|89", 3, 2},
		{"a marked prompt of two rows", "0123456789ab\r\n\x1b]133;A\x07~/src\r\n$ \x1b]133;B\x07ls", 20, 5, "0123456789ab|~/src|$ ls", 2, 4},
		{"a wide character is not cut", "012漢字\r\n$ ", 4, 5, "012|漢字|$", 2, 2},
		{"and comes back", "012345678漢x\r\n$ ", 20, 5, "012345678漢x|$", 1, 2},
		{"fewer rows, blank ones first", "1\r\n2", 10, 3, "1|2", 1, 1},
		{"fewer rows, then those at the top", "1\r\n2\r\n3\r\n4\r\n5", 10, 3, "3|4|5", 2, 1},
		{"more rows, of the scrollback", "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7", 10, 6, "2|3|4|5|6|7", 5, 1},
		{"more rows, but the screen was not full", "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\x1b[H\x1b[J$ ", 10, 7, "$", 0, 2},
		{"text below the cursor", "1\r\n2\r\n3\x1b[H", 10, 2, "1|2", 0, 0},
		{"the alternate screen is cut", "0123456789\r\n\x1b[?1049h\x1b[2;1Habcdefghij", 4, 5, "|abcd", 1, 3},
		{"its cursor stays visible", "\x1b[?1049h\x1b[5;1Hx", 10, 2, "|x", 1, 1},
	} {
		s := draw(tt.in)
		s.Resize(tt.cols, tt.rows)
		snap := s.Snapshot()
		if text(snap) != tt.want || snap.Cursor.Row != tt.row || snap.Cursor.Col != tt.col || snap.Cols != tt.cols || snap.Rows != tt.rows {
			t.Errorf("%s: %q at %dx%d is %q, cursor %d,%d, size %dx%d; want %q, %d,%d", tt.name, tt.in, tt.cols, tt.rows,
				text(snap), snap.Cursor.Row, snap.Cursor.Col, snap.Cols, snap.Rows, tt.want, tt.row, tt.col)
		}
	}
}

// Lines that were wrapped by a narrow screen are whole again on a wide one, also those that
// have left it.
func TestResizeThereAndBack(t *testing.T) {
	s := screen.New(80, 10)
	for i := range 40 {
		fmt.Fprintf(s, "\x1b[3%dmline %d %s漢字\x1b[m\r\n", i%8, i, strings.Repeat("x", i))
	}
	s.Write([]byte("$ "))
	want := all(s)
	for _, size := range [][2]int{{30, 10}, {7, 3}, {100, 50}, {80, 10}} {
		s.Resize(size[0], size[1])
	}
	if got := all(s); got != want {
		t.Errorf("after four changes of the size the text is\n%s\nwant\n%s", got, want)
	}
}

// all returns the scrollback and the screen.
func all(s *screen.Screen) string {
	return strings.TrimRight(s.Scrollback().Text()+s.Snapshot().Text(), "\n")
}

// A resize also lays out the main screen under the alternate one.
func TestResizeUnderAlternateScreen(t *testing.T) {
	s := draw("0123456789abc\r\n$ vi\x1b[?1049hxyz")
	s.Resize(20, 4)
	s.Write([]byte("\x1b[?1049l"))
	if got := s.Snapshot(); text(got) != "0123456789abc|$ vi" || got.Cursor.Row != 1 || got.Cursor.Col != 4 {
		t.Errorf("back on the main screen there is %q, cursor %d,%d", text(got), got.Cursor.Row, got.Cursor.Col)
	}
}

func TestTabsStayAtResize(t *testing.T) {
	s := draw("\x1b[3g\x1b[4G\x1bH\r")
	s.Resize(10, 3)
	s.Resize(30, 3)
	s.Write([]byte("\ta\tb\tc"))
	if got := text(s.Snapshot()); got != "   a            b       c" {
		t.Errorf("a tab stop at column 4, then those of the new columns, draw %q", got)
	}
}

func TestSizeIsLimited(t *testing.T) {
	for _, size := range [][4]int{{0, -5, 1, 1}, {100000, 100000, screen.MaxCols, screen.MaxRows}} {
		s := screen.New(size[0], size[1])
		if cols, rows := s.Size(); cols != size[2] || rows != size[3] {
			t.Errorf("New(%d, %d) is %dx%d, want %dx%d", size[0], size[1], cols, rows, size[2], size[3])
		}
	}
}

func TestScrollback(t *testing.T) {
	s := screen.New(20, 3)
	for i := range 500 {
		fmt.Fprintf(s, "\x1b[1m%d\x1b[m e\u0301漢\r\n", i)
	}
	l := s.Scrollback()
	if l.Rows != 200 || l.Row(0) != "298 e\u0301漢" || l.Row(199) != "497 e\u0301漢" {
		t.Errorf("the scrollback has %d rows, from %q to %q; want 200, from 298 to 497", l.Rows, l.Row(0), l.Row(l.Rows-1))
	}
	if c := l.Cell(0, 0); c.Attr != screen.Bold || l.Cell(0, 5).Width != 2 {
		t.Errorf("the scrollback has lost its styles: %+v", c)
	}
	s.Write([]byte("\x1b[3J"))
	if n := s.Scrollback().Rows; n != 0 {
		t.Errorf("after ED 3 the scrollback has %d rows", n)
	}
	s = screen.New(20, 3)
	s.Write([]byte("\x1b[?1049h\n\n\n\n\n\x1b[?1049l\x1b[2;3r\x1b[3H\n\n\n\n"))
	if n := s.Scrollback().Rows; n != 0 {
		t.Errorf("the alternate screen and a region below the top have left %d rows in the scrollback", n)
	}
	s.Write([]byte("\x1b[r\x1b[3H"))
	for i := range 300 { // long rows, each in a colour of its own
		for x := range 300 {
			fmt.Fprintf(s, "\x1b[38;5;%dm%c", x%256, 'a'+rune((i+x)%26))
		}
	}
	if n := s.Scrollback().Rows; n == 0 || n > 200 {
		t.Errorf("of rows of many colours %d are kept", n)
	}
}
