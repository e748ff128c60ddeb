package sshx

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
)

// matchExecLimit bounds a command of Match exec: everything waits for it.
const matchExecLimit = 10 * time.Second

// runMatchExec runs the command of a Match exec in the operator's own ssh_config, as ssh(1) does, and reports
// whether it succeeded. It is called only where the operator allows it (ssh.allow_exec_directives).
func runMatchExec(ctx context.Context, command string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, matchExecLimit)
	defer cancel()
	shell := os.Getenv("SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
	cmd := exec.CommandContext(ctx, shell, "-c", command)
	cmd.WaitDelay = time.Second // a child of its own must not hold us up
	err := cmd.Run()
	if errors.As(err, new(*exec.ExitError)) {
		return false, ctx.Err()
	}
	return err == nil, err
}
