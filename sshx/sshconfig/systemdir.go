package sshconfig

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// systemFolder has the system's ssh_config and ssh_known_hosts, and is the base of a relative
// Include there. It is empty if it cannot be determined: see errSystemFolder.
var systemFolder, errSystemFolder = systemDir(runtime.GOOS, programData)

// systemDir returns the folder of the system-wide configuration of OpenSSH on goos. On Windows it is in the folder
// that the system, not the environment, names as ProgramData: a relative path would be in the working folder, and the
// owner of that folder would decide about hosts and keys.
func systemDir(goos string, programData func() (string, error)) (string, error) {
	if goos != "windows" {
		return "/etc/ssh", nil
	}
	dir, err := programData()
	if err == nil && !absoluteOnWindows(dir) {
		err = fmt.Errorf("%q is not an absolute path", dir)
	}
	if err != nil {
		return "", fmt.Errorf(
			"the folder ProgramData, which has the system's ssh_config, cannot be determined: %w",
			err,
		)
	}
	return strings.TrimRight(dir, `\/`) + `\ssh`, nil
}

// absoluteOnWindows reports whether a path names a drive or a share and begins at its root.
// `\dir` and `C:dir` depend on the working folder.
func absoluteOnWindows(path string) bool {
	slash := func(i int) bool { return len(path) > i && (path[i] == '\\' || path[i] == '/') }
	letter := len(path) > 1 && ('a' <= path[0]|0x20 && path[0]|0x20 <= 'z') && path[1] == ':'
	return letter && slash(2) || slash(0) && slash(1) && len(path) > 2 && !slash(2)
}

// inSystemDir returns the path of a file of the system's configuration.
func inSystemDir(goos, dir, name string) string {
	switch {
	case dir == "":
		return ""
	case goos == "windows":
		return dir + `\` + name
	}
	return dir + "/" + name
}

// systemKnownHosts is the default of GlobalKnownHostsFile.
func systemKnownHosts(goos, dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{inSystemDir(goos, dir, "ssh_known_hosts"), inSystemDir(goos, dir, "ssh_known_hosts2")}
}

// errNoProgramData is the error of programData where there is no such folder.
var errNoProgramData = errors.New("there is no such folder on this system")

// WindowsAgent is the named pipe of the service ssh-agent, which OpenSSH for Windows asks where SSH_AUTH_SOCK is not set.
const WindowsAgent = `\\.\pipe\openssh-ssh-agent`

// defaultAgent returns the socket of the agent where SSH_AUTH_SOCK is not set; empty: none.
func defaultAgent(goos string) string {
	if goos == "windows" {
		return WindowsAgent
	}
	return ""
}

// accountName returns the name of a local account. That of Windows is DOMAIN\user, and servers know the user.
func accountName(goos, name string) string {
	if goos == "windows" {
		return name[strings.LastIndexByte(name, '\\')+1:]
	}
	return name
}
