//go:build unix

package shelltest

import (
	"os/exec"
	"testing"
)

// The classes of shells, as far sides are told apart.
const (
	Posix = "posix"
	Fish  = "fish"
	Csh   = "csh"
)

// A Shell is a program that reads lines.
type Shell struct {
	Name, Class string
	once        []string // the command that runs the line after it and nothing of a user's own
	typed       []string // the command that reads lines at a terminal; nil: Type does not know it
}

// known are the shells that the package knows. Each of them reads some lines in a way of its own.
var known = []Shell{
	{"bash", Posix, []string{"bash", "-c"}, []string{"bash", "--norc", "--noprofile", "-i"}},
	{"dash", Posix, []string{"dash", "-c"}, nil},
	{"zsh", Posix, []string{"zsh", "-f", "-c"}, []string{"zsh", "-f", "-i"}},
	{"mksh", Posix, []string{"mksh", "-c"}, nil},
	{"ksh", Posix, []string{"ksh93", "-c"}, nil},
	{"busybox", Posix, []string{"busybox", "sh", "-c"}, nil},
	{"fish", Fish, []string{"fish", "-N", "-c"}, nil},
	{"tcsh", Csh, []string{"tcsh", "-f", "-c"}, []string{"tcsh", "-f"}},
}

// Shells returns all of them, with the paths of their programs. The test fails if one is not installed.
func Shells(tb testing.TB) []Shell {
	tb.Helper()
	all := make([]Shell, len(known))
	for i, s := range known {
		path, err := exec.LookPath(s.once[0])
		if err != nil {
			tb.Fatalf("%v: scripts/install-test-deps installs it", err)
		}
		s.once = append([]string{path}, s.once[1:]...)
		if s.typed != nil {
			s.typed = append([]string{path}, s.typed[1:]...)
		}
		all[i] = s
	}
	return all
}

// Interactive reports whether Type knows how to type into the shell.
func (s Shell) Interactive() bool { return s.typed != nil }
