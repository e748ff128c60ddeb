package plan

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"time"

	"ptyctl/internal/lazyregexp"
	"ptyctl/term"
)

// matchExecLimit is the time limit of a Match exec command, because the
// connection waits for it.
const matchExecLimit = 10 * time.Second

// runMatchExec runs the command of a Match exec in the operator's own ssh_config,
// like ssh(1), and reports whether it succeeded. It must be called only if the
// operator allows it (Settings.AllowExecDirectives).
func runMatchExec(ctx context.Context, command string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, matchExecLimit)
	defer cancel()
	env := term.EnvironmentFrom(ctx)
	shell, err := matchExecShell(runtime.GOOS, env.Get("SHELL"))
	if err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, shell, "-c", command)
	cmd.Env = env.List()
	cmd.Dir, _ = env.Abs("")    // an unknown folder leaves that of this process
	cmd.WaitDelay = time.Second // a child of the command must not block us
	err = cmd.Run()
	if errors.As(err, new(*exec.ExitError)) {
		return false, ctx.Err()
	}
	return err == nil, err
}

// matchExecShell returns the shell for Match exec: the user's, as for ssh(1). Windows has none in
// a known place, and a path without a drive would depend on the working folder.
func matchExecShell(goos, shell string) (string, error) {
	switch {
	case goos == "windows" && !driveLetter.MatchString(shell):
		return "", errors.New("no shell for Match exec: set SHELL to the whole path of one, such as C:\\...\\sh.exe")
	case shell == "":
		return "/bin/sh", nil
	}
	return shell, nil
}

// driveLetter begins a path that does not depend on the working folder.
var driveLetter = lazyregexp.New(`^[A-Za-z]:[\\/]`)
