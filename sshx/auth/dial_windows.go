package auth

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"ptyctl/internal/winpipe"
	"ptyctl/sshx/sshconfig"
)

// dialSocket connects to the pipe or the Unix socket of an agent. Where the service ssh-agent does not run, Pageant is
// asked in its place.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	if !winpipe.IsLocal(path) {
		if strings.HasPrefix(strings.ReplaceAll(path, "/", `\`), `\\`) {
			return nil, errors.New("an agent must be on this machine")
		}
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	conn, err := winpipe.DialService(ctx, path)
	if path != sshconfig.WindowsAgent || !errors.Is(err, fs.ErrNotExist) {
		return conn, err
	}
	user, err := pageantUser()
	if err != nil {
		return nil, err
	}
	conn, err = winpipe.DialService(ctx, pageantPipe(user, protected))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoAgent
	}
	return conn, err
}

// pageantUser returns the name of this user as Pageant spells it: that of the principal without its realm, or else of
// the account.
func pageantUser() (string, error) {
	var name [257]uint16
	size := uint32(len(name))
	if err := syscall.GetUserNameEx(syscall.NameUserPrincipal, &name[0], &size); err == nil {
		user, _, _ := strings.Cut(syscall.UTF16ToString(name[:]), "@")
		return user, nil
	}
	size = uint32(len(name))
	if ok, _, err := getUserName.Call(uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&size))); ok == 0 {
		return "", err
	}
	return syscall.UTF16ToString(name[:]), nil
}

var (
	getUserName        = windows.NewLazySystemDLL("advapi32.dll").NewProc("GetUserNameW")
	cryptProtectMemory = windows.NewLazySystemDLL("crypt32.dll").NewProc("CryptProtectMemory")
)

// protected encrypts a block with the key that all processes of this user have. Like PuTTY, it leaves the block as it is
// if the system cannot.
func protected(block []byte) {
	const crossProcess = 1 // CRYPTPROTECTMEMORY_CROSS_PROCESS
	if cryptProtectMemory.Find() == nil {
		_, _, _ = cryptProtectMemory.Call(uintptr(unsafe.Pointer(&block[0])), uintptr(len(block)), crossProcess)
	}
}
