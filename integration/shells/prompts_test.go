package shells

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// patient is how long a command at a prompt may take; it bounds a hang.
const patient = 10 * time.Second

// A promptRow is a shell with a prompt that people use.
type promptRow struct {
	name   string
	argv   []string
	file   string // of its configuration, in its home
	config string
	env    string // further variables, NAME=value, separated by blanks
	quiet  time.Duration
	always bool // part of the normal run; the others need the build tag long
}

// promptRows are the prompts. In each, commands must run, also after something was typed, in a nested shell and after
// it.
var promptRows = []promptRow{
	{"bash, Debian", bashWith, ".rc", `PS1='\u@\h:\w\$ '`, "", 0, false},
	{"bash, Red Hat", bashWith, ".rc", `PS1='[\u@\h \W]\$ '`, "", 0, false},
	{"bash without configuration", []string{"bash", "--norc"}, "", "", "", 0, false},
	{"bash, venv", bashWith, ".rc", `PS1='(venv) \u@\h:\w\$ '`, "", 0, false},
	{"bash, time", bashWith, ".rc", `PS1='[\t] \u@\h:\w\$ '`, "", 0, true},
	{"bash, git", bashWith, ".rc", `PS1='\u@\h:\w (main)\$ '`, "", 0, false},
	{"bash, Kali", bashWith, ".rc", `PS1='┌──(\u㉿\h)-[\w]\n└─\$ '`, "", 0, false},
	{"bash, two lines", bashWith, ".rc", `PS1='\n╭─\u@\h \w\n╰─ '`, "", 0, false},
	{"bash, lambda", bashWith, ".rc", `PS1='λ '`, "", 0, true},
	{"bash, triangle", bashWith, ".rc", `PS1='\w ▶ '`, "", 0, false},
	{"bash, single quote", bashWith, ".rc", `PS1='› '`, "", 0, false},
	{"bash, emoji", bashWith, ".rc", `PS1='🚀 '`, "", 0, false},
	{"bash, starship", bashWith, ".rc", `PS1='\n\w via 🐍 v3.11 \n❯ '`, "", 0, false},
	{"bash, marks", bashWith, ".rc", `PS0='\e]133;C\a' PS1='\[\e]133;D\a\e]133;A\a\]go on, \u: \[\e]133;B\a\]'`, "", 0, true},
	{"bash, title by a DEBUG trap", bashWith, ".rc", `PS1='\w\$ '; trap 'printf "\033]0;%s\007" "$BASH_COMMAND"' DEBUG`, "", 0, true},
	{"bash, the sign alone", bashWith, ".rc", `PS1='> '`, "", 0, false},
	{"zsh without configuration", []string{"zsh", "-f"}, "", "", "", 0, false},
	{"zsh, macOS", []string{"zsh"}, ".zshrc", `PROMPT='%n@%m %1~ %# '`, "", 0, false},
	{"zsh, oh-my-zsh", []string{"zsh"}, ".zshrc", `PROMPT='%{%F{green}%}➜%{%f%}  %c git:(main) ✗ '`, "", 0, true},
	{"zsh, oh-my-zsh, clean", []string{"zsh"}, ".zshrc", `PROMPT='➜  %c '`, "", 0, false},
	{"zsh, agnoster", []string{"zsh"}, ".zshrc", "PROMPT=$' %n@%m \ue0b0 %~ \ue0b0 '", "", 0, false},
	{"zsh, right prompt", []string{"zsh"}, ".zshrc", `PROMPT='%~ ❯ ' RPROMPT='%D{%H:%M:%S} %n'`, "", 0, true},
	{"zsh, box and right prompt", []string{"zsh"}, ".zshrc", "PROMPT=$'╭─%n %~\\n╰─ ' RPROMPT='─╯'", "", 0, false},
	{"fish", []string{"fish"}, ".config/fish/config.fish", `set fish_greeting`, "", 0, true},
	{"fish, right prompt", []string{"fish"}, ".config/fish/config.fish", "set fish_greeting\nfunction fish_right_prompt\n date '+%T'\nend", "", 0, false},
	{"tcsh", []string{"tcsh"}, ".tcshrc", `set prompt='%m:%~%# '`, "", 0, false},
	{"tcsh, right prompt", []string{"tcsh"}, ".tcshrc", `set prompt='%n@%m %~ %# '; set rprompt='%P'`, "", 0, false},
	{"dash", []string{"dash"}, "", "", `PS1=$\ `, 0, false},
	{"ksh93", []string{"ksh93"}, ".kshrc", `PS1='$PWD \$ '`, "ENV=.kshrc", 0, false},
	{"mksh", []string{"mksh"}, ".mkshrc", `PS1='$PWD $ '`, "ENV=.mkshrc", 0, false},
	{"busybox ash", []string{"busybox", "ash"}, ".ashrc", `PS1='\w \$ '`, "ENV=.ashrc", 0, false},
}

