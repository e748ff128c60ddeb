package winpipe

import "strings"

// folder is where named pipes are, those of this machine.
const folder = `\\.\pipe\`

// prefix is how the names of all pipes of this package begin.
const prefix = folder + "ptyctl-"

// IsName reports whether a text can be a name of NewName. A name of another machine would send this user's credentials
// to it.
func IsName(name string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && rest != "" && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// IsLocal reports whether a path is one of a named pipe of this machine, with either kind of slash. A pipe of another
// machine would get this user's credentials.
func IsLocal(path string) bool {
	path = strings.ReplaceAll(path, "/", `\`)
	return len(path) > len(folder) && strings.EqualFold(path[:len(folder)], folder) && !strings.Contains(path[len(folder):], `\`)
}
