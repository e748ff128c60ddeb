package ptyx

import (
	"cmp"
	"os/user"
	"runtime"
	"slices"
	"strings"

	"ptyctl/term"
)

// defaultPath is the PATH for a process that has none itself.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment returns the environment of a program: a few variables of from, those
// of h.Inherit, and then those of the call. Nothing else of from is passed on,
// because it may contain secrets.
func (h Host) environment(from *term.Environment, o term.LocalOptions, termName string) []string {
	env := []string{} // not nil, which package os/exec reads as this process's environment
	if !o.Bare {
		home, name := account()
		env = []string{
			"PATH=" + ownPath(from), "HOME=" + own(from, "HOME", home), "USER=" + own(from, "USER", name),
			"LANG=" + own(from, "LANG", "C.UTF-8"), "TERM=" + termName,
		}
	}
	for _, e := range from.List() {
		if n, _, _ := strings.Cut(e, "="); h.inherits(n) {
			env = set(env, e)
		}
	}
	for _, e := range o.Env {
		env = set(env, e.Name+"="+e.Value)
	}
	return env
}

// own returns the value of a variable of from, or otherwise if it is unset or empty.
func own(from *term.Environment, name, otherwise string) string {
	return cmp.Or(from.Get(name), otherwise)
}

// ownPath returns the PATH of from.
func ownPath(from *term.Environment) string { return own(from, "PATH", defaultPath) }

// account returns the home folder and name of this process's user, for variables
// that are unset.
func account() (home, name string) {
	if u, err := user.Current(); err == nil {
		return u.HomeDir, u.Username
	}
	return "/", ""
}

// systemVariables are required to start any program on Windows.
var systemVariables = []string{
	"SYSTEMROOT",
	"SYSTEMDRIVE",
	"COMSPEC",
	"PATHEXT",
	"TEMP",
	"TMP",
	"USERPROFILE",
	"APPDATA",
	"LOCALAPPDATA",
}

// SystemVariables returns the variables that every program gets on this system, besides a few that all systems have.
func SystemVariables() []string {
	if runtime.GOOS != "windows" {
		return nil
	}
	return slices.Clone(systemVariables)
}

// inherits reports whether programs get the variable from this process.
func (h Host) inherits(name string) bool {
	if slices.Contains(SystemVariables(), term.VariableName(name)) {
		return true
	}
	return slices.ContainsFunc(h.Inherit, func(pattern string) bool {
		if start, any := strings.CutSuffix(pattern, "*"); any {
			// TERM must describe the program's terminal, not ours.
			return strings.HasPrefix(name, start) && name != "TERM"
		}
		return name == pattern
	})
}

// set sets a variable, replacing an earlier value.
func set(env []string, assignment string) []string {
	name, _, _ := strings.Cut(assignment, "=")
	env = slices.DeleteFunc(env, func(e string) bool { return isOf(e, name) })
	return append(env, assignment)
}

// valueOf returns the value of a variable in env, or "".
func valueOf(env []string, name string) string {
	for _, e := range env {
		if isOf(e, name) {
			return e[len(name)+1:]
		}
	}
	return ""
}

// isOf reports whether an assignment is one of the variable.
func isOf(assignment, name string) bool {
	n, _, _ := strings.Cut(assignment, "=")
	return term.VariableName(n) == term.VariableName(name)
}
