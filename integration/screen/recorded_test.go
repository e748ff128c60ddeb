package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
	"ptyctl/ptyx"
	"ptyctl/record"
	"ptyctl/screen"
	"ptyctl/screen/screentest"
	"ptyctl/session"
	"ptyctl/term"
)

// played are programs; the test compares their recordings with their terminals. task test runs the first of them, and
// task test:long all.
var played = []struct {
	name, command string
	keys          []string
}{
	{"vim", "vim -u NONE -n file", []string{"G", "o", "wörld 世界", "esc", ":vsplit\r", "/line 12\r"}},
	{"less", "less -N file", []string{"page_down", "/line 60\r", "G", "g"}},
	{"dialog", "dialog --checklist choose 12 40 4 a one on b two off c three on", []string{"arrow_down", "b", "tab"}},
	{"whiptail", "whiptail --title Parts --menu Choose 12 40 3 a one b two c three", []string{"arrow_down", "tab"}},
	{"nano", "nano -I file", []string{"ctrl_w", "line 40\r", "x", "ctrl_g"}},
	{"mc", "mc -u -a", []string{"arrow_down", "f9", "arrow_down", "esc", "tab"}},
	{"top", "top -d 99 -p 1", []string{"h", "q"}},
	{"htop", "htop -d 1000 -p 1", []string{"f1", "esc", "f6"}},
	{"watch", "watch -t -n 99 ls -l", []string{"x", "y"}},
	{"man", "man ls", []string{" ", "/SORT\r", "G"}},
	{"tmux", "tmux -L ptyctl-$$ -f /dev/null new-session 'stty -echo; exec cat file -' \\; set -g destroy-unattached on", []string{"ctrl_b", "%", "ctrl_b", "o", "ctrl_b", "["}},
	{"fzf", "fzf --no-mouse < file", []string{"4", "2", "arrow_up"}},
	{"joe", "joe file", []string{"ctrl_k", "h", "arrow_down", "y"}},
	{"ncdu", "ncdu -x .", []string{"arrow_down", "i"}},
	{"tig", "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && tig", []string{"enter", "h"}},
	{"w3m", "w3m -T text/html page.html", []string{"tab", "arrow_down", "H"}},
	{"gdb", "gdb -q -tui -nx true", []string{"help\r", "q", "info line\r"}},
	{"python", "python3 -q", []string{"1 + 1\r", "'x' * 100\r", "arrow_up", "[\r"}},
	{"bash", "bash --norc", []string{"echo a long line that wraps at the edge of the terminal, and goes on in the next row of it\r", "arrow_up", "ctrl_r", "echo"}},
	{"zsh", "zsh -f", []string{"setopt prompt_sp\r", "print -P '%F{red}red'\r", "arrow_up"}},
	{"fish", "fish --no-config", []string{"echo one two\r", "arrow_up", "ctrl_a"}},
	{"busybox vi", "busybox vi file", []string{"G", "ohello", "esc", ":set list\r"}},
	{"progress", `i=0; while [ $i -lt 50 ]; do printf '\r%d%%\033[K' $i; i=$((i+1)); done; printf '\033[5;10r\033[10H'; seq 30; cat`, []string{"x\r", "\x1b]0;title\a\r"}},
}

// keyName matches the keys that are pressed by their names.
var keyName = regexp.MustCompile(`^(esc|tab|enter|f[0-9]+|ctrl_.|arrow_\w+|page_\w+)$`)

// TestRecordedPrograms: at each marker before a key, the recording of a live session shows the same screen as the
// session did.
func TestRecordedPrograms(t *testing.T) {
	few := 3
	if os.Getenv("PTYCTL_LONG") != "" {
		few = len(played)
	}
	files := t.TempDir()
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "line %d of a file, 世界 \u00e4\n", i)
	}
	for name, text := range map[string]string{"file": text.String(), "page.html": "<h1>Title</h1><p><a href=x>link</a> <input name=a>"} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(t.TempDir(), "recordings")
	dir, err := record.NewDir(record.DirOptions{Path: folder})
	if err != nil {
		t.Fatal(err)
	}
	m := session.NewManager(session.Config{
		Dialers: map[string]term.Dialer{"local": ptyx.Host{}.Open}, Observers: []term.Observer{dir}, Logger: leaktest.Log(t),
	})
	t.Cleanup(func() {
		m.Close(context.Background())
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, p := range played[:few] {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			r, err := m.Open(t.Context(), session.OpenRequest{Target: term.Target{
				Protocol: "local", PTY: size, Local: term.LocalOptions{
					Argv: []string{"sh", "-c", p.command}, Dir: files,
					Env: []term.EnvVar{{Name: "PS1", Value: "$ "}, {Name: "LC_ALL", Value: "C.UTF-8"}, {Name: "HOME", Value: files}},
				},
			}})
			if err != nil {
				t.Fatal(err)
			}
			live := pressAll(t, r.Session, p.keys)
			r.Session.Close(t.Context(), session.CloseOptions{Force: true})
			path, err := record.Find(folder, r.Session.ID())
			if err != nil {
				t.Fatal(err)
			}
			lab.Eventually(t, "the end of the recording", func() bool {
				rep, err := record.Verify(path, nil)
				return err == nil && rep.Ended
			})
			comparePlayed(t, path, live)
		})
	}
}

// pressAll presses keys, and returns the screen before each of them. The marker of a key comes when the key is written,
// and the program may have answered then; so there is one of a lock before each, which nothing answers.
func pressAll(t *testing.T, s *session.Session, keys []string) (live []string) {
	t.Helper()
	ctx := term.WithActor(t.Context(), term.Actor{Transport: "stdio", Task: "t1"})
	for _, key := range keys {
		rest(t, s)
		live = append(live, screentest.Looks(s.Screen(ctx, 0).Snapshot))
		if _, err := s.Lock(ctx, time.Hour); err != nil {
			t.Fatal(err)
		}
		text, o := []byte(key), session.WriteOptions{}
		if keyName.MatchString(key) {
			text, o.Key = nil, key
		}
		if _, err := s.Write(ctx, text, o); err != nil {
			t.Fatalf("key %q: %v", key, err)
		}
	}
	rest(t, s)
	if s.State().Ended() {
		t.Errorf("the program has ended before the last key:\n%s", s.Screen(ctx, 0).Text())
	}
	return live
}

// comparePlayed plays a recording, and compares the screen before each key.
func comparePlayed(t *testing.T, path string, want []string) {
	t.Helper()
	p, err := record.Play(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	keys := 0
	for {
		e, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Code != 'm' || !strings.HasPrefix(e.Text, "lock ") {
			continue
		}
		if keys++; keys > len(want) {
			continue
		}
		if got := screentest.Looks(p.Terminal.Snapshot()); got != want[keys-1] {
			t.Errorf("before key %d the recording shows\n%s\nwant\n%s", keys, got, want[keys-1])
			return
		}
		if got := screentest.Looks(p.Shown.Snapshot()); got != want[keys-1] {
			t.Errorf("before key %d a player shows\n%s\nwant\n%s", keys, got, want[keys-1])
			return
		}
	}
	if keys != len(want) {
		t.Errorf("%d markers of keys in the recording, want %d", keys, len(want))
	}
	if blank := screentest.Looks(screen.New(size.Cols, size.Rows).Snapshot()); len(want) < 2 || want[len(want)-1] == blank {
		t.Error("the program has drawn nothing")
	}
}
