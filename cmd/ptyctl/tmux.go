package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ptyctl/config"
	"ptyctl/internal/rundir"
)

// tmuxOldest is the first version that knows all of hardening: 3.3, from 2022, has remain-on-exit-format.
const (
	tmuxOldestMajor = 3
	tmuxOldestMinor = 3
)

// tmuxWait is how long tmux may take for what it does at once.
const tmuxWait = 10 * time.Second

// hardening makes of a tmux server one that shows windows and does nothing else. It is given each time, as some of it
// may be of an older ptyctl. Nothing is read from a configuration.
var hardening = [][]string{
	{"set-option", "-s", "escape-time", "0"},
	{"set-option", "-s", "exit-empty", "on"},
	{"set-option", "-s", "set-clipboard", "off"},

	{"set-option", "-g", "status", "off"},
	{"set-option", "-g", "history-limit", "200000"},
	{"set-option", "-g", "mouse", "off"},
	{"set-option", "-g", "assume-paste-time", "0"}, // the key to leave is one, however fast it comes
	{"set-option", "-g", "set-titles", "off"},
	{"set-option", "-g", "bell-action", "none"},
	{"set-option", "-g", "default-command", "/bin/false"}, // of a window that nobody but us should make
	{"set-option", "-g", "update-environment", "HOME PATH LANG LC_* XDG_* PTYCTL_*"},

	{"set-option", "-gw", "alternate-screen", "on"}, // else a program's picture would stay when it has ended
	{"set-option", "-gw", "allow-passthrough", "off"},
	{"set-option", "-gw", "allow-rename", "off"},
	{"set-option", "-gw", "automatic-rename", "off"},
	{"set-option", "-gw", "monitor-bell", "off"},
	{"set-option", "-gw", "remain-on-exit", "on"}, // the last picture stays for those who look
	{"set-option", "-gw", "remain-on-exit-format", ""},

	// Whoever looks can leave, and no more: there is no key for a command of tmux, which could start programs.
	{"set-option", "-g", "prefix", "None"},
	{"set-option", "-g", "prefix2", "None"},
	{"bind-key", "-T", "root", "F1", "detach-client"}, // a table that is not there cannot be emptied, and that ends the commands
	{"unbind-key", "-a", "-T", "root"},
	{"bind-key", "-T", "prefix", "F1", "detach-client"},
	{"unbind-key", "-a", "-T", "prefix"},
	{"bind-key", "-T", "copy-mode", "F1", "detach-client"},
	{"unbind-key", "-a", "-T", "copy-mode"},
	{"bind-key", "-T", "copy-mode-vi", "F1", "detach-client"},
	{"unbind-key", "-a", "-T", "copy-mode-vi"},
	{"bind-key", "-T", watchKeys, "C-]", "detach-client"},
	{"bind-key", "-T", takeKeys, "C-]", "if-shell", "-F", "#{pane_dead}", "detach-client", "send-keys C-]"},
	{"set-option", "-g", "key-table", watchKeys},

	// A window that has ended is gone when nobody looks; and a terminal is not kept from the agent for somebody who has left.
	{"set-hook", "-g", "pane-died", "if-shell -F '" + nobodyLooks + "' kill-session"},
	{"set-hook", "-g", "client-detached", "if-shell -F '#{&&:#{||:#{pane_dead},#{@take}}," + nobodyLooks + "}' kill-session"},
}

// nobodyLooks is a format that is 1 if no client shows the window.
const nobodyLooks = "#{==:#{session_attached},0}"

// The key tables: what is in none goes to the window, if the client is not read-only.
const (
	watchKeys = "watch"
	takeKeys  = "take"
)

// A tmux is the tmux server in which bridges are shown: one for each user.
type tmux struct{ program, socket string }

