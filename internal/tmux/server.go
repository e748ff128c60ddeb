package tmux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ptyctl/config"
	"ptyctl/internal/rundir"
	"ptyctl/internal/tty"
	"ptyctl/term"
)

// The oldest version that has every option of hardening: 3.3 of 2022 introduced remain-on-exit-format.
const (
	oldestMajor = 3
	oldestMinor = 3
)

// commandTime is how long tmux may take for a command.
const commandTime = 10 * time.Second

// A Server is the tmux server that shows sessions: one for each user.
type Server struct{ program, socket string }

// Find finds tmux, and the socket of the server, which need not run yet.
func Find(ctx context.Context) (*Server, error) {
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
	t := &Server{program, filepath.Join(dir, "tmux.sock")}
	if err := t.recent(ctx); err != nil {
		return nil, err
	}
	return t, t.guard()
}

// guard makes sure that the socket, if it exists, is a socket that only this user may open.
func (t *Server) guard() error {
	info, err := os.Lstat(t.socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return term.Errorf(term.IOError, "%s is no socket, and tmux's has to be there; remove it", t.socket)
	case info.Mode().Perm()&0o077 == 0:
		return nil
	}
	return os.Chmod(t.socket, 0o600)
}

// recent refuses a version that cannot be made safe.
func (t *Server) recent(ctx context.Context) error {
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
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return term.Errorf(
			term.Unsupported,
			"%s is %s, and a bridge needs tmux %d.%d or newer; install that, or use ptyctl attach, which needs none",
			t.program,
			strings.TrimSpace(out),
			oldestMajor,
			oldestMinor,
		)
	}
	return nil
}

// run has the server run commands, in order until one fails. Only a command that makes a session starts the server.
func (t *Server) run(ctx context.Context, commands ...[]string) (string, error) {
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

func (t *Server) output(ctx context.Context, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, commandTime)
	defer stop()
	cmd := exec.CommandContext(ctx, t.program, args...)
	cmd.Env = config.Environ() // with the token for the control socket, which the ptyctl in its windows needs
	cmd.Dir = "/"              // the folder that the server keeps
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return "", term.Errorf(term.IOError, "tmux: %s", tty.Printable(string(exit.Stderr)))
	} else if err != nil {
		return "", term.Errorf(term.IOError, "tmux: %w", err)
	}
	return string(out), nil
}
