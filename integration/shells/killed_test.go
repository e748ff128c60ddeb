package shells

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
	"ptyctl/session"
	"ptyctl/session/prompt"
)

// TestKilledPrograms kills programs that have taken the whole screen, in shells that restore the terminal's modes and in
// one that does not. Where the screen is left on, the shell's prompt is reported, and a refusal advises to reset; after
// that commands run.
func TestKilledPrograms(t *testing.T) {
	t.Parallel()
	bash := promptRow{argv: bashWith, file: ".rc", config: `PS1='me@far:~$ '`}
	dash := promptRow{argv: []string{"dash"}, env: `PS1=me@far:~$\ `}
	for i, tt := range []struct {
		shell   promptRow
		command string
	}{
		{bash, "less +F /etc/services"},
		{bash, "less /etc/services"},
		{bash, "top"},
		{dash, "less /etc/services"},
		{dash, "top"},
		{dash, "vim -Nu NONE"},
	} {
		if i != 1 && i != 3 && !allPrompts {
			continue
		}
		for _, far := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, %s, far %v", tt.shell.argv[0], tt.command, far), func(t *testing.T) {
				t.Parallel()
				killInTerminal(t, tt.shell.open(t, far), tt.command)
			})
		}
	}
}

func killInTerminal(t *testing.T, s *session.Session, command string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	lab.TypeUntil(t, s, "sh -c 'echo $$ >"+file+"; exec "+command+"'\r", `(?s)\n.*\x1b\[.*[a-z]{4}`)
	settle(t, s)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	alt := s.Waiting() != nil && s.Waiting().Kind == prompt.Editor
	if err := system.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	lab.ReadUntil(t, s, s.End()-1, `\$ $`)
	settle(t, s)
	w := s.Waiting()
	t.Logf("the screen was taken: %v; at %q waiting for %+v", alt, s.LastLine(), w)
	if alt && (w == nil || w.Kind != prompt.Command) || w != nil && w.Kind != prompt.Command {
		t.Errorf("after %q a read waits for %+v, want the prompt", s.LastLine(), w)
	}
	began := time.Now()
	r, err := s.Exec(t.Context(), session.ExecRequest{Command: "echo back", Lane: session.LaneTerminal, Timeout: patient})
	t.Logf("exec after %v: %v %+v %q waiting %+v", time.Since(began), err, r.Exit, r.Stdout.Bytes(), r.WaitingFor)
	if err == nil && r.Exit.Known && string(r.Stdout.Bytes()) == "back\n" {
		return
	}
	if err == nil || !strings.Contains(err.Error(), "reset") {
		t.Fatalf("exec: %q, %+v, %v; want the output, or the advice to reset; the terminal shows %q",
			r.Stdout.Bytes(), r.Exit, err, lab.Screenful(s))
	}
	lab.TypeUntil(t, s, "reset\n", `\x1bc`)
	settle(t, s)
	lab.WantTerminalExec(t, s, "echo back", "back\n", 0)
}