var bashWith = []string{"bash", "--rcfile", ".rc", "-i"}

// farAndHere returns the places in which a row is tried: in the normal run most are tried as on another machine alone.
func farAndHere(both bool) []bool {
	if both || allPrompts {
		return []bool{true, false}
	}
	return []bool{true}
}

// settle waits until the terminal rests.
func settle(t *testing.T, s *session.Session) {
	t.Helper()
	s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: 400 * time.Millisecond, Timeout: patient})
}

// TestPrompts runs commands at prompts as people have them: at once, after something was typed, in a shell that a
// command starts, and behind it; and a command that asks.
func TestPrompts(t *testing.T) {
	t.Parallel()
	for _, p := range promptRows {
		if !p.always && !allPrompts {
			continue
		}
		for _, far := range farAndHere(p.name == "bash, lambda") {
			t.Run(p.name+map[bool]string{true: ", far", false: ", here"}[far], func(t *testing.T) {
				t.Parallel()
				runAtPrompt(t, p.open(t, far), p, far)
			})
		}
	}
}

func runAtPrompt(t *testing.T, s *session.Session, p promptRow, far bool) {
	t.Logf("prompt %q", s.LastLine())
	// exec runs a command and wants its output.
	exec := func(when, command, want string) {
		t.Helper()
		r, err := s.Exec(t.Context(), session.ExecRequest{Command: command, Lane: session.LaneTerminal, Timeout: patient})
		if err != nil {
			t.Fatalf("%s, %q: %v; the last line is %q", when, command, err, s.LastLine())
		}
		text, _ := s.CleanText(r.Stdout.Bytes())
		if bytes.Contains(r.Stdout.Bytes(), []byte("PTYCTL")) {
			t.Errorf("%s, %q: the output %q holds the marker", when, command, r.Stdout.Bytes())
		}
		if got := string(text); got != want || !r.Exit.Known || r.Exit.Code != 0 {
			t.Errorf("%s, %q: output %q, exit %+v (%s), waiting for %+v; want %q", when, command, got, r.Exit, r.ExitReason,
				r.WaitingFor, want)
		}
	}
	write := func(text string) {
		t.Helper()
		if _, err := s.Write(t.Context(), []byte(text), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		settle(t, s)
	}
	exec("at first", "echo one", "one\n")
	exec("again", "cd /tmp; pwd", "/tmp\n")
	if far && strings.Contains(p.name, "the sign alone") { // as its continuation line: refused once something is typed
		write("cd /usr\r")
		wantRefusal(t, s, `"^> $"`)
		return
	}
	settle(t, s)
	write("cd /usr\r")
	exec("after typing", "pwd", "/usr\n")

	r, err := s.Exec(t.Context(), session.ExecRequest{
		Command: `sh -c 'printf "Name: "; read x; echo "[$x]"'`, Lane: session.LaneTerminal, Timeout: patient,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.WaitingFor == nil || r.WaitingFor.Text != "Name: " || r.Done != session.DoneRunning {
		t.Fatalf("a question: %+v waits for %+v", r, r.WaitingFor)
	}
	write("bob\r")
	if r, err = s.ContinueExec(t.Context(), r.ID, session.ContinueRequest{Wait: patient}); err != nil || !r.Exit.Known {
		t.Fatalf("answered: %+v, %v", r, err)
	}

	r, err = s.Exec(t.Context(), session.ExecRequest{
		Command: "env PS1='me@nest:\\w\\$ ' bash --norc", Lane: session.LaneTerminal, Timeout: time.Minute, Wait: patient,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.WaitingFor == nil || r.WaitingFor.Kind != prompt.Command || r.Done != session.DoneRunning {
		t.Fatalf("a nested shell: %s, waiting for %+v, output %q", r.Done, r.WaitingFor, r.Stdout.Bytes())
	}
	exec("nested", "echo $BASH_SUBSHELL two", "0 two\n")
	exec("nested, again", "cd /; pwd", "/\n")
	write("exit\r")
	// On a busy machine the nested shell may show nothing for longer than settle waits, and then end.
	if r, err = s.ContinueExec(t.Context(), r.ID, session.ContinueRequest{Wait: patient}); err != nil || !r.Exit.Known {
		t.Fatalf("the nested shell, left: %s, %v; the last line is %q", r.Done, err, s.LastLine())
	}
	exec("back", "pwd", "/usr\n")
}

// TestShellLeftSlowly leaves a shell that shows nothing for a second before it ends. A command of that time is typed to
// the shell around it, in the form of that one.
func TestShellLeftSlowly(t *testing.T) {
	t.Parallel()
	for _, p := range promptRows {
		if p.name != "fish" && (p.name != "tcsh" || !allPrompts) {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := p.open(t, true)
			exec := func(command string) session.ExecResult {
				r, err := s.Exec(t.Context(),
					session.ExecRequest{Command: command, Lane: session.LaneTerminal, Timeout: time.Minute, Wait: patient})
				if err != nil {
					t.Fatalf("%q: %v; the last line is %q", command, err, s.LastLine())
				}
				return r
			}
			exec("cd /usr")
			if r := exec("env PS1='me@nest:\\w\\$ ' bash --norc"); r.WaitingFor == nil || r.WaitingFor.Kind != prompt.Command {
				t.Fatalf("a nested shell: %s, waiting for %+v", r.Done, r.WaitingFor)
			}
			exec("trap 'sleep 1' EXIT")
			lab.TypeUntil(t, s, "exit\r", `exit\r\n[^\n]*exit\r\n`)
			if r := exec("pwd"); string(r.Stdout.Bytes()) != "/usr\n" || !r.Exit.Known || r.Exit.Code != 0 {
				t.Errorf("while the nested shell ends: %q, %s, %+v; the terminal shows %.600q", r.Stdout.Bytes(), r.Done, r.Exit,
					lab.Screenful(s))
			}
		})
	}
}

// wantRefusal wants a command to be refused with advice that names a pattern.
func wantRefusal(t *testing.T, s *session.Session, pattern string) {
	t.Helper()
	e := lab.WantTerminalRefusal(t, s, session.ExecRequest{Command: "echo no", Timeout: patient}, term.Busy)
	if e != nil && !strings.Contains(e.Message(), pattern) {
		t.Errorf("the refusal %q does not name %s", e.Message(), pattern)
	}
}

// TestNoPrompts refuses commands where a shell or a program asks for the rest of an input, however it looks.
func TestNoPrompts(t *testing.T) {
	t.Parallel()
	for i, tt := range []struct{ name, typed, pattern string }{
		{"an open quote", "echo 'a\r", `"^> $"`},
		{"a loop", "for i in 1 2\r", `"^> $"`},
		{"node", "node -i\r", `"^> $"`},
		{"python", "python3 -q\r", `"^>>> $"`},
		{"a half-typed line", "echo not finished", "ctrl_u"},
		{"a half-typed line, the cursor at its start", "echo not finished\x01", "ctrl_u"},
		{"a question of the shell", "read -e -p 'Which one? ' x\r", `"[?] $"`},
	} {
		if i%2 > 0 && !allPrompts { // some in the normal run
			continue
		}
		for _, far := range farAndHere(tt.name == "an open quote" || tt.name == "a half-typed line") {
			t.Run(tt.name+map[bool]string{true: ", far", false: ", here"}[far], func(t *testing.T) {
				t.Parallel()
				row := promptRow{argv: bashWith, file: ".rc", config: `PS1='λ '`}
				s := row.open(t, far)
				lab.TypeUntil(t, s, tt.typed, `[>?d]`)
				settle(t, s)
				wantRefusal(t, s, tt.pattern)
			})
		}
	}
}

// TestScreenLeftOn kills a full-screen program. Its screen stays on, and a command is refused with the advice that
// helps; where the programs in front can be seen, it runs.
func TestScreenLeftOn(t *testing.T) {
	t.Parallel()
	for _, far := range []bool{true, false} {
		t.Run(map[bool]string{true: "far", false: "here"}[far], func(t *testing.T) {
			t.Parallel()
			row := promptRow{argv: bashWith, file: ".rc", config: `PS1='\u@\h:\w\$ '`}
			s := row.open(t, far)
			lab.TypeUntil(t, s, "sh -c 'printf \"\\033[?1049h\"; kill -9 $$'\r", `(?s)\x1b\[\?1049h.*[$#] `)
			settle(t, s)
			if far {
				wantRefusal(t, s, "reset")
				lab.TypeUntil(t, s, "reset\r", `\x1bc`)
				settle(t, s)
			}
			r, err := s.Exec(t.Context(),
				session.ExecRequest{Command: "echo back", Lane: session.LaneTerminal, Timeout: patient})
			if err != nil || string(r.Stdout.Bytes()) != "back\n" {
				t.Errorf("after the screen was left on: %q, %v", r.Stdout.Bytes(), err)
			}
		})
	}
}

// TestLinesThatStandStill runs commands that print a part of a line and then say nothing more. One that reads the
// terminal is reported after a while; so is one that only works, except where it is known not to read.
func TestLinesThatStandStill(t *testing.T) {
	t.Parallel()
	for i, tt := range []struct {
		command   string
		far, here bool // the line is reported
	}{
		{`sh -c 'printf "glorp "; read x; echo "[$x]"'`, true, true},
		{`sh -c 'printf "glorp "; head -n 1'`, true, true},
		{`sh -c 'printf "glorp "; sleep 4; echo done'`, true, false},
		{`sh -c 'printf "glorp "; sleep 4; echo done' | cat`, true, false},
		{`sh -c 'printf "glorp "; end=$(($(date +%s) + 4)); while [ $(date +%s) -lt $end ]; do :; done'`, true, false},
		{`sh -c 'for i in 1 2 3; do printf .; sleep 1; done; sleep 3'`, false, false},
	} {
		if i%2 > 0 && !allPrompts { // some in the normal run
			continue
		}
		for _, far := range []bool{true, false} {
			t.Run(tt.command+map[bool]string{true: ", far", false: ", here"}[far], func(t *testing.T) {
				t.Parallel()
				s := promptRow{argv: bashWith, file: ".rc", config: `PS1='\u@\h:\w\$ '`, quiet: 2 * time.Second}.open(t, far)
				r, err := s.Exec(t.Context(),
					session.ExecRequest{Command: tt.command, Lane: session.LaneTerminal, Timeout: patient})
				if err != nil {
					lab.Fatal(t, err)
				}
				if told := r.WaitingFor != nil && r.WaitingFor.Kind == prompt.Unknown; told != (far && tt.far || !far && tt.here) {
					t.Errorf("%s after %v with output %q, waiting for %+v", r.Done, r.Duration, r.Stdout.Bytes(), r.WaitingFor)
				}
			})
		}
	}
}

// back recognises the prompts of the shells of TestStartedShells to which another shell returns.
var back = map[string]*regexp.Regexp{
	"bash": regexp.MustCompile(`me@far:`), "zsh": regexp.MustCompile(`@far `), "fish": regexp.MustCompile(`>`),
	"tcsh": regexp.MustCompile(`:~[#>]`),
}

// TestStartedShells runs commands that start a shell of any kind. Each ends at its prompt, commands run in it, and
// the shell that was there before is back after it.
func TestStartedShells(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		login   string
		command string
		always  bool
	}{
		{"bash", "bash", false},
		{"bash", "bash --norc", false},
		{"bash", "sh", true},
		{"bash", "dash", false},
		{"bash", "zsh -f", false},
		{"bash", "fish", true},
		{"bash", "tcsh -f", false},
		{"bash", "mksh", false},
		{"bash", "ksh93", false},
		{"bash", "busybox sh", false},
		{"bash", "su -", false},
		{"bash", "sudo -i", false},
		{"bash", "sudo -s", false},
		{"bash", "unshare --mount --pid --fork chroot ROOT /bin/sh", false},
		{"bash", "env -i PS1='/ # ' sh", false},
		{"bash", "python3 -c 'import pty; pty.spawn(\"/bin/sh\")'", false},
		{"zsh", "bash --norc", false},
		{"fish", "bash --norc", true},
		{"fish", "sh", false},
		{"tcsh", "bash --norc", false},
	} {
		if !tt.always && !allPrompts {
			continue
		}
		root := strings.HasPrefix(tt.command, "su") || strings.HasPrefix(tt.command, "unshare")
		if root && os.Getuid() != 0 {
			continue // it asks for a password, which is a question and no prompt, or is not permitted
		}
		row := map[string]promptRow{
			"bash": {argv: bashWith, file: ".rc", config: `PS1='me@far:\w\$ '`},
			"zsh":  {argv: []string{"zsh"}, file: ".zshrc", config: `PROMPT='%n@far %1~ %# '`},
			"fish": {argv: []string{"fish"}, file: ".config/fish/config.fish", config: "set fish_greeting"},
			"tcsh": {argv: []string{"tcsh"}, file: ".tcshrc", config: `set prompt='%m:%~%# '`},
		}[tt.login]
		if root { // root's own start-up files may do anything
			row.argv = []string{"bash", "-c", "exec unshare --mount sh -c 'mount --bind $HOME /root; exec bash --rcfile .rc -i'"}
		}
		for _, far := range farAndHere(tt.command == "sh") {
			t.Run(tt.login+", "+tt.command+map[bool]string{true: ", far", false: ", here"}[far], func(t *testing.T) {
				t.Parallel()
				s := row.open(t, far)
				command := tt.command
				if strings.Contains(command, "ROOT") {
					command = strings.ReplaceAll(command, "ROOT", containerRoot(t))
				}
				r, err := s.Exec(t.Context(),
					session.ExecRequest{Command: command, Lane: session.LaneTerminal, Timeout: 2 * patient})
				if err != nil {
					lab.Fatal(t, err)
				}
				if r.WaitingFor == nil || r.WaitingFor.Kind != prompt.Command {
					t.Fatalf("%s after %v with output %q, waiting for %+v", r.Done, r.Duration, r.Stdout.Bytes(), r.WaitingFor)
				}
				for _, command := range []string{"echo in", "echo again"} {
					r, err = s.Exec(t.Context(), session.ExecRequest{Command: command, Lane: session.LaneTerminal, Timeout: patient})
					if err != nil || !r.Exit.Known || r.Exit.Code != 0 {
						t.Fatalf("%q: %q, %+v, waiting for %+v, %v; the last line is %q", command, r.Stdout.Bytes(), r.Exit, r.WaitingFor,
							err, s.LastLine())
					}
				}
				left, err := s.Write(t.Context(), []byte("exit\r"), session.WriteOptions{})
				if err != nil {
					t.Fatal(err)
				}
				// A shell on a busy machine may be quiet for long before it is gone, and loses input of that time.
				s.Read(t.Context(), session.ReadRequest{Cursor: left.Cursor, Until: back[tt.login], Clean: true, Timeout: patient})
				settle(t, s)
				r, err = s.Exec(t.Context(),
					session.ExecRequest{Command: "echo back", Lane: session.LaneTerminal, Timeout: patient})
				if err != nil || !r.Exit.Known {
					t.Fatalf("back: %q, %+v, %v; the last line is %q", r.Stdout.Bytes(), r.Exit, err, s.LastLine())
				}
			})
		}
	}
}
