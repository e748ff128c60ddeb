package daemon

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// keepFromPrograms does nothing: Windows passes on named handles alone.
func keepFromPrograms(int) {}

// apartFolder is empty: the folder of this process.
const apartFolder = ""

// apart puts the new process into a process group of its own, without a console.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS,
	}
}

func launch(cmd *exec.Cmd) error { return cmd.Start() }
