package fsx

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/pkg/sftp"

	"ptyctl/term"
)

var _ term.CopyFiles = (*SFTP)(nil)

// Look implements term.CopyFiles.
func (s *SFTP) Look(ctx context.Context, name string) (e term.FileEntry, err error) {
	if err := checkPath(opRead, name); err != nil {
		return e, err
	}
	err = s.do(ctx, opRead, name, func() error {
		info, err := s.c.Stat(name)
		if err == nil {
			e = remoteEntry(path.Base(name), info)
		}
		return err
	})
	return e, err
}

// Entries implements term.CopyFiles.
func (s *SFTP) Entries(ctx context.Context, name string, most int) (entries []term.FileEntry, err error) {
	if err := checkPath(opRead, name); err != nil {
		return nil, err
	}
	err = s.do(ctx, opRead, name, func() error {
		infos, err := s.readDir(ctx, name)
		if err != nil {
			return err
		}
		// A server may repeat names, or send names that are paths: neither is an entry.
		had := make(map[string]bool, len(infos))
		for _, i := range infos {
			if !had[i.Name()] && inFolder(i.Name()) {
				had[i.Name()] = true
				entries = append(entries, remoteEntry(i.Name(), i))
			}
		}
		entries, err = ordered(name, entries, most)
		return err
	})
	return entries, err
}

// A sftpSource is a file of a server that is copied.
type sftpSource struct {
	s    *SFTP
	ctx  context.Context // of the copy
	f    remoteFile
	name string
	info fs.FileInfo
}

