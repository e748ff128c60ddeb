package session

import (
	"bytes"
	"context"
	"path"
	"path/filepath"
	"strings"
	"time"

	"ptyctl/term"
)

// A Class says what reads the lines that are typed into a terminal.
type Class string

// The classes.
const (
	ClassPosix      Class = "posix"
	ClassFish       Class = "fish"
	ClassCsh        Class = "csh"
	ClassPowerShell Class = "powershell"
	ClassCmd        Class = "cmd"
	ClassDevice     Class = "device"  // the command line of a network device
	ClassUnknown    Class = "unknown" // nothing is known; nothing is assumed
)

// Classes returns the classes a caller may name.
func Classes() []string {
	return []string{
		string(ClassPosix),
		string(ClassFish),
		string(ClassCsh),
		string(ClassPowerShell),
		string(ClassCmd),
		string(ClassDevice),
		string(ClassUnknown),
	}
}

// takesMarker reports whether lines for the class can carry an exit code marker.
func (c Class) takesMarker() bool { return c != ClassDevice && c != ClassUnknown }

// A shell is what is known of the program behind a terminal.
type shell struct {
	class Class
	name  string // base name of the login shell, if known
}

// classOf reads the answer to "echo $SHELL", which is a valid command in every shell we know.
func classOf(answer []byte) shell {
	line := string(bytes.TrimSpace(answer))
	line = strings.TrimSpace(line[strings.LastIndexByte(line, '\n')+1:]) // start-up files may talk before it
	switch {
	case line == "$SHELL": // cmd.exe does not know the variable
		return shell{class: ClassCmd}
	case !strings.HasPrefix(line, "/") || strings.Contains(line, " "):
		return shell{class: ClassUnknown}
	}
	return shellNamed(path.Base(line))
}

// programShell is what the program of a local session says about the lines that it reads.
func programShell(p *term.Process) shell {
	if p == nil || len(p.Argv) == 0 {
		return shell{}
	}
	name := strings.TrimPrefix(filepath.Base(p.Argv[0]), "-") // of a login shell
	switch sh := shellNamed(strings.TrimSuffix(strings.ToLower(name), ".exe")); {
	case sh.class != ClassUnknown:
		return sh
	case strings.EqualFold(name, "powershell.exe"):
		return shell{ClassPowerShell, name}
	case strings.EqualFold(name, "cmd.exe"):
		return shell{ClassCmd, name}
	}
	return shell{}
}

func shellNamed(name string) shell {
	switch name {
	case "sh", "bash", "rbash", "dash", "ash", "busybox", "zsh", "ksh", "ksh93", "mksh", "lksh", "pdksh", "oksh", "yash":
		return shell{ClassPosix, name}
	case "fish":
		return shell{ClassFish, name}
	case "csh", "tcsh":
		return shell{ClassCsh, name}
	case "pwsh":
		return shell{ClassPowerShell, name}
	}
	return shell{ClassUnknown, name}
}

// farSide returns what reads the lines of a command: what the call says, else what is expected of the session, else
// what is found out. A device is never asked; a shell is, because its name tells how long a line may be. What a marker
// has shown at this prompt counts more than what is expected.
func (s *Session) farSide(ctx context.Context, asked, expected Class) shell {
	if asked == "" && expected == ClassDevice {
		asked = expected
	}
	sh := s.shellOf(ctx, asked)
	shown := sh.name == "" && sh.class.takesMarker()
	if asked == "" && expected != "" && sh.class != expected && !shown {
		sh = shell{class: expected}
	}
	return sh
}

// classLimit is how long the question for the shell may take.
const classLimit = 5 * time.Second

// shellOf returns the class of the terminal's far side: what the caller says; else, away from the login shell's prompt,
// what a marker has shown there; else what was found out before; else what the login shell is, asked over a channel of
// its own until there is an answer. A terminal without such a channel is never asked: a device might take the question
// for a command.
func (s *Session) shellOf(ctx context.Context, asked Class) shell {
	line := s.lastLine()
	s.mu.Lock()
	known := s.shell
	nested := shell{class: s.nested}
	if s.nested == known.class || known.name != "" && s.isFirstLocked(line) && sameSign(line, s.first) {
		nested.class = ""
	}
	if known.name == "" && s.began != "" && line == s.first { // back where it began, from a shell of another class
		nested.class = s.began
	}
	s.mu.Unlock()
	switch {
	case asked != "" && asked != known.class:
		return shell{class: asked}
	case asked == "" && nested.class != "":
		return nested
	case known.class != "":
		return known
	}
	return s.loginShell(ctx)
}

// loginShell is what the far side runs commands with, beside the terminal: what was found out before, or what it answers
// over a channel of its own.
func (s *Session) loginShell(ctx context.Context) shell {
	s.mu.Lock()
	known, x := s.shell, s.execer
	s.mu.Unlock()
	if known.class != "" {
		return known
	}
	found := shell{class: ClassUnknown}
	if x == nil {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, classLimit)
	defer cancel()
	var out bytes.Buffer
	exit, err := x.Exec(
		ctx,
		term.ExecRequest{Command: "echo $SHELL"},
		&limitedWriter{w: &out, left: 512},
		&limitedWriter{},
	)
	if err != nil || ctx.Err() != nil {
		return found // not an answer: ask again next time
	}
	if exit.Known && exit.Code == 0 {
		found = classOf(out.Bytes())
	}
	s.mu.Lock()
	s.shell = found
	s.mu.Unlock()
	return found
}

// sameSign reports whether two prompts end in the same sign, where that of the superuser is the user's. Shells of
// different classes that otherwise show the same differ in it.
func sameSign(a, b string) bool {
	sign := func(s string) byte {
		s = strings.TrimRight(s, " ")
		if strings.HasSuffix(s, "#") {
			return '$'
		}
		return s[len(s)-1]
	}
	return sign(a) == sign(b)
}

// shown remembers that a marker came from a shell of that class, at that prompt; an empty class says that the shell is of
// another than the one last shown.
func (s *Session) shown(class Class, prompt string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nested = class
	if class == "" || prompt == s.first {
		s.began = class
	}
}

// A limitedWriter keeps the first bytes and drops the rest.
type limitedWriter struct {
	w    *bytes.Buffer
	left int
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if n := min(l.left, len(p)); n > 0 {
		l.w.Write(p[:n])
		l.left -= n
	}
	return len(p), nil
}
