package daemon

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"ptyctl/control"
	"ptyctl/internal/rundir"
)

// keepLog is how long the log of a daemon stays after its last line, for a person who looks for the reason of its end.
const keepLog = 24 * time.Hour

// HoldLog keeps the log of a daemon from being removed, until release is called.
func (p Place) HoldLog() (release func()) {
	release, err := rundir.TryPath(p.Log())
	if err != nil { // another daemon holds it, or the logger will report the error
		return func() {}
	}
	return release
}

// sweep removes the files of other configurations and protocols from the runtime folder, unless a daemon or a client
// holds them. Each name is looked at under its lock, and its socket under the gate of the folder as well, so that no
// file of a daemon that starts is removed. Files that are not this user's own are left alone.
func (p Place) sweep(log *slog.Logger) {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return
	}
	seen := map[string]bool{p.name: true}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		if _, _, ok := parse(name); !ok || seen[name] {
			continue
		}
		seen[name] = true
		if err := (Place{dir: p.dir, name: name}).remove(); err != nil {
			log.Debug("the files of another configuration stay", "configuration", name, "reason", err.Error())
		}
	}
}

// errRecent means that a file is kept for a while.
var errRecent = errors.New("the log is not old enough")

// remove removes the files of an unused place.
func (p Place) remove() error {
	unlock, err := rundir.TryPath(p.lock())
	if err != nil {
		return err
	}
	defer unlock()
	leave, err := rundir.Enter(p.dir)
	if err != nil {
		return err
	}
	defer leave()
	if err := control.Vacate(p.Socket()); err != nil {
		return err
	}
	kept := p.removeLog()
	// Last, and still locked: who waits for the lock sees that the file is gone, and makes another one.
	return errors.Join(kept, os.Remove(p.lock()))
}

// removeLog removes the log of a place unless a daemon writes it, or has until a while ago.
func (p Place) removeLog() error {
	info, err := os.Lstat(p.Log())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case time.Since(info.ModTime()) < keepLog:
		return errRecent
	}
	release, err := rundir.TryPath(p.Log()) // it refuses anything but a file of this user
	if err != nil {
		return err
	}
	defer release()
	return os.Remove(p.Log())
}
