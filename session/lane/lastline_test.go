package lane_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// Text drawn in another order than it is read: the line at the cursor counts, and not the last one that was written.
var redrawn = []struct{ name, shown, line string }{
	{"written on", "one\r\ntwo", "two"},
	{"a clock at the top, beside the prompt", "\x1b7\x1b[1;30Hclock\x1b8" + userPrompt, userPrompt},
	{"a clock at the top", "one\r\n\x1b7\x1b[1;30Hclock\x1b8" + userPrompt, userPrompt},
	{"a right prompt", userPrompt + "\x1b[60C<main\x1b[65D", userPrompt},
	{"a status line below a question", "Delete? (y/n) \x1b7\x1b[24;1HI am the status line\x1b8", "Delete? (y/n) "},
	{"a status line written first", "Delete? (y/n) \r\n\x1b[7m 3 jobs \x1b[m\x1b[A\r\x1b[14C", "Delete? (y/n) "},
	{"a form", "\x1b[2J\x1b[HSetup\x1b[5;4HUser name: \x1b[8;4HPassword: \x1b[20;1HF1 Help\x1b[5;15H", "   User name: "},
	{"a list below a half-typed line", userPrompt + "ls /u\r\n\x1b[Jusr  \r\n\x1b[2A\x1b[16C", userPrompt + "ls /u"},
	{
		"a wrapped line that is edited", userPrompt + strings.Repeat("a", 80) + "\r\n\x1b[2A\x1b[11C",
		userPrompt + strings.Repeat("a", 80),
	},
	{"the cursor in an empty row", "\x1b[2J\x1b[HSetup\x1b[10;1H", ""},
}

func TestLastLine(t *testing.T) {
	for _, tt := range redrawn {
		inShell(t, tt.shown, session.Options{PTY: term.PTY{Cols: 80, Rows: 24}}, func(t *testing.T, s *session.Session, _ *fakeShell) {
			synctest.Wait()
			if got := s.LastLine(); got != tt.line {
				t.Errorf("%s: the last line is %q, want %q", tt.name, got, tt.line)
			}
		})
	}
}

// dialog draws a box with a focused button on the main screen, as the program dialog does.
const dialog = "\x1b[2J\x1b[2;5H┌──┤ Confirm ├──┐\x1b[3;5H│ Really?       │\x1b[4;5H│ <Yes>  <No>   │\x1b[5;5H└───────────────┘" +
	"\x1b[4;14H\x1b[7m<No>\x1b[m\x1b[4;15H"

// A dialog is reported when it rests, and a command does not get typed into it.
func TestDialog(t *testing.T) {
	want := term.Waiting{Kind: prompt.Editor, Text: "Confirm | Really? | <Yes> <No> | highlighted: <No>"}
	inShell(t, dialog, session.Options{PTY: term.PTY{Cols: 80, Rows: 24}}, func(t *testing.T, s *session.Session, _ *fakeShell) {
		synctest.Wait()
		if w := s.Waiting(); w != nil {
			t.Errorf("a dialog that was drawn just now waits for %+v, want nothing yet", w)
		}
		_, err := s.Exec(t.Context(), posix("say hi"))
		busy := wantKind(t, err, term.Busy)
		if w := term.FactOf[term.Occupied](busy).Waiting; w == nil || *w != want || !strings.Contains(busy.Msg, "Really?") {
			t.Errorf("Exec at a dialog: %q, waiting for %+v, want %+v in both", busy.Msg, w, want)
		}
		time.Sleep(5 * time.Second)
		if w := s.Waiting(); w == nil || *w != want {
			t.Errorf("a dialog that rests waits for %+v, want %+v", w, want)
		}
	})
}

// A command that draws a dialog ends the call when it rests.
func TestDialogOfACommand(t *testing.T) {
	inShell(t, userPrompt, session.Options{PTY: term.PTY{Cols: 80, Rows: 24}}, func(t *testing.T, s *session.Session, _ *fakeShell) {
		r := posix("ask " + dialog)
		r.Timeout = time.Minute
		got := run(t, s, r)
		if w := got.WaitingFor; w == nil || w.Kind != prompt.Editor || !strings.HasSuffix(w.Text, "highlighted: <No>") ||
			!about(got.Duration, 5*time.Second) {
			t.Errorf("after %v the command waits for %+v, want the dialog after five seconds", got.Duration, w)
		}
	})
}

// BenchmarkLastLine measures a look at the last line. Plain output needs no screen.
func BenchmarkLastLine(b *testing.B) {
	for _, kind := range []struct{ name, shown string }{
		{"plain", strings.Repeat("a line of some length, as they are\r\n", 200) + userPrompt},
		{"redrawn", strings.Repeat("a line of some length, as they are\r\n", 200) + "\x1b7\x1b[1;30Hclock\x1b8" + userPrompt},
		{"alternate", "\x1b[?1049h\x1b[H" + strings.Repeat("a line of some length, as they are\r\n", 200) + dialog},
	} {
		b.Run(kind.name, func(b *testing.B) {
			near, far := widePipe()
			s := session.New(&plain{ReadWriteCloser: near}, session.Options{PTY: term.PTY{Cols: 80, Rows: 24}})
			defer s.Close(b.Context(), session.CloseOptions{Force: true})
			_, _ = far.Write([]byte(kind.shown))
			s.Read(b.Context(), session.ReadRequest{Cursor: session.Latest, Idle: 50 * time.Millisecond, Timeout: time.Second})
			for b.Loop() {
				_ = s.LastLine()
			}
		})
	}
}
