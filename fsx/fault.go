package fsx

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"ptyctl/term"
)

// The operations, by their names in errors.
const (
	opRead  = string(term.VerbFileRead)
	opWrite = string(term.VerbFileWrite)
)

// fault converts the error of a system call, or of a request to a server, to one
// for the caller.
func fault(op, path string, err error) error {
	// An error of this package has its message already.
	if e, ok := errors.AsType[*term.Error](err); ok {
		return e
	}
	e := &term.Error{Op: op, Kind: term.IOError, Err: err}
	var why string
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Reason = term.IOError, term.ReasonTransferSlow
		e.Msg, e.Advice = "transfer timed out", "give it more time, or move less at a time"
		return e
	case errors.Is(err, context.Canceled):
		e.Kind, e.Msg = term.Canceled, "the transfer was canceled"
		return e
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, why = term.NotFound, "no such file; list its folder for the names there"
		if op == opWrite { // the file itself need not be there; /proc, for example, takes no new one
			why = "its folder does not exist, or takes no new files; make the folder first (mkdir -p in a command), " +
				"or write elsewhere"
		}
		if fromHome(path) {
			why = "no such file, as ~ is not expanded; give an absolute path"
		}
	case errors.Is(err, syscall.EROFS):
		e.Kind, why = term.AccessDenied, "the file system is mounted read-only"
	case errors.Is(err, fs.ErrPermission):
		e.Kind, why = term.AccessDenied, "permission denied for this account"
	case errors.Is(err, syscall.ENOTDIR):
		e.Kind, why = term.InvalidArgument, "a part of the path is not a folder"
	case errors.Is(err, syscall.EISDIR):
		e.Kind, why = term.InvalidArgument, "it is a folder; use list"
	case errors.Is(err, syscall.ENAMETOOLONG):
		e.Kind, why = term.InvalidArgument, "the path is too long"
	case errors.Is(err, syscall.ELOOP):
		e.Kind, why = term.InvalidArgument, "its symbolic links form a loop"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		why = noSpace
	case errors.Is(err, syscall.EFBIG):
		why = "the file would be too large for the file system"
	default:
		why = err.Error()
		if p, ok := errors.AsType[*fs.PathError](err); ok { // without its path, which may be relative to the root
			why = p.Err.Error()
		}
	}
	e.Msg = quote(path) + ": " + why
	return e
}

// noSpace is the reason of a write to a full disk.
const noSpace = "no space left on the disk, or in this account's quota; make room, then write again"

// writeOver is the advice where a file cannot be replaced.
const writeOver = "set FileWrite.NonAtomic to write over the file that is there"

// denied returns the error for a path outside of the roots.
func denied(op, format string, args ...any) error {
	return &term.Error{
		Op:    op,
		Kind:  term.PolicyDenied,
		Msg:   fmt.Sprintf(format, args...),
		Facts: term.Facts{term.Denial{Setting: term.SettingLocalFiles}},
	}
}

// invalid returns the error for an invalid path.
func invalid(op, format string, args ...any) error {
	return &term.Error{
		Op:    op,
		Kind:  term.InvalidArgument,
		Msg:   fmt.Sprintf(format, args...),
		Facts: term.Facts{term.ArgumentFault{Field: term.FieldPath}},
	}
}

// regular returns an error unless mode is that of a regular file.
func regular(op, path string, mode fs.FileMode) error {
	var what string
	switch t := mode.Type(); {
	case t == 0:
		return nil
	case t&fs.ModeDir != 0:
		if op == opWrite {
			return invalid(op, "%s is a folder; give the path of a file", quote(path))
		}
		return invalid(op, "%s is a folder; use list", quote(path))
	case t&fs.ModeNamedPipe != 0:
		what = "a FIFO"
	case t&fs.ModeDevice != 0:
		what = "a device"
	case t&fs.ModeSocket != 0:
		what = "a socket"
	case t&fs.ModeSymlink != 0:
		what = "a symbolic link"
	default:
		what = "not a regular file"
	}
	return &term.Error{
		Op:   op,
		Kind: term.Unsupported,
		Msg:  fmt.Sprintf("%s is %s; only regular files are read and written", quote(path), what),
	}
}

// checkPath refuses a path that no system accepts.
func checkPath(op, path string) error {
	switch {
	case path == "":
		return invalid(op, "path is empty; give the path of a file or a folder")
	case strings.IndexByte(path, 0) >= 0:
		return invalid(op, "path contains a NUL byte, which is not possible in a path")
	case len(path) > maxPath:
		return invalid(op, "path has %d bytes, and may have %d", len(path), maxPath)
	}
	return nil
}

// checkFile refuses the path of a file to write that no system accepts, or that is one of a folder.
func checkFile(path string) error {
	if err := checkPath(opWrite, path); err != nil {
		return err
	}
	if os.IsPathSeparator(path[len(path)-1]) {
		return invalid(opWrite, "%s ends with a slash, so it names a folder; give the path of a file", quote(path))
	}
	return nil
}

// fromHome reports whether a path is meant to begin in a home directory, as only a shell reads it.
func fromHome(path string) bool { return path == "~" || strings.HasPrefix(path, "~/") }

// maxPath is the longest path in bytes (PATH_MAX of Linux).
const maxPath = 4096

// quote returns a path for a message: on one line, and shortened to its end.
func quote(path string) string {
	const most = 256
	if len(path) > most {
		path = "..." + path[len(path)-most:]
	}
	return fmt.Sprintf("%q", path)
}
