package agent

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var verbose = flag.Bool("calls", false, "log every call and its result")

// bash is the second arm: a tool that runs one command of Bash for each call, and returns its output.
type bash struct {
	t    *testing.T
	env  []string
	dir  string
	cost cost
}

// newBash makes the agent's machine: ssh reads the same configuration as ptyctl, with connections that are shared.
func newBash(t *testing.T, w *world) *bash {
	t.Helper()
	// The path of a Unix socket is limited to 107 bytes, which a test's own folder may exceed.
	dir, err := os.MkdirTemp("", "agent-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	b := &bash{t: t, dir: dir}
	t.Cleanup(func() { os.RemoveAll(dir) })
	config := "UserKnownHostsFile " + w.home.KnownHosts + "\nHost * !legacy\n\tControlMaster auto\n\tControlPath " + dir +
		"/%C\n\tControlPersist 60\nHost *\nInclude " + w.home.SSHConfig + "\n"
	b.file("config", 0o600, config)
	for _, program := range []string{"ssh", "scp"} {
		// ssh(1) takes the home folder from the password database, whatever $HOME says.
		b.file(program, 0o700, fmt.Sprintf("#!/bin/sh\nexec /usr/bin/%s -F %s/config \"$@\"\n", program, dir))
	}
	b.env = []string{
		"PATH=" + dir + ":/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + dir, "TMUX_TMPDIR=" + dir, "TERM=xterm-256color",
		"LANG=C.UTF-8", "SHELL=/bin/bash",
	}
	t.Cleanup(b.finish)
	return b
}

func (b *bash) file(name string, mode os.FileMode, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), mode); err != nil {
		b.t.Fatal(err)
	}
}

// run is a call: it returns the output of the command, which must match the patterns.
func (b *bash) run(script string, patterns ...string) string {
	b.t.Helper()
	out := b.shell(script)
	b.cost.calls++
	b.cost.bytes += len(out)
	if *verbose {
		b.t.Logf("bash -c %s\n%s", hidden(script), out)
	}
	for _, pattern := range patterns {
		if !regexp.MustCompile(pattern).MatchString(out) {
			b.t.Errorf("bash -c %s\nprinted %q, want a match of %q", hidden(script), out, pattern)
		}
	}
	return out
}

func (b *bash) shell(script string) string {
	cmd := exec.CommandContext(b.t.Context(), "/bin/bash", "-c", script)
	cmd.Env, cmd.Dir = b.env, b.dir
	out, _ := cmd.CombinedOutput() // its status is the script's matter
	return string(out)
}

// finish ends the programs left on the agent's machine. It may be called again.
func (b *bash) finish() {
	b.t.Helper()
	b.shell(`tmux kill-server 2>/dev/null; for s in ` + b.dir + `/????????????????????*; do
	[ -S "$s" ] && /usr/bin/ssh -o ControlPath="$s" -O exit any 2>/dev/null; done`)
}

// start begins a program in a terminal of its own, waits until its last line matches, and looks.
func (b *bash) start(name, program, until string, patterns ...string) string {
	b.t.Helper()
	return b.run(fmt.Sprintf("tmux new-session -d -x 120 -y 40 -s %s %s; %s; %s", name, quoted(program),
		wait(name, until), look(name)), patterns...)
}

// keys presses keys, each a key's name of tmux or text, waits until the last line matches, and looks.
func (b *bash) keys(name, until string, keys []string, patterns ...string) string {
	b.t.Helper()
	return b.run(press(name, keys...)+"; "+wait(name, until)+"; "+look(name), patterns...)
}

// tmuxKeys are the keys that the scripts press; all else is text.
var tmuxKeys = regexp.MustCompile(`^(Enter|Escape|Up|Down|Left|Right|Space|Tab|F\d+|C-.)$`)

// press is the command that presses keys. Text is sent as such, because tmux has keys called up and end; and tmux takes
// a semicolon at the end of a word for its own.
func press(name string, keys ...string) string {
	words := []string{"tmux"}
	for i, k := range keys {
		literal := "-l "
		if tmuxKeys.MatchString(k) {
			literal = ""
		}
		if before, ok := strings.CutSuffix(k, ";"); ok {
			k = before + `\;`
		}
		if i > 0 {
			words = append(words, `\;`)
		}
		words = append(words, "send-keys -t "+name+" "+literal+quoted(k))
	}
	return strings.Join(words, " ")
}

// wait is the command that waits until the last line of a terminal matches an extended regular expression. Typed
// text needs a moment to be shown.
func wait(name, until string) string {
	return fmt.Sprintf("sleep 0.4; for i in $(seq 150); do tmux capture-pane -p -t %s | grep . | tail -n 1 | "+
		"grep -qE %s && break; sleep 0.1; done", name, quoted(until))
}

// look is the command that shows a terminal.
func look(name string) string { return "tmux capture-pane -p -t " + name + " | grep ." }

// screen presses keys in a full-screen program, and looks when it has drawn.
func (b *bash) screen(name string, keys []string, patterns ...string) string {
	b.t.Helper()
	return b.run(press(name, keys...)+"; sleep 1; "+look(name), patterns...)
}

// quoted quotes a word for Bash.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
