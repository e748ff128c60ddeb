// Package atomicfile gives a file a new text at once: a reader sees the old one or the new one, and a run that is killed
// leaves the old one.
//
//	err := atomicfile.Replace(path, text, 0o600, nil)
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes text into a file of its own beside the file, and renames it (rename(2)). The file keeps its owner, and
// gets the mode. If check is not nil, it is called just before the rename, and its error ends the change. A link is
// replaced, not followed.
func Replace(path string, text []byte, mode fs.FileMode, check func() error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode))
	if err == nil {
		if err = keepOwner(f, path); err != nil {
			err = fmt.Errorf("%s belongs to another user, who would lose it: %w; run this as that user", path, err)
		}
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil && check != nil {
		err = check()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
