package shells

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// TestTypedAtCustomPrompts types by hand at prompts of plain ASCII that no form tells from another program's, and then
// runs commands: the terminal began with that prompt, or a marker has come behind it.
func TestTypedAtCustomPrompts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, ps1 string
		always    bool
	}{
		{"host and sign", `web1> `, true},
		{"brackets", `[web1] \w \$ `, true},
		{"time", `[\t] root@h:\w# `, false},
		{"colon", `myhost: `, true},
		{"host and hash", `web1# `, false},
		{"words", `ready for input: `, false},
		{"no sign", `myhost `, false},
	} {
		if !tt.always && !allPrompts {
			continue
		}
		for name, before := range map[string]string{"fresh": "", "marked": "echo one"} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				t.Parallel()
				s := promptRow{argv: bashWith, file: ".rc", config: `PS1='` + tt.ps1 + `'`}.open(t, true)
				exec := func(command, want string) {
					t.Helper()
					r, err := s.Exec(t.Context(), session.ExecRequest{Command: command, Lane: session.LaneTerminal, Timeout: patient})
					if err != nil {
						t.Fatalf("%q at %q: %v", command, s.LastLine(), err)
					}
					if got := string(r.Stdout.Bytes()); got != want || r.Exit.Code != 0 {
						t.Errorf("%q: %q, %+v", command, got, r.Exit)
					}
				}
				if before != "" {
					exec(before, "one\n")
				}
				for range 2 {
					lab.TypeUntil(t, s, "cd /usr\r", `\n`)
					settle(t, s)
					exec("pwd", "/usr\n")
				}
			})
		}
	}
}

// TestContinuationLines leaves shells in the middle of a command. A refusal says so, and names the key that gives the
// command up; then commands run.
func TestContinuationLines(t *testing.T) {
	t.Parallel()
	zsh := promptRow{argv: []string{"zsh", "-f"}}
	bash := func(config string) promptRow { return promptRow{argv: bashWith, file: ".rc", config: config} }
	fish := promptRow{argv: []string{"fish"}, file: ".config/fish/config.fish", config: "set fish_greeting"}
	for _, tt := range []struct {
		name   string
		row    promptRow
		typed  string
		kind   string
		always bool
	}{
		{"dquote", zsh, "echo \"a\r", prompt.Continuation, true},
		{"quote", zsh, "echo 'a\r", prompt.Continuation, false},
		{"cmdsubst", zsh, "echo $(date\r", prompt.Continuation, false},
		{"heredoc", zsh, "cat <<E\r", prompt.Continuation, false},
		{"loop", zsh, "for i in 1 2\r", prompt.Continuation, false},
		{"bash, open quote", bash("PS1='$ '"), "echo 'a\r", prompt.Continuation, false},
		{"bash, here-document", bash("PS1='$ '"), "cat <<E\r", prompt.REPL, false},
		{"bash, PS2 is PS1", bash("PS1='me@far:~$ ' PS2='me@far:~$ '"), "echo 'a\r", prompt.Continuation, true},
		{"bash, PS2 is PS1, a loop", bash("PS1='$ ' PS2='$ '"), "for i in 1 2\r", prompt.Continuation, false},
		{"fish", fish, "echo 'a\r", prompt.Continuation, false},
	} {
		if !tt.always && !allPrompts {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tt.row.open(t, true)
			lab.TypeUntil(t, s, tt.typed, `\n`)
			settle(t, s)
			e := lab.WantTerminalRefusal(t, s, session.ExecRequest{Command: "echo no", Timeout: patient}, term.Busy)
			w := term.FactOf[term.Occupied](e).Waiting
			if w == nil || w.Kind != tt.kind || !strings.Contains(e.Message(), "ctrl_c") {
				t.Errorf("at %q: %q, waiting for %+v, want %s and ctrl_c", s.LastLine(), e.Message(), w, tt.kind)
			}
			if w := s.Waiting(); w == nil || w.Kind != tt.kind {
				t.Errorf("at %q a read waits for %+v, want %s", s.LastLine(), w, tt.kind)
			}
			if _, err := s.Write(t.Context(), nil, session.WriteOptions{Key: "ctrl_c"}); err != nil {
				t.Fatal(err)
			}
			settle(t, s)
			lab.WantTerminalExec(t, s, "echo back", "back\n", 0)
		})
	}
}

// TestKilledEditor kills vim in the middle of its work: its screen stays on, and the shell is back.
func TestKilledEditor(t *testing.T) {
	t.Parallel()
	for name, far := range map[string]bool{"far": true, "here": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := promptRow{argv: bashWith, file: ".rc", config: `PS1='me@far:\w\$ '`}.open(t, far)
			lab.TypeUntil(t, s, "vim -Nu NONE -c 'call timer_start(1500, {-> system(\"kill -9 $PPID\")})'\r", `\x1b\[\?1049h`)
			lab.ReadUntil(t, s, s.End(), `Killed`)
			settle(t, s)
			if w := s.Waiting(); w == nil || w.Kind != prompt.Command {
				t.Errorf("after %q a read waits for %+v, want the prompt", s.LastLine(), w)
			}
			if far {
				e := lab.WantTerminalRefusal(t, s, session.ExecRequest{Command: "echo no", Timeout: patient}, term.Busy)
				w := term.FactOf[term.Occupied](e).Waiting
				if w == nil || w.Kind != prompt.Command || !strings.Contains(e.Message(), "reset") {
					t.Errorf("%q, waiting for %+v, want the prompt and the advice to reset", e.Message(), w)
				}
				lab.TypeUntil(t, s, "reset\r", `\x1bc`)
				settle(t, s)
			}
			lab.WantTerminalExec(t, s, "echo back", "back\n", 0)
		})
	}
}
