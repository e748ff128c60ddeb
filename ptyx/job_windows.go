package ptyx

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A job holds a program and all that it starts. They end with it: when end is called, and when this process ends in any
// way, as then the kernel closes the only handle (JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE). No process can leave it, because
// it allows no breakaway.
type job struct {
	handle windows.Handle
	once   sync.Once
}

// newJob makes a job without processes.
func newJob() (*job, error) {
	h, err := windows.CreateJobObject(nil, nil) // which no process inherits
	if err != nil {
		return nil, fmt.Errorf("job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	if _, err := windows.SetInformationJobObject(h, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		_ = windows.CloseHandle(h)
		return nil, fmt.Errorf("limits of a job object: %w", err)
	}
	return &job{handle: h}, nil
}

// begin takes a process that was created suspended, so that it has started no other, and lets it run. A process that
// cannot be taken is ended.
func (j *job) begin(process windows.Handle, pid int) error {
	err := windows.AssignProcessToJobObject(j.handle, process)
	if err == nil {
		err = resume(pid)
	}
	if err != nil {
		_ = windows.TerminateProcess(process, killed)
		return fmt.Errorf("process %d and its job object: %w", pid, err)
	}
	return nil
}

// follow begins a process that was created suspended. When it has ended, all that it has started is ended, which might
// hold its output open, and ended is closed.
func (j *job) follow(pid int) (ended <-chan struct{}, err error) {
	const rights = windows.SYNCHRONIZE | windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE
	process, err := windows.OpenProcess(rights, false, uint32(pid))
	if err != nil {
		return nil, err
	}
	if err := j.begin(process, pid); err != nil {
		return nil, errors.Join(err, windows.CloseHandle(process))
	}
	over := make(chan struct{})
	go func() { // ends with the process
		defer close(over)
		_, _ = windows.WaitForSingleObject(process, windows.INFINITE)
		j.end()
		_ = windows.CloseHandle(process)
	}()
	return over, nil
}

// killed is the exit code of a process that this package has ended.
const killed = 137

// end ends all processes of the job.
func (j *job) end() {
	j.once.Do(func() {
		_ = windows.TerminateJobObject(j.handle, killed)
		_ = windows.CloseHandle(j.handle)
	})
}

// resume lets the only thread of a process run. Package os keeps no handle of it.
func resume(pid int) error {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(all)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(all, &entry); err == nil; err = windows.Thread32Next(all, &entry) {
		if int(entry.OwnerProcessID) != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		return errors.Join(err, windows.CloseHandle(thread))
	}
	return fmt.Errorf("no thread of it found: %w", err)
}
