package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ptyctl/internal/atomicfile"
)

// A File is the file of a client that names its servers.
type File struct {
	Client Client
	Path   string // where links lead
	text   []byte
	there  bool
	shared bool // it is a project's
}

// maxFile is the size of the largest file that is changed. That of Claude Code holds its history, too.
const maxFile = 64 << 20

// File reads the client's file. A missing file counts as an empty one.
func (c Client) File(m Machine, s Scope) (*File, error) {
	path, err := c.Path(m, s)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if _, linked := os.Readlink(path); linked == nil {
		return nil, fmt.Errorf("%s is a link to a file that does not exist; remove it, or make the file", path)
	} else if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(folder, filepath.Base(path)) // the person is asked about the place that is written
	}
	f := &File{Client: c, Path: path, shared: c.Scope(s) == Project}
	i, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, err
	case !i.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case i.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that are read", path, i.Size(), maxFile)
	}
	if f.text, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	f.there = true
	return f, nil
}

// exists reports whether a file exists.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Exists reports whether the file is there.
func (f *File) Exists() bool { return f.there }

// Entry returns the entry that starts ptyctl, or nil.
func (f *File) Entry() (*Entry, error) {
	w, err := f.Client.format.read(f.text, f.Client.path, ServerName)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	if w == nil {
		return nil, nil
	}
	e := w.entry()
	return &e, nil
}

// Add returns the change that makes e the entry. A person's additions to an existing entry stay.
func (f *File) Add(e Entry) (*Change, error) {
	was, err := f.Entry()
	if err != nil {
		return nil, f.refused(err)
	}
	if was != nil {
		e.Env, e.EnvVars = was.Env, was.EnvVars
		if was.same(e) && !was.Off {
			return &Change{file: f, text: f.text}, nil
		}
	}
	text, err := f.Client.format.put(f.text, f.Client.path, ServerName, f.Client.entry(e))
	if err == nil {
		err = verify(f.Client.format, f.text, text, f.Client.path, &e)
	}
	if err != nil {
		return nil, f.refused(fmt.Errorf("%s: %w", f.Path, err))
	}
	return &Change{file: f, text: text}, nil
}

// Remove returns the change that takes the entry out.
func (f *File) Remove() (*Change, error) {
	e, err := f.Entry()
	if err != nil {
		return nil, f.refused(err)
	}
	if e == nil {
		return &Change{file: f, text: f.text}, nil
	}
	text, err := f.Client.format.drop(f.text, f.Client.path, ServerName)
	if err == nil {
		err = verify(f.Client.format, f.text, text, f.Client.path, nil)
	}
	if err != nil {
		return nil, f.refused(fmt.Errorf("%s: %w", f.Path, err))
	}
	return &Change{file: f, text: text}, nil
}

// refused adds advice about a file that is not changed.
func (f *File) refused(err error) error {
	do := "correct the file first, or write the entry by hand"
	if errors.As(err, new(handError)) {
		do = "write the entry by hand"
	}
	return fmt.Errorf("%w. Nothing was changed: %s (`ptyctl setup --print %s` shows it)", err, do, f.Client.Name)
}

// Fresh returns a file of the client with the entry alone.
func (c Client) Fresh(e Entry) (string, error) {
	text, err := c.format.put(nil, c.path, ServerName, c.entry(e))
	return string(text), err
}

// A Change is a new text of a file.
type Change struct {
	file *File
	text []byte
}

// None reports whether the file is as it should be.
func (c *Change) None() bool { return bytes.Equal(c.text, c.file.text) }

// Write writes the file, and before that, its present text into a backup beside it. The file gets its new text at once
// (rename(2)), with the mode that it had. Only its user can read a new one, unless it is a project's.
func (c *Change) Write() (backup string, err error) {
	f := c.file
	if err := f.unchanged(); err != nil {
		return "", err
	}
	mode, folder := fs.FileMode(0o600), fs.FileMode(0o700)
	if f.shared {
		mode, folder = 0o644, 0o755
	}
	if f.there {
		i, err := os.Stat(f.Path)
		if err != nil {
			return "", err
		}
		mode = i.Mode().Perm()
		if backup, err = f.backup(mode); err != nil {
			return "", fmt.Errorf("%w; make the folder writable, or write the entry by hand (--print)", err)
		}
	} else if err := os.MkdirAll(filepath.Dir(f.Path), folder); err != nil {
		return "", err
	}
	// The file is looked at again: the client may have written it since.
	if err := atomicfile.Replace(f.Path, c.text, mode, f.unchanged); err != nil {
		if backup != "" {
			_ = os.Remove(backup)
		}
		return "", err
	}
	return backup, nil
}

// backup writes the text as it was beside the file.
func (f *File) backup(mode fs.FileMode) (path string, err error) {
	base := f.Path + ".before-ptyctl-" + time.Now().UTC().Format("20060102T150405Z")
	path = base
	for n := 2; n < 100; n++ {
		if err = writeNew(path, f.text, mode); !errors.Is(err, fs.ErrExist) {
			break
		}
		path = fmt.Sprintf("%s-%d", base, n)
	}
	return path, err
}

// unchanged returns an error if the file has changed since it was read: the client may have written it.
func (f *File) unchanged() error {
	now, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) && !f.there {
		return nil
	}
	if err == nil && f.there && bytes.Equal(now, f.text) {
		return nil
	}
	return fmt.Errorf("%s has changed since it was read; nothing was written. Run setup again", f.Path)
}

// writeNew writes a file that must not exist.
func writeNew(path string, text []byte, mode fs.FileMode) error {
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	if err = errors.Join(err, w.Chmod(mode), w.Sync(), w.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}
