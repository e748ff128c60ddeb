package job

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A Job holds a program and all that it starts. They end with it: when End is called, and when this process ends in any
// way, as then the kernel closes the only handle (JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE). No process can leave it, because
// it allows no breakaway.
type Job struct {
	handle windows.Handle
	once   sync.Once
}

// New makes a job without processes.
func New() (*Job, error) {
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
	return &Job{handle: h}, nil
}

// Begin takes a process that was created suspended, so that it has started no other, and lets it run. A process that
// cannot be taken is ended.
func (j *Job) Begin(process windows.Handle, pid int) error {
	err := windows.AssignProcessToJobObject(j.handle, process)
	if err == nil {
		err = resume(pid)
	}
	if err != nil {
		_ = windows.TerminateProcess(process, Killed)
		return fmt.Errorf("process %d and its job object: %w", pid, err)
	}
	return nil
}

// Follow begins a process that was created suspended. When it has ended, all that it has started is ended, which might
// hold its output open, and ended is closed.
func (j *Job) Follow(pid int) (ended <-chan struct{}, err error) {
	const rights = windows.SYNCHRONIZE | windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE
	process, err := windows.OpenProcess(rights, false, uint32(pid))
	if err != nil {
		return nil, err
	}
	if err := j.Begin(process, pid); err != nil {
		return nil, errors.Join(err, windows.CloseHandle(process))
	}
	over := make(chan struct{})
	go func() { // ends with the process
		defer close(over)
		_, _ = windows.WaitForSingleObject(process, windows.INFINITE)
		j.End()
		_ = windows.CloseHandle(process)
	}()
	return over, nil
}

// Killed is the exit code of a process that a Job has ended, as after SIGKILL on Unix.
const Killed = 137

// End ends all processes of the job.
func (j *Job) End() {
	j.once.Do(func() {
		_ = windows.TerminateJobObject(j.handle, Killed)
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
