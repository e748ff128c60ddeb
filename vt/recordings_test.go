package vt_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/vt"
)

var update = flag.Bool("update", false, "rewrite the clean text of the recordings")

// The recordings are the output of real programs; see testdata/README.md.
var recordings = []struct {
	name, last string
	cols       int
	modes      vt.Modes
}{
	{name: "bash", cols: 80, last: "me@host:~# ls", modes: vt.Modes{BracketedPaste: true}},
	{name: "bash-wrap", cols: 40, last: "me@host:~# # echo " + strings.Repeat("0123456789", 9) + " end", modes: vt.Modes{BracketedPaste: true}},
	{name: "dash", cols: 80, last: "$ "},
	{name: "less", cols: 80, last: "me@host:~# ", modes: vt.Modes{BracketedPaste: true}},
	{name: "progress", cols: 80, last: "me@host:~# ", modes: vt.Modes{BracketedPaste: true}},
	{name: "python", cols: 80, last: "... "},
	{name: "python313", cols: 80, last: ">>> 'a'*3", modes: vt.Modes{BracketedPaste: true, AppCursor: true, AppKeypad: true}},
	{name: "top", cols: 80, last: "me@host:~# ", modes: vt.Modes{BracketedPaste: true}},
	{name: "vim", cols: 80, last: "me@host:~# ", modes: vt.Modes{BracketedPaste: true}},
}

func recording(tb testing.TB, name string) []byte {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".raw"))
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func TestRecordings(t *testing.T) {
	for _, r := range recordings {
		t.Run(r.name, func(t *testing.T) {
			raw := recording(t, r.name)
			golden := filepath.Join("testdata", r.name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(clean(r.cols, string(raw)).text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			count := clean(r.cols, string(raw)).count
			everyCut(string(raw), func(how string, pieces ...string) {
				c := vt.Cleaner{Cols: r.cols}
				var text []byte
				var tracker vt.Tracker
				for _, p := range pieces {
					text = c.Append(text, []byte(p))
					tracker.Write([]byte(p))
				}
				if last, _ := c.Line(); last != r.last {
					t.Errorf("%s: the last line shows as %q, want %q", how, last, r.last)
				}
				if text = c.Flush(text); string(text) != string(want) {
					t.Errorf("%s: the text is\n%s\nwant\n%s", how, text, want)
				}
				if c.Sanitized() != count {
					t.Errorf("%s: counts %+v, want %+v", how, c.Sanitized(), count)
				}
				if tracker.Modes() != r.modes {
					t.Errorf("%s: modes %+v, want %+v", how, tracker.Modes(), r.modes)
				}
			})
		})
	}
}

// While a full-screen program runs, the modes must show it; afterwards they must be as
// before.
func TestRecordingsAlternateScreen(t *testing.T) {
	for _, name := range []string{"vim", "less"} {
		var tracker vt.Tracker
		var seen vt.Modes
		for _, b := range recording(t, name) {
			tracker.Write([]byte{b})
			m := tracker.Modes()
			seen.AltScreen = seen.AltScreen || m.AltScreen
			seen.AppCursor = seen.AppCursor || m.AppCursor
			seen.AppKeypad = seen.AppKeypad || m.AppKeypad
		}
		if want := (vt.Modes{AltScreen: true, AppCursor: true, AppKeypad: true}); seen != want {
			t.Errorf("%s switched on %+v, want %+v", name, seen, want)
		}
	}
}
