package shells

import (
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/session"
)

// TestTypedAhead types a line before a shell has shown its first prompt. The line runs once, and commands run after it.
func TestTypedAhead(t *testing.T) {
	t.Parallel()
	for i, p := range []promptRow{
		{argv: bashWith, file: ".rc", config: `PS1='me@far:\w\$ '`},
		{argv: []string{"dash"}},
		{argv: []string{"zsh"}, file: ".zshrc", config: `PROMPT='me@far %~ %% '`},
		{argv: []string{"fish"}, file: ".config/fish/config.fish", config: "set fish_greeting"},
		{argv: []string{"mksh"}},
		{argv: []string{"ksh93"}},
		{argv: []string{"busybox", "ash"}},
		{argv: []string{"tcsh"}, file: ".tcshrc", config: `set prompt='me@far:%~%# '`},
	} {
		if i > 1 && !allPrompts {
			continue
		}
		for _, far := range []bool{true, false} {
			t.Run(p.argv[0]+map[bool]string{true: ", far", false: ", here"}[far], func(t *testing.T) {
				t.Parallel()
				s := p.start(t, far, 100)
				w, err := s.Write(t.Context(), []byte("printf 'ahead%s\\n' ''; cd /usr\r"), session.WriteOptions{})
				if err != nil {
					t.Fatal(err)
				}
				lab.ReadUntil(t, s, w.Cursor, `[^']ahead\r\n`)
				lab.WantTerminalExec(t, s, "pwd", "/usr\n", 0)
				settle(t, s)
				if w := s.Waiting(); w != nil {
					t.Errorf("at %q a read waits for %+v, want nothing", s.LastLine(), w)
				}
			})
		}
	}
}
