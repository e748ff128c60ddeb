package ptyx

import (
	"os"
	"os/user"
	"runtime"
	"slices"
	"strings"

	"ptyctl/term"
)

// defaultPath is for a process that has none itself.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is that of a program: nothing of this process's but what is named here and by h.Inherit, and then what the
// caller adds.
func (h Host) environment(o term.LocalOptions, termName string) []string {
	env := []string{} // package os/exec takes nil for this process's own
	if !o.Bare {
		home, name := account()
		env = []string{
			"PATH=" + ownPath(), "HOME=" + own("HOME", home), "USER=" + own("USER", name),
			"LANG=" + own("LANG", "C.UTF-8"), "TERM=" + termName,
		}
	}
	for _, e := range os.Environ() {
		if n, _, _ := strings.Cut(e, "="); h.inherits(n) {
			env = set(env, e)
		}
	}
	for _, e := range o.Env {
		env = set(env, e.Name+"="+e.Value)
	}
	return env
}

// own is the value of a variable of this process.
func own(name, otherwise string) string {
	if v, ok := os.LookupEnv(name); ok && v != "" {
		return v
	}
	return otherwise
}

func ownPath() string { return own("PATH", defaultPath) }

// account is whose programs they are, where the environment does not say.
func account() (home, name string) {
	if u, err := user.Current(); err == nil {
		return u.HomeDir, u.Username
	}
	return "/", ""
}

// systemVariables are those without which nothing starts on Windows.
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

func (h Host) inherits(name string) bool {
	if runtime.GOOS == "windows" && slices.Contains(systemVariables, strings.ToUpper(name)) {
		return true
	}
	return slices.ContainsFunc(h.Inherit, func(pattern string) bool {
		if start, any := strings.CutSuffix(pattern, "*"); any {
			return strings.HasPrefix(name, start) && name != "TERM" // which says what the program's terminal is, not ours
		}
		return name == pattern
	})
}

// set gives a variable a value, in place of the one that it may have.
func set(env []string, assignment string) []string {
	name, _, _ := strings.Cut(assignment, "=")
	env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	return append(env, assignment)
}

func valueOf(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}
