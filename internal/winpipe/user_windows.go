package winpipe

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/windows"
)

// user returns the user of this process.
func user() (*windows.SID, error) {
	u, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, fmt.Errorf("user of this process unknown: %w", err)
	}
	return u.User.Sid, nil
}

var impersonateNamedPipeClient = windows.NewLazySystemDLL("advapi32.dll").NewProc("ImpersonateNamedPipeClient")

// clientUser returns the user who has opened the other end of h. The kernel has noted it then, so that it cannot be that
// of a later process with the same id.
func clientUser(h windows.Handle) (sid *windows.SID, err error) {
	done := make(chan struct{})
	go func() { // with a thread of its own, on which no other code runs with the rights of a client
		defer close(done)
		runtime.LockOSThread()
		if ok, _, bad := impersonateNamedPipeClient.Call(uintptr(h)); ok == 0 {
			err = bad
			runtime.UnlockOSThread()
			return
		}
		sid, err = threadUser()
		if windows.RevertToSelf() == nil {
			runtime.UnlockOSThread()
		} // else the thread ends with this goroutine
	}()
	<-done
	return sid, err
}

// threadUser returns the user that this thread impersonates.
func threadUser() (*windows.SID, error) {
	thread, err := windows.GetCurrentThread()
	if err != nil {
		return nil, err
	}
	var token windows.Token
	if err := windows.OpenThreadToken(thread, windows.TOKEN_QUERY, true, &token); err != nil {
		return nil, err
	}
	defer token.Close()
	u, err := token.GetTokenUser()
	if err != nil {
		return nil, err
	}
	return u.User.Sid, nil
}

// Pair returns an anonymous pipe. The reading end has deadlines; a program can inherit the writing end.
func Pair() (read, write *os.File, err error) {
	name := NewName()
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, nil, err
	}
	owner, err := user()
	if err != nil {
		return nil, nil, err
	}
	access, err := onlyFor(owner)
	if err != nil {
		return nil, nil, err
	}
	const size = 4 << 10
	r, err := windows.CreateNamedPipe(name16,
		windows.PIPE_ACCESS_INBOUND|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_REJECT_REMOTE_CLIENTS, 1, size, size, 0, access)
	if err != nil {
		return nil, nil, err
	}
	w, err := windows.CreateFile(name16, windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING,
		windows.SECURITY_SQOS_PRESENT|windows.SECURITY_ANONYMOUS, 0)
	if err != nil {
		_ = windows.CloseHandle(r)
		return nil, nil, err
	}
	return os.NewFile(uintptr(r), name), os.NewFile(uintptr(w), name), nil
}