// ourTmux finds tmux, and where its server is or will be.
func ourTmux(ctx context.Context) (*tmux, error) {
	program, err := exec.LookPath("tmux")
	if err != nil {
		return nil, fmt.Errorf(
			"there is no tmux to be found in PATH; install it, or use ptyctl attach, which needs none: %w",
			err,
		)
	}
	dir, err := rundir.Dir()
	if err == nil {
		err = rundir.Own(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the folder of tmux's socket: %w", err)
	}
	t := &tmux{program, filepath.Join(dir, "tmux.sock")}
	if err := t.recent(ctx); err != nil {
		return nil, err
	}
	return t, t.guard()
}

// guard makes sure that the socket, if it is there, is a socket, and this user's alone, whatever tmux has made it.
func (t *tmux) guard() error {
	info, err := os.Lstat(t.socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s is no socket, and tmux's has to be there; remove it", t.socket)
	case info.Mode().Perm()&0o077 == 0:
		return nil
	}
	return os.Chmod(t.socket, 0o600)
}

// recent refuses a tmux that cannot be made safe.
func (t *tmux) recent(ctx context.Context) error {
	out, err := t.output(ctx, "-V")
	if err != nil {
		return err
	}
	// "tmux 3.3a", "tmux next-3.6"; "tmux master" and the like are newer than all.
	v := regexp.MustCompile(`^tmux (?:next-)?(\d+)\.(\d+)`).FindStringSubmatch(out)
	if v == nil {
		return nil
	}
	major, _ := strconv.Atoi(v[1])
	minor, _ := strconv.Atoi(v[2])
	if major < tmuxOldestMajor || major == tmuxOldestMajor && minor < tmuxOldestMinor {
		return fmt.Errorf(
			"%s is %s, and a bridge needs tmux %d.%d or newer; install that, or use ptyctl attach, which needs none",
			t.program,
			strings.TrimSpace(out),
			tmuxOldestMajor,
			tmuxOldestMinor,
		)
	}
	return nil
}

// run has the server do commands, one after the other until one fails. Only one that makes a session starts it.
func (t *tmux) run(ctx context.Context, commands ...[]string) (string, error) {
	args := []string{"-f", os.DevNull, "-S", t.socket}
	for i, c := range commands {
		if i > 0 {
			args = append(args, ";")
		}
		for _, word := range c {
			if strings.HasSuffix(word, ";") { // which would end the command
				word = word[:len(word)-1] + `\;`
			}
			args = append(args, word)
		}
	}
	return t.output(ctx, args...)
}

func (t *tmux) output(ctx context.Context, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, tmuxWait)
	defer stop()
	cmd := exec.CommandContext(ctx, t.program, args...)
	cmd.Env = config.Environ() // with the token for the socket, which the ptyctl in its windows needs
	cmd.Dir = "/"              // where the server stays
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return "", fmt.Errorf("tmux: %s", printable(string(exit.Stderr)))
	} else if err != nil {
		return "", fmt.Errorf("tmux: %w", err)
	}
	return string(out), nil
}

// windowFormat is what windows reads: a line without empty fields for each.
const windowFormat = "#{session_name} #{@session} #{?@take,take,watch} #{?pane_dead,ended,shown} #{session_attached} #{window_width} #{window_height}"

// windows returns the bridges that there are.
func (t *tmux) windows(ctx context.Context) ([]window, error) {
	if _, err := os.Lstat(t.socket); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	out, err := t.run(ctx, []string{"list-panes", "-a", "-F", windowFormat})
	if err != nil {
		if ctx.Err() == nil && !t.serving(ctx) {
			return nil, nil // its socket outlives the server
		}
		return nil, err
	}
	var all []window
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 7 {
			continue // not made by us
		}
		w := window{name: f[0], SessionID: f[1], Mode: f[2], Alive: f[3] == "shown", Socket: t.socket}
		w.Viewers, _ = strconv.Atoi(f[4])
		w.Cols, _ = strconv.Atoi(f[5])
		w.Rows, _ = strconv.Atoi(f[6])
		w.Attach = t.attachLine(w)
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b window) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// attachLine is what a person types to look.
func (t *tmux) attachLine(w window) string {
	words := []string{"tmux", "-S", t.socket, "attach", "-t", w.name}
	if w.Mode == modeWatch {
		words = append(words, "-r")
	}
	return commandLine(words)
}

// serving reports whether a server answers at the socket.
func (t *tmux) serving(ctx context.Context) bool {
	c, err := new(net.Dialer).DialContext(ctx, "unix", t.socket)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}
