package sshconfig

import "golang.org/x/sys/windows"

// programData asks the system for the folder of data of all users.
func programData() (string, error) {
	return windows.KnownFolderPath(windows.FOLDERID_ProgramData, windows.KF_FLAG_DEFAULT)
}
