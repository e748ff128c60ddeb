//go:build unix

package daemon

import (
	"os/exec"
	"syscall"

	"ptyctl/ptyx/protect"
)

// keepFromPrograms keeps a descriptor from the programs that this process starts.
func keepFromPrograms(fd int) { syscall.CloseOnExec(fd) }

// apartFolder keeps no folder in use.
const apartFolder = "/"

// apart puts the new process into a session of its own (setsid(2)): a host that kills the process group of its MCP
// server, or the terminal that ends, does not end the daemon.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// launch starts a process with the limit for core files that this one was started with: the programs of the daemon's
// sessions are to have it.
func launch(cmd *exec.Cmd) error { return protect.WithCore(cmd.Start) }
