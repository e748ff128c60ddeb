package fsx

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/pkg/sftp"

	"ptyctl/term"
)

// OpenSSH's extensions (PROTOCOL, section 4).
const (
	extRename  = "posix-rename@openssh.com"
	extSync    = "fsync@openssh.com"
	extStatVFS = "statvfs@openssh.com"
)

// Write implements term.Files. It replaces the file atomically unless w asks for
// something else.
func (s *SFTP) Write(ctx context.Context, w term.FileWrite) (out term.FileWritten, err error) {
	if err = s.limits.write(w); err == nil {
		err = checkFile(w.Path)
	}
	if err != nil {
		return out, err
	}
	over := w.Append || w.NonAtomic
	err = s.do(ctx, opWrite, w.Path, func() error {
		t, err := s.target(w.Path)
		if err != nil {
			return err
		}
		if over {
			out, err = s.writeOver(ctx, t, w)
		} else {
			out, err = s.replace(ctx, t, w)
		}
		return err
	})
	if err != nil && over {
		err = partly(err, out.Bytes)
	}
	return out, err
}

// A target is the file to write, with the facts about the existing one.
type target struct {
	path string
	old  fs.FileInfo // nil if the file does not exist
}

// target resolves the path of a write, following a symbolic link.
func (s *SFTP) target(name string) (target, error) {
	info, err := s.c.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return target{path: name}, nil
	}
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		// Replacing the link itself would lose it, so its target is replaced.
		if name, err = s.c.RealPath(name); err == nil {
			info, err = s.c.Stat(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return target{}, invalid(
				opWrite,
				"%s is a symbolic link to a missing file; give the path of its target",
				quote(name),
			)
		}
	}
	if err == nil {
		err = regular(opWrite, name, info.Mode())
	}
	return target{name, info}, err
}

// writeOver writes into the existing file, or a new one. It writes one block after
// the other, so that an error leaves no hole.
func (s *SFTP) writeOver(ctx context.Context, t target, w term.FileWrite) (out term.FileWritten, err error) {
	flags, offset := os.O_WRONLY|os.O_CREATE, int64(0)
	switch {
	case !w.Append:
		flags |= os.O_TRUNC
	case t.old != nil:
		flags |= os.O_APPEND
		if offset, err = endOf(t.path, t.old, len(w.Data)); err != nil {
			return out, err
		}
	default:
		flags |= os.O_APPEND
	}
	f, err := s.openFile(t.path, flags, offset, len(w.Data))
	if err != nil {
		return out, err
	}
	defer f.drop()
	out.Created = t.old == nil
	if out.Created && w.Mode != nil { // before it has data
		if err := f.Chmod(*w.Mode); err != nil {
			return out, err
		}
	}
	f.mode = w.Mode
	if w.Mode != nil && !out.Created { // a write that fails leaves the mode as it is
		f.together = false
	}
	out.Bytes, err = pour(ctx, &s.writing, func(p []byte) (n int, err error) {
		for len(p) > 0 && err == nil {
			var m int
			m, err = f.write(p[:min(len(p), s.payload)])
			n, p = n+m, p[m:]
			if err == nil {
				err = ctx.Err()
			}
		}
		return n, err
	}, w)
	if err != nil {
		return out, s.full(t.path, t.path, int64(len(w.Data))-out.Bytes, err)
	}
	return f.end(out)
}

// replace replaces the file, if it exists, by a new one.
func (s *SFTP) replace(ctx context.Context, t target, w term.FileWrite) (out term.FileWritten, err error) {
	posix, err := s.replaceable(t)
	if err != nil {
		return out, err
	}
	// In the same folder, because a rename must not cross file systems.
	temp := path.Join(path.Dir(t.path), tempName())
	f, err := s.openFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0, len(w.Data))
	if err != nil {
		return out, err
	}
	defer func() {
		if err != nil {
			f.drop()
			_ = s.c.Remove(temp)
		}
	}()
	out = term.FileWritten{Created: t.old == nil, Atomic: true}
	same := true                       // as far as the end can make it the old file
	if t.old != nil || w.Mode != nil { // until the end: the final file may be readable by its owner only
		if same, err = f.hide(t.old); err != nil {
			return out, err
		}
	}
	switch {
	case !same: // the owner is set when there is all data, and the mode after that
		f.together = false
	case w.Mode != nil:
		f.mode = w.Mode
	case t.old != nil:
		f.mode = new(t.old.Mode().Perm())
	}
	out.Bytes, err = pour(ctx, &s.writing, f.write, w)
	if err != nil {
		return out, s.full(temp, t.path, int64(len(w.Data))-out.Bytes, err)
	}
	if !same {
		if err = s.dress(f.File, t.old, w); err != nil {
			return out, err
		}
	}
	if out, err = f.end(out); err != nil {
		return out, err
	}
	if err = ctx.Err(); err != nil {
		return out, err
	}
	if posix {
		err = s.c.PosixRename(temp, t.path)
	} else {
		err = s.c.Rename(temp, t.path) // fails if the file was created meanwhile
	}
	return out, err
}

// replaceable refuses a file that cannot be replaced. It reports whether the server can rename a file over another.
func (s *SFTP) replaceable(t target) (posix bool, err error) {
	_, posix = s.c.HasExtension(extRename)
	if t.old == nil {
		return posix, nil
	}
	if err := s.writable(t.path); err != nil {
		return posix, err
	}
	if !posix {
		return posix, &term.Error{
			Op:     opWrite,
			Kind:   term.Unsupported,
			Reason: term.ReasonNotReplaced,
			Msg:    "this server cannot replace a file in one step (it lacks " + extRename + ")",
			Advice: writeOver,
		}
	}
	return posix, nil
}

// writable refuses to replace a file without write permission, although its folder
// would allow it.
func (s *SFTP) writable(name string) error {
	f, err := s.c.OpenFile(name, os.O_WRONLY)
	if err == nil {
		return f.Close()
	}
	if errors.As(err, new(*sftp.StatusError)) { // for example a running program, which can still be replaced
		return nil
	}
	return err
}

// dress sets the permissions and the owner of the new file: those asked for, or
// those of the old file.
func (s *SFTP) dress(f *sftp.File, old fs.FileInfo, w term.FileWrite) error {
	if old != nil {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		was, ok := old.Sys().(*sftp.FileStat)
		is, ok2 := info.Sys().(*sftp.FileStat)
		if ok && ok2 && (was.UID != is.UID || was.GID != is.GID) {
			if err := f.Chown(int(was.UID), int(was.GID)); err != nil {
				return unkeepable(err)
			}
		}
	}
	switch {
	case w.Mode != nil:
		return f.Chmod(*w.Mode)
	case old != nil:
		return f.Chmod(old.Mode().Perm())
	}
	return nil
}

// full returns a better error for a write that failed without a reason, because the
// protocol has no code for a full disk. written is the file that was written for the one of that name.
func (s *SFTP) full(written, name string, left int64, err error) error {
	if _, ok := s.c.HasExtension(extStatVFS); !ok || !errors.As(err, new(*sftp.StatusError)) {
		return err
	}
	// Without room for the rest of the data, a full disk is the likely reason.
	v, failed := s.c.StatVFS(path.Dir(written))
	if failed != nil || v.Frsize == 0 || v.Bavail > uint64(left)/v.Frsize {
		return err
	}
	return &term.Error{Op: opWrite, Kind: term.IOError, Err: err, Msg: quote(name) + ": " + noSpace}
}
