package serial

import (
	"path/filepath"
	"slices"
	"strings"
)

// A Device is a serial line of this machine, as it is found without opening it.
type Device struct {
	Path    string   // without links
	Links   []string // of udev, and those that an entry of Allow names
	Allowed bool     // Allow has it, by its own path or by one of the links
	LockPID int      // the process that its lock file names; 0: none
	Program string   // the name of that process; empty: not known
	Access  string   // the right that the user lacks to open it; empty: none
}

// Devices lists the serial lines of this machine: those that the system knows, and those that an entry of Allow names.
func Devices(allow Allow) ([]Device, error) {
	paths, err := known()
	if err != nil {
		return nil, err
	}
	var all []Device
	add := func(path, link string) {
		if noLine(path) != "" {
			return
		}
		i := slices.IndexFunc(all, func(d Device) bool { return d.Path == path })
		if i < 0 {
			d := Device{Path: path, Links: linksTo(path), Access: lacks(path)}
			d.LockPID, d.Program = lockedBy(path)
			all, i = append(all, d), len(all)
		}
		if link != path && !slices.Contains(all[i].Links, link) {
			all[i].Links = append(all[i].Links, link)
		}
	}
	for _, path := range paths {
		add(path, path)
	}
	for _, pattern := range allow {
		found, _ := filepath.Glob(pattern)
		for _, name := range found {
			if device, err := filepath.EvalSymlinks(name); err == nil {
				add(device, name)
			}
		}
	}
	for i := range all {
		all[i].Allowed = slices.ContainsFunc(append([]string{all[i].Path}, all[i].Links...), func(name string) bool {
			_, err := allow.Judge(name)
			return err == nil
		})
	}
	slices.SortFunc(all, func(a, b Device) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}
