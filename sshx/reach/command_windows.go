package reach

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"ptyctl/term"
)

// commandOf returns the process of a command line, without a shell, as OpenSSH on Windows runs it.
func commandOf(_ *term.Environment, line string) (*exec.Cmd, error) {
	line = strings.TrimSpace(line)
	if rest, ok := strings.CutPrefix(line, "exec "); ok {
		line = strings.TrimSpace(rest)
	}
	args, err := windows.DecomposeCommandLine(line)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return nil, errors.New("it names no program")
	}
	cmd := exec.Command(args[0])
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: line, HideWindow: true}
	return cmd, nil
}

// A group is a job: a program and those that it starts.
type group struct{ job windows.Handle }

// start starts cmd in a job that ends with this process. A child of the first moment, before it is
// in the job, is not found.
func (g *group) start(cmd *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(
		job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)),
	)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return err
	}
	g.job = job
	process, err := windows.OpenProcess(
		windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid),
	)
	if err == nil { // else it has ended already
		_ = windows.AssignProcessToJobObject(job, process)
		_ = windows.CloseHandle(process)
	}
	return nil
}

// hangUp does nothing: Windows has no such signal, and the program sees the end of its input.
func (g *group) hangUp() {}

// kill ends the programs of the job.
func (g *group) kill() { _ = windows.TerminateJobObject(g.job, 1) }

// await waits for the program.
func (g *group) await(cmd *exec.Cmd) { cmd.ProcessState, _ = cmd.Process.Wait() }

// reap frees the job.
func (g *group) reap(*exec.Cmd) { _ = windows.CloseHandle(g.job) }
