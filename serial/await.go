package serial

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fsnotify/fsnotify"
)

// returns returns the Await of term.Absent for a path: it waits until the path leads to something that this user may
// open, as the system reports changes of the folders on the way there.
func returns(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		w, err := fsnotify.NewWatcher()
		if err != nil {
			return err
		}
		defer w.Close()
		for {
			// Watch first, then look: a file that appears between the two is seen. A folder that appeared before the
			// one above it was watched is not seen: then another one is the nearest.
			folders := foldersOf(name)
			switch err := watch(w, folders); {
			case errors.Is(err, fs.ErrNotExist): // a folder that has just gone
				continue
			case err != nil:
				return err
			case !slices.Equal(folders, foldersOf(name)):
				continue
			}
			// A device that is plugged in belongs to root for a moment, until udev gives it to its group.
			if _, err := os.Stat(name); err == nil && lacks(name) == "" {
				return nil
			}
			select {
			case <-w.Events:
			case err := <-w.Errors:
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// watch has the system report the changes of folders.
func watch(w *fsnotify.Watcher, folders []string) error {
	for _, folder := range folders {
		if err := w.Add(folder); err != nil {
			return err
		}
	}
	return nil
}

// foldersOf returns the folders to watch for the return of a path: its nearest existing folder and, if the path is a
// broken link, also that of its target.
func foldersOf(name string) []string {
	folders := []string{nearest(name)}
	if to, err := os.Readlink(name); err == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		folders = append(folders, nearest(to))
	}
	return folders
}

// nearest returns the nearest folder above a path that exists.
func nearest(name string) string {
	for at := filepath.Dir(name); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.IsDir() || at == filepath.Dir(at) {
			return at
		}
	}
}
