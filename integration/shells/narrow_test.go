package shells

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/session"
)

// narrowShells are shells with a line editor that draws a line longer than the window in a way of its own.
var narrowShells = []promptRow{
	mkshWith("mksh", `PS1='$ '`, false),
	mkshWith("mksh, no room behind the prompt", `PS1='somebody@web1 $ '`, true),
	mkshWith("mksh, a long prompt", `PS1='somebody@somewhere:$PWD $ '`, false),
	{name: "ksh93", argv: []string{"ksh93"}, file: ".kshrc", config: `PS1='$ '`, env: "ENV=.kshrc", always: true},
	{name: "ksh93, vi", argv: []string{"ksh93"}, file: ".kshrc", config: `PS1='$ '; set -o vi`, env: "ENV=.kshrc"},
	{name: "bash", argv: bashWith, file: ".rc", config: `PS1='$ '`},
	{
		name: "bash, sideways", argv: bashWith, file: ".rc",
		config: `PS1='$ '; bind 'set horizontal-scroll-mode on'`,
	},
	{name: "bash, vi", argv: bashWith, file: ".rc", config: `PS1='$ '; set -o vi`},
	{name: "bash, no editing", argv: bashWith, file: ".rc", config: `PS1='$ '; set +o emacs`},
	{name: "zsh", argv: []string{"zsh", "-f"}},
	{name: "zsh, single line", argv: []string{"zsh"}, file: ".zshrc", config: "PROMPT='%% '; setopt single_line_zle"},
	{name: "fish", argv: []string{"fish"}, file: ".config/fish/config.fish", config: "set fish_greeting"},
	{name: "tcsh", argv: []string{"tcsh", "-f"}},
	{name: "dash", argv: []string{"dash"}, env: `PS1=$\ `},
	{name: "busybox ash", argv: []string{"busybox", "ash"}, file: ".ashrc", config: `PS1='$ '`, env: "ENV=.ashrc"},
}

func mkshWith(name, config string, always bool) promptRow {
	return promptRow{
		name: name, argv: []string{"mksh"}, file: ".mkshrc", config: config, env: "ENV=.mkshrc", always: always,
	}
}

// TestNarrowWindows runs commands of many lengths in windows that are narrower than the typed line, with and without a
// marker: the output is the command's alone.
func TestNarrowWindows(t *testing.T) {
	t.Parallel()
	for _, p := range narrowShells {
		if !p.always && !allPrompts {
			continue
		}
		for _, cols := range []int{10, 20, 40} {
			if cols != 20 && !allPrompts || p.name == "fish" && cols < 20 {
				continue
			}
			for _, far := range farAndHere(false) {
				t.Run(fmt.Sprintf("%s, %d columns, far %v", p.name, cols, far), func(t *testing.T) {
					t.Parallel()
					s := p.openIn(t, far, cols)
					for _, n := range []int{1, 10, 15, 40, 200, 600} {
						for _, plain := range []bool{false, true} {
							runInNarrow(t, s, strings.Repeat("x", n), plain)
							runInNarrow(t, s, strings.Repeat("some words ", (n+10)/11)+"end", plain)
						}
					}
				})
			}
		}
	}
}

// runInNarrow prints a text by a command; plain says that the command has no marker.
func runInNarrow(t *testing.T, s *session.Session, text string, plain bool) {
	t.Helper()
	r, err := s.Exec(t.Context(),
		session.ExecRequest{Command: "echo " + text, Lane: session.LaneTerminal, Timeout: patient, NoMarker: plain})
	if err != nil {
		t.Fatalf("%d characters, marker %v: %v; the terminal shows %q", len(text), !plain, err, lab.Screenful(s))
	}
	if got := string(r.Stdout.Bytes()); got != text+"\n" || r.Exit.Known == plain {
		t.Fatalf("%d characters, marker %v: output %.300q, %s, %+v (%s), waiting for %+v; the terminal shows %q",
			len(text), !plain, got, r.Done, r.Exit, r.ExitReason, r.WaitingFor, lab.Screenful(s))
	}
}
