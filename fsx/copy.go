package fsx

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ptyctl/term"
)

// localBlock is the size of a block of a copy on this machine.
const localBlock = 1 << 20

// copied is the most bytes of a copy that are requested or sent before the first answer. The window of a channel has
// 2 MiB, with x/crypto/ssh as with OpenSSH, so that more than that and the requests on their way brings nothing.
const copied = 3 << 20

// Requests implements term.CopyFiles. One block is read while another one is written. Two writes at a time gain nothing,
// for the kernel lets one wait for the other.
func (l *Local) Requests() (size, number int) { return localBlock, 1 }

// Requests implements term.CopyFiles.
func (s *SFTP) Requests() (size, number int) { return s.payload, max(copied/s.payload, 1) }

// ordered returns the entries in the order of their names, without names that no folder can have.
func ordered(name string, entries []term.FileEntry, most int) ([]term.FileEntry, error) {
	entries = slices.DeleteFunc(entries, func(e term.FileEntry) bool { return strings.IndexByte(e.Name, 0) >= 0 })
	if len(entries) > most {
		return nil, tooMany(name, most)
	}
	slices.SortFunc(entries, func(a, b term.FileEntry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// tooMany is the error for a folder with more entries than are asked for.
func tooMany(name string, most int) error {
	return &term.Error{
		Op: opRead, Kind: term.LimitExceeded,
		Msg: fmt.Sprintf("%s has more than %d entries", quote(name), most),
	}
}

// linked is the error for a symbolic link where a copy may not follow one.
func linked(op, name string) error {
	return &term.Error{
		Op: op, Kind: term.Unsupported,
		Msg: quote(name) + " is a symbolic link, which is not followed",
	}
}

// exists is the error for a file that must be new and is there.
func exists(name string) error {
	return &term.Error{
		Op: opWrite, Kind: term.Unsupported, Reason: term.ReasonExists,
		Msg: quote(name) + " is there already, and was not replaced",
	}
}

// checkPart refuses the file of an earlier copy unless it is one: a regular file, of this account alone. In a folder
// where others may write, another account could have put it there.
func checkPart(name string, info fs.FileInfo, owned bool) error {
	if info.Mode().IsRegular() && owned {
		return nil
	}
	return &term.Error{
		Op: opWrite, Kind: term.AccessDenied,
		Msg: quote(name) + ", where an earlier copy would have left its data, is no regular file of this account; " +
			"remove it, or copy without resuming",
	}
}

// newMode returns the permissions of a new file or folder: those asked for, as far as the system allows them.
// given are the permissions of a new file that asked for none.
func newMode(asked, given fs.FileMode) fs.FileMode {
	given |= given & 0o444 >> 2 // a new file is never executable by itself
	return asked.Perm() & given.Perm()
}

// wholly refuses a file if its size differs from the size of the written data.
func wholly(name string, is, want int64) error {
	if is == want {
		return nil
	}
	return &term.Error{
		Op: opWrite, Kind: term.IOError,
		Msg: fmt.Sprintf("of the %d bytes for %s, %d are there; the file was not replaced", want, quote(name), is),
	}
}
