package ptyx

import (
	"fmt"
	"path/filepath"
	"slices"

	"ptyctl/term"
)

// A Sandbox restricts the files that programs and their children can use, by
// landlock(7) on Linux; other systems refuse it. It does not restrict networks,
// other processes, or files already open. Set-user-id programs, for example sudo,
// do not work inside. The zero value restricts nothing.
type Sandbox struct {
	Read  []string // files and whole folders that can be read and run; empty: all
	Write []string // files and folders that can be changed and read; empty: only devices such as /dev/null
}

// Active reports whether the sandbox restricts anything.
func (s Sandbox) Active() bool { return len(s.Read)+len(s.Write) > 0 }

// Check returns why programs could not start in the sandbox: a missing path, or a
// system without support.
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
				Msg: fmt.Sprintf(
					"the sandbox for local programs names %s: %v; create it, or remove it from the sandbox",
					path,
					reason(err),
				),
			}
		}
		// Otherwise a program could replace path by a link, and so move the
		// boundary for the next program.
		for _, folder := range folders {
			if within(path, folder) || within(real, folder) {
				return &term.Error{
					Op:   "open",
					Kind: term.InvalidArgument,
					Msg: fmt.Sprintf(
						"the sandbox for local programs names %s, which is inside %s, where programs may write; "+
							"remove it",
						path,
						folder,
					),
				}
			}
		}
	}
	return nil
}

// within reports whether path is below folder.
func within(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && rest != "." && filepath.IsLocal(rest)
}
