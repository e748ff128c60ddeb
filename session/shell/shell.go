package shell

import (
	"bytes"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ptyctl/term"
)

// A Class is the kind of shell that reads the lines typed into a terminal.
type Class string

// The classes.
const (
	Posix      Class = "posix"
	Fish       Class = "fish"
	Csh        Class = "csh"
	PowerShell Class = "powershell"
	Cmd        Class = "cmd"
	Device     Class = "device"  // the command line of a network device
	Unknown    Class = "unknown" // nothing is known; nothing is assumed
)

// Classes returns the classes a caller may name.
func Classes() []string {
	return []string{
		string(Posix),
		string(Fish),
		string(Csh),
		string(PowerShell),
		string(Cmd),
		string(Device),
		string(Unknown),
	}
}

// TakesMarker reports whether lines for the class can carry an exit code marker.
func (c Class) TakesMarker() bool { return c != Device && c != Unknown }

// A Shell describes the program behind a terminal, as far as it is known.
type Shell struct {
	Class Class
	Name  string // base name of the login shell, if known
}

// FromAnswer reads the answer to "echo $SHELL", which is a valid command in every shell we know.
func FromAnswer(answer []byte) Shell {
	line := string(bytes.TrimSpace(answer))
	line = strings.TrimSpace(line[strings.LastIndexByte(line, '\n')+1:]) // start-up files may talk before it
	switch {
	case line == "$SHELL": // cmd.exe does not know the variable
		return Shell{Class: Cmd}
	case !strings.HasPrefix(line, "/") || strings.Contains(line, " "):
		return Shell{Class: Unknown}
	}
	return Named(path.Base(line))
}

// Of returns the shell of a terminal: the one from its Transport, else that of its program; zero: unknown.
func Of(d term.Description) Shell {
	if slices.Contains(Classes(), d.Shell) {
		return Shell{Class: Class(d.Shell)}
	}
	return OfProcess(d.Process)
}

// OfProcess returns the shell of a local terminal's program; zero: unknown.
func OfProcess(p *term.Process) Shell {
	if p == nil || len(p.Argv) == 0 {
		return Shell{}
	}
	name := strings.TrimPrefix(filepath.Base(p.Argv[0]), "-") // of a login shell
	switch sh := Named(strings.TrimSuffix(strings.ToLower(name), ".exe")); {
	case sh.Class != Unknown:
		return sh
	case strings.EqualFold(name, "powershell.exe"):
		return Shell{PowerShell, name}
	case strings.EqualFold(name, "cmd.exe"):
		return Shell{Cmd, name}
	}
	return Shell{}
}

// Interactive reports whether a shell that was started so reads commands from its terminal: it has no script, and
// no -c.
func Interactive(p *term.Process) bool {
	if p == nil {
		return true
	}
	for _, arg := range p.Argv[min(1, len(p.Argv)):] {
		if arg == "-c" || !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+") {
			return false
		}
	}
	return true
}

// Named returns the shell with that base name.
func Named(name string) Shell {
	switch name {
	case "sh", "bash", "rbash", "dash", "ash", "busybox", "zsh", "ksh", "ksh93", "mksh", "lksh", "pdksh", "oksh", "yash":
		return Shell{Posix, name}
	case "fish":
		return Shell{Fish, name}
	case "csh", "tcsh":
		return Shell{Csh, name}
	case "pwsh":
		return Shell{PowerShell, name}
	}
	return Shell{Unknown, name}
}