// Source implements term.CopyFiles.
func (s *SFTP) Source(ctx context.Context, name string, follow bool) (term.FileSource, error) {
	if err := checkPath(opRead, name); err != nil {
		return nil, err
	}
	out := &sftpSource{s: s, ctx: ctx, name: name}
	err := s.do(ctx, opRead, name, func() (err error) {
		if !follow {
			info, err := s.c.Lstat(name)
			if err != nil {
				return err
			}
			if info.Mode().Type() == fs.ModeSymlink {
				return linked(opRead, name)
			}
		}
		out.f.File, out.info, err = s.open(opRead, name)
		out.f.handle = s.reads.opened()
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ReadAt implements io.ReaderAt.
func (f *sftpSource) ReadAt(b []byte, off int64) (int, error) {
	return f.s.readAt(f.ctx, opRead, f.name, f.f, b, off)
}

// A remoteFile is an open file of a server.
type remoteFile struct {
	*sftp.File
	handle string // empty: not known
}

// readAt reads one block of a file that is copied. Without the turn: the requests of a copy are under way together.
func (s *SFTP) readAt(ctx context.Context, op, name string, f remoteFile, b []byte, off int64) (n int, err error) {
	err = s.guarded(name, func() (err error) {
		other := true
		if f.handle != "" {
			n, other, err = s.reads.readAt(f.handle, b, off)
		}
		if other {
			var m int
			m, err = f.ReadAt(b[n:], off+int64(n))
			n += m
		}
		if err == nil && n < len(b) { // a plain success is no answer to a read
			err = errors.New("the server answered a read with neither data nor an error")
		}
		return err
	})
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, s.fault(ctx, op, name, err)
}

// blocks reads from a file in requests of the server's largest payload, which are under way together. Its user has the
// turn.
type blocks struct {
	s *SFTP
	f remoteFile
}

// ReadAt implements io.ReaderAt.
func (k blocks) ReadAt(b []byte, off int64) (n int, err error) {
	if k.f.handle == "" {
		return k.f.ReadAt(b, off)
	}
	n, other, err := k.s.reads.readTogether(k.f.handle, b, off, k.s.payload)
	if !other {
		return n, err
	}
	// The library reads the reason of the refusal.
	m, err := k.f.ReadAt(b[n:], off+int64(n))
	if n += m; err == nil && n < len(b) { // a plain success is no answer to a read
		err = errNotData
	}
	return n, err
}

// Entry implements term.FileSource.
func (f *sftpSource) Entry() term.FileEntry { return remoteEntry(path.Base(f.name), f.info) }

// Close implements io.Closer.
func (f *sftpSource) Close() error { return f.f.Close() }

// MakeFolder implements term.CopyFiles.
func (s *SFTP) MakeFolder(ctx context.Context, name string, mode fs.FileMode) (made bool, err error) {
	if err := checkPath(opWrite, name); err != nil {
		return false, err
	}
	err = s.do(ctx, opWrite, name, func() error {
		info, err := s.c.Stat(name)
		switch {
		case err == nil && info.IsDir():
			return nil
		case err == nil:
			return invalid(opWrite, "%s is a file; a folder cannot be made there", quote(name))
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := s.c.Mkdir(name); err != nil {
			return err
		}
		made = true
		if info, err = s.c.Lstat(name); err != nil {
			return err
		}
		return optional(s.c.Chmod(name, newMode(mode, info.Mode())|0o700))
	})
	return made, err
}

// A sftpSink is a new file of a server.
type sftpSink struct {
	s      *SFTP
	ctx    context.Context // of the copy
	t      target
	posix  bool
	temp   string
	f      remoteFile
	want   term.FileTarget
	mode   fs.FileMode // of a new file
	held   int64
	closed bool
}

// Target implements term.CopyFiles.
func (s *SFTP) Target(ctx context.Context, t term.FileTarget) (term.FileSink, error) {
	if err := checkPath(opWrite, t.Path); err != nil {
		return nil, err
	}
	out := &sftpSink{s: s, ctx: ctx, want: t}
	err := s.do(ctx, opWrite, t.Path, func() (err error) {
		if !t.Follow {
			if info, err := s.c.Lstat(t.Path); err == nil && info.Mode().Type() == fs.ModeSymlink {
				return linked(opWrite, t.Path)
			}
		}
		if out.t, err = s.target(t.Path); err != nil {
			return err
		}
		if out.t.old != nil && t.New {
			return exists(t.Path)
		}
		if out.posix, err = s.replaceable(out.t); err != nil {
			return err
		}
		return out.begin()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// begin opens the file that gathers the data.
func (k *sftpSink) begin() (err error) {
	c, dir := k.s.c, path.Dir(k.t.path)
	k.temp = path.Join(dir, tempName())
	if k.f.File, err = c.OpenFile(k.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL); err != nil {
		return err
	}
	k.f.handle = k.s.reads.opened()
	defer func() {
		if err != nil {
			k.drop()
		}
	}()
	info, err := k.f.Stat()
	if err != nil {
		return err
	}
	k.mode = newMode(k.want.Mode, info.Mode())
	// Until Commit: the final file may be readable by its owner only.
	if err = optional(k.f.Chmod(0o600)); err != nil || k.want.Part == "" {
		return err
	}
	part := path.Join(dir, k.want.Part)
	was, err := c.Lstat(part)
	if errors.Is(err, fs.ErrNotExist) {
		// Not by a rename that replaces: another copy may have begun the same.
		if err = c.Rename(k.temp, part); err == nil {
			k.temp = part
		}
		return err
	}
	if err != nil {
		return err
	}
	// The new file shows which account this is; it has done its work then.
	if err = checkPart(part, was, sameOwner(was, info)); err != nil {
		return err
	}
	file, err := c.OpenFile(part, os.O_RDWR)
	if err != nil {
		return err
	}
	f := remoteFile{file, k.s.reads.opened()}
	// Another file could have come there in between. The protocol (SFTP version 3) can neither refuse a link nor tell
	// one file from another: a link to a file of this account with the very size of the part is not noticed.
	is, err := f.Stat()
	if err == nil {
		err = checkPart(part, is, sameOwner(was, is) && sizeOf(was) == sizeOf(is))
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	k.drop()
	k.f, k.temp, k.closed, k.held = f, part, false, sizeOf(was)
	return nil
}

// sameOwner reports whether two files of a server belong to the same account.
func sameOwner(a, b fs.FileInfo) bool {
	x, ok := a.Sys().(*sftp.FileStat)
	y, ok2 := b.Sys().(*sftp.FileStat)
	return ok && ok2 && x.UID == y.UID
}

// ReadAt implements io.ReaderAt.
func (k *sftpSink) ReadAt(b []byte, off int64) (int, error) {
	return k.s.readAt(k.ctx, opWrite, k.want.Path, k.f, b, off)
}

// WriteAt implements io.WriterAt.
func (k *sftpSink) WriteAt(b []byte, off int64) (n int, err error) {
	err = k.s.guarded(k.want.Path, func() (err error) {
		n, err = k.f.WriteAt(b, off)
		return err
	})
	if err != nil {
		return n, k.s.fault(k.ctx, opWrite, k.want.Path, k.s.full(k.temp, k.want.Path, int64(len(b)), err))
	}
	return n, nil
}

// Held implements term.FileSink.
func (k *sftpSink) Held() int64 { return k.held }

// Truncate implements term.FileSink.
func (k *sftpSink) Truncate(size int64) error {
	return k.s.do(k.ctx, opWrite, k.want.Path, func() error { return k.f.Truncate(size) })
}

// Commit implements term.FileSink. As on this machine, a file that replaces another is forced to the disk before.
func (k *sftpSink) Commit(ctx context.Context, size int64) (out term.FileWritten, err error) {
	err = k.s.do(ctx, opWrite, k.want.Path, func() error {
		if err := k.s.dress(k.f.File, k.t.old, term.FileWrite{}); err != nil {
			return err
		}
		if k.t.old == nil {
			if err := optional(k.f.Chmod(k.mode)); err != nil {
				return err
			}
		} else if _, ok := k.s.c.HasExtension(extSync); ok {
			if err := k.f.Sync(); err != nil {
				return err
			}
		}
		info, err := k.f.Stat()
		if err != nil {
			return err
		}
		if err := wholly(k.want.Path, sizeOf(info), size); err != nil {
			return err
		}
		out = term.FileWritten{Size: sizeOf(info), Mode: info.Mode(), Created: k.t.old == nil, Atomic: true}
		k.closed = true
		if err = k.f.Close(); err != nil {
			return err
		}
		if at := k.want.Modified; !at.IsZero() {
			if err := optional(k.s.c.Chtimes(k.temp, at, at)); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if k.posix && !k.want.New {
			return k.s.c.PosixRename(k.temp, k.t.path)
		}
		return k.s.c.Rename(k.temp, k.t.path) // fails if the file was created meanwhile
	})
	return out, err
}

// optional passes over the refusal of a server that cannot set a mode or a time: the copy is as good without.
func optional(err error) error {
	if status, ok := errors.AsType[*sftp.StatusError](err); ok && status.FxCode() == sftp.ErrSSHFxOpUnsupported {
		return nil
	}
	return err
}

// Abort implements term.FileSink. It is called after the end of the copy's context, too: then it has the time until
// the connection is closed.
func (k *sftpSink) Abort(keep bool) {
	_ = k.s.do(context.WithoutCancel(k.ctx), opWrite, k.want.Path, func() error {
		if keep && k.want.Part != "" && strings.HasSuffix(k.temp, k.want.Part) {
			if !k.closed {
				_ = k.f.Close()
			}
			return nil
		}
		k.drop()
		return nil
	})
}

// drop closes and removes the file that gathers the data.
func (k *sftpSink) drop() {
	if !k.closed {
		k.closed = true
		_ = k.f.Close()
	}
	_ = k.s.c.Remove(k.temp)
}
