//go:build unix

package shelltest

import (
	"os/exec"
	"testing"
)

// The classes of shells, as a session distinguishes them.
const (
	Posix = "posix"
	Fish  = "fish"
	Csh   = "csh"
)

// A Shell is a program that runs lines.
type Shell struct {
	Name, Class string
	once        []string // the command that runs one line, without a user's own files
	typed       []string // the command for an interactive shell; nil: Type does not support it
}

// known has the supported shells. Each of them reads some lines in its own way.
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

// Shells returns all supported shells, with the paths of their programs. The test fails
// if one is not installed.
func Shells(tb testing.TB) []Shell {
	tb.Helper()
	// The table itself must not change, because other tests use it.
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

// Interactive reports whether Type supports the shell.
func (s Shell) Interactive() bool { return s.typed != nil }
