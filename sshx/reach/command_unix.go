//go:build unix

package reach

import (
	"cmp"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"ptyctl/term"
)

// commandOf returns the process of a command line, in the user's shell as ssh(1) runs it.
func commandOf(env *term.Environment, line string) (*exec.Cmd, error) {
	return exec.Command(cmp.Or(env.Get("SHELL"), "/bin/sh"), "-c", "exec "+line), nil
}

// A group is a process group: a program and those that it starts, except for ones that leave it.
type group struct{ id int }

// start starts cmd as the leader of the group. It stays in the session of this process.
func (g *group) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.id = cmd.Process.Pid
	return nil
}

// hangUp signals the end of the connection to the group, as ssh(1) does to its program.
func (g *group) hangUp() { _ = unix.Kill(-g.id, unix.SIGHUP) }

// kill kills the group. Its number is not reused while the group has a member.
func (g *group) kill() { _ = unix.Kill(-g.id, unix.SIGKILL) }
