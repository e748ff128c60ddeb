package ptyx

import (
	"fmt"
	"path/filepath"
	"slices"

	"ptyctl/term"
)

// A Sandbox keeps programs, and what they start, from files of this machine: with landlock(7) on Linux, nowhere else. It is
// about files alone: not about networks, other processes, or what is open already. Set-user-id programs (sudo) do not work
// inside. The zero value keeps them from nothing.
type Sandbox struct {
	Read  []string // files, and folders with all below, that can be read and run; empty: all
	Write []string // those that can be changed, and read too; empty with a Read: none but /dev/null and its like
}

// Active reports whether there is anything to keep programs from.
func (s Sandbox) Active() bool { return len(s.Read)+len(s.Write) > 0 }

// Check says why programs could not be started in the sandbox: what is not there, or a system that cannot do it.
func (s Sandbox) Check() error {
	if !s.Active() {
		return nil
	}
	if reason := sandboxUnsupported(); reason != "" {
		return &term.Error{Op: "open", Kind: term.Unsupported, Msg: reason}
	}
	var folders []string
	for _, path := range s.Write {
		folders = append(folders, path)
		if real, err := filepath.EvalSymlinks(path); err == nil {
			folders = append(folders, real)
		}
	}
	for _, path := range slices.Concat(s.Read, s.Write) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return &term.Error{
				Op:   "open",
				Kind: term.IOError,
				Msg:  fmt.Sprintf("the sandbox for local programs names %s: %v; make it, or take it out", path, reason(err)),
			}
		}
		// Otherwise a program could put a link in the place of path, and the next one would go where it leads.
		for _, folder := range folders {
			if within(path, folder) || within(real, folder) {
				return &term.Error{
					Op:   "open",
					Kind: term.InvalidArgument,
					Msg: fmt.Sprintf(
						"the sandbox for local programs names %s, which lies in %s, where all may be changed; take it out",
						path,
						folder,
					),
				}
			}
		}
	}
	return nil
}

// within reports whether path lies below folder.
func within(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && rest != "." && filepath.IsLocal(rest)
}
