package plan

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
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
	// ssh(1) uses the user's shell, too.
	shell := os.Getenv("SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
	cmd := exec.CommandContext(ctx, shell, "-c", command)
	cmd.WaitDelay = time.Second // a child of the command must not block us
	err := cmd.Run()
	if errors.As(err, new(*exec.ExitError)) {
		return false, ctx.Err()
	}
	return err == nil, err
}
