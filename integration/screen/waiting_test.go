package screen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// The questions of real programs, by their screens: the keys that lead there, and those that leave.
var asking = []struct {
	name, command string
	keys          []string
	begins        string // text on the screen before the keys
	shows         string // when it is there
	kind, text    string // text is its end: a title may have a version
	leave         []string
}{
	{
		"whiptail, yes or no", "whiptail --title Confirm --yesno 'Really delete?' 8 40", []string{"tab"}, `<No>`, `<No>`,
		prompt.Editor, "Confirm | Really delete? | highlighted: <No>", []string{"enter"},
	},
	{
		"whiptail, a list", "whiptail --title Parts --menu Choose 12 40 3 a one b two c three", []string{"arrow_down"}, `<Cancel>`, `three`,
		prompt.Editor, "Parts | Choose | highlighted: b two", []string{"esc"},
	},
	{
		"whiptail, a name", "whiptail --title Who --inputbox 'Your name' 10 40 root", nil, "", `root`,
		prompt.Editor, "Who | Your name | root", []string{"esc"},
	},
	{
		"whiptail, a password", "whiptail --title Who --passwordbox 'Your password' 10 40", nil, "", `Your password`,
		prompt.Password, "Who | Your password", []string{"esc"},
	},
	{
		"vim, unsaved", "vim -u NONE -n -c 'normal ohello' -c 'confirm q' file", nil, "", `\(N\)o, \(C\)ancel`,
		prompt.YesNo, "[Y]es, (N)o, (C)ancel: ", []string{"n"},
	},
	{
		"vim, inserting", "vim -u NONE -n -c 'set showmode' -c startinsert file", nil, "", `INSERT`,
		prompt.Editor, "a line | highlighted: -- INSERT --", []string{"esc", ":", "q", "enter"},
	},
	{
		"nano, unsaved", "nano -I file", []string{"x", "ctrl_x"}, `\^X Exit`, `Save modified`,
		prompt.YesNo, "file Modified | Save modified buffer?", []string{"n"},
	},
	{
		"less, the end", "less +G file", nil, "", `END`, prompt.Editor, "file (END)", []string{"q"},
	},
}

// Each caller learns from the result alone which question a program asks; exec says the same when it refuses.
func TestWaitingForPrograms(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the user of the lab reads it
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("a line\n"), 0o644); err != nil { //nolint:gosec // others read it
		t.Fatal(err)
	}
	for _, shell := range shells[:2] {
		t.Run(shell.name, func(t *testing.T) {
			s := shell.open(t)
			enter(t, s, "export TERM=xterm-256color LC_ALL=C.UTF-8; stty rows 24 cols 80; cd "+dir)
			for n, tt := range asking {
				enter(t, s, fmt.Sprintf("%s; clear; echo left %d", tt.command, n))
				if len(tt.keys) == 0 {
					shown(t, s, tt.shows)
				}
				for i, key := range tt.keys {
					if i == 0 { // keys typed before the program reads go to the terminal
						shown(t, s, tt.begins)
					}
					rest(t, s)
					typeKey(t, s, key)
					if i == len(tt.keys)-1 {
						shown(t, s, tt.shows)
					}
				}
				rest(t, s)
				w := s.Waiting()
				if w == nil || w.Kind != tt.kind || !strings.HasSuffix(w.Text, tt.text) {
					t.Errorf("%s waits for %+v, want %s %q:\n%s", tt.name, w, tt.kind, tt.text, s.Screen(t.Context(), 0).Text())
				}
				_, err := s.Exec(t.Context(), session.ExecRequest{Command: "true", Lane: session.LaneTerminal, Timeout: lab.Patience})
				if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(tt.text)) {
					t.Errorf("exec at %s: %v, want a refusal that says %q", tt.name, err, tt.text)
				}
				for _, key := range tt.leave {
					typeKey(t, s, key)
				}
				shown(t, s, fmt.Sprintf(`(?m)^left %d$`, n))
				rest(t, s)
			}
		})
	}
}

// rest waits until the screen rests.
func rest(t *testing.T, s *session.Session) {
	t.Helper()
	s.Read(t.Context(), session.ReadRequest{
		Screen: session.ScreenWait{Stable: 300 * time.Millisecond}, Tail: true, MaxBytes: 1, Timeout: lab.Patience,
	})
}

// typeKey presses a key, or types a character.
func typeKey(t *testing.T, s *session.Session, key string) {
	t.Helper()
	if len(key) > 1 {
		press(t, s, key)
		return
	}
	if _, err := s.Write(t.Context(), []byte(key), session.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// dialog has no screen of its own: it is reported when it rests.
func TestWaitingForDialog(t *testing.T) {
	s := shells[0].open(t)
	enter(t, s, "export TERM=xterm-256color LC_ALL=C.UTF-8; dialog --title Confirm --yesno 'Really delete?' 8 40")
	shown(t, s, `Really`)
	rest(t, s)
	press(t, s, "tab")
	s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: 5500 * time.Millisecond, Timeout: lab.Patience})
	want := term.Waiting{Kind: prompt.Editor, Text: "Confirm | Really delete? | < Yes > < No > | highlighted: < No >"}
	if w := s.Waiting(); w == nil || *w != want {
		t.Errorf("dialog waits for %+v, want %+v:\n%s", w, want, s.Screen(t.Context(), 0).Text())
	}
	press(t, s, "enter")
}
