package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"ptyctl/internal/rundir"
	"ptyctl/internal/winpipe"
)

// folderAdvice is the advice about the runtime folder.
const folderAdvice = "correct it"

// runtimeFolder returns the folder of the daemons of this user. An elevated process has daemons of its own, because
// their programs may do more.
func runtimeFolder() (string, error) {
	dir, err := rundir.Dir()
	if err == nil && windows.GetCurrentProcessToken().IsElevated() {
		dir = filepath.Join(dir, "elevated")
	}
	return dir, err
}

// pair returns a pipe. Its reading end has deadlines, which those of os.Pipe do not have here.
func pair() (read, write *os.File, err error) { return winpipe.Pair() }

// pass has the new process inherit f, and returns its handle, which is the same there.
func pass(cmd *exec.Cmd, f *os.File) (descriptor int) {
	h := f.Fd()
	// If it fails, so does the start.
	_ = windows.SetHandleInformation(windows.Handle(h), windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT)
	cmd.SysProcAttr.AdditionalInheritedHandles = []syscall.Handle{syscall.Handle(h)}
	return int(h)
}

// passed reports whether pass can have given this process the handle.
func passed(descriptor int) bool {
	kind, err := windows.GetFileType(windows.Handle(descriptor)) //nolint:gosec // it is not negative
	return err == nil && kind == windows.FILE_TYPE_PIPE
}

// keepFromPrograms does nothing: Windows passes on named handles alone.
func keepFromPrograms(int) {}

// apartFolder returns a folder that a daemon may keep in use. Windows looks there for libraries, too.
func apartFolder() string {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return "" // the folder of this process
	}
	return dir
}

// apart starts the new process without a console, in a process group of its own, and outside of this process's job if
// that allows it: a host that ends its console or its job does not end the daemon.
func apart(cmd *exec.Cmd) {
	alone(cmd)
	if breaksAway() {
		cmd.SysProcAttr.CreationFlags |= windows.CREATE_BREAKAWAY_FROM_JOB
	}
}

// alone starts the new process without a console, instead of with a new one, and in a process group of its own.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS,
	}
}

// breaksAway reports whether this process is in a job that a new process may leave at its start. Otherwise Windows
// refuses to start a process that asks for that.
func breaksAway() bool {
	limits, ok := job()
	return ok && limits&windows.JOB_OBJECT_LIMIT_BREAKAWAY_OK != 0
}

// Bound says why a daemon that this process starts ends with something else; empty: nothing here ends it.
func Bound() string {
	const free = windows.JOB_OBJECT_LIMIT_BREAKAWAY_OK | windows.JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK
	if limits, ok := job(); ok && limits&windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE != 0 && limits&free == 0 {
		return "this process is in a job that no process may leave, and whose end ends them all, also a daemon"
	}
	return ""
}

// job returns the limits of the job of this process. It reports false without a job.
func job() (limits uint32, ok bool) {
	var all windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	err := windows.QueryInformationJobObject(0, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&all)), uint32(unsafe.Sizeof(all)), nil)
	return all.BasicLimitInformation.LimitFlags, err == nil
}

func launch(cmd *exec.Cmd) error { return cmd.Start() }
