package ptyx

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ptyctl/term"
)

// Limits on a caller's input. Linux accepts no argument longer than maxArgument
// (execve(2), MAX_ARG_STRLEN).
const (
	maxArguments = 4096
	maxArgument  = 128<<10 - 1
	maxTotal     = 1 << 20 // arguments and environment together
)

// A command is a checked program with its arguments and settings.
type command struct {
	path   string // absolute
	argv   []string
	env    []string
	dir    string // absolute
	title  string
	limits term.Limits

	sandbox  Sandbox
	endFirst bool
}

// command checks the caller's program and settings, and finds the program's file.
func (h Host) command(from *term.Environment, o term.LocalOptions, termName string) (command, error) {
	if err := checkArguments(o); err != nil {
		return command{}, err
	}
	c := command{
		argv:    o.Argv,
		title:   o.Title,
		limits:  o.Limits.Min(h.Limits),
		sandbox: h.Sandbox, endFirst: h.EndFirst,
		env: h.environment(from, o, termName),
	}
	if err := checkLimits(c.limits); err != nil {
		return command{}, err
	}
	if err := c.sandbox.Check(); err != nil {
		return command{}, err
	}
	var err error
	if c.dir, err = workingDir(from, o.Dir); err != nil {
		return command{}, err
	}
	if o.Program != "" {
		c.path, err = judged(o.Program)
		return c, err
	}
	path := valueOf(c.env, "PATH")
	if path == "" && o.Bare { // like os/exec, and like the operator's rules, which search here too
		path = ownPath(from)
	}
	c.path, err = lookUp(o.Argv[0], path, c.dir)
	return c, err
}

// invalid returns an InvalidArgument error about one field.
func invalid(field term.Field, format string, args ...any) *term.Error {
	return &term.Error{
		Op:    "open",
		Kind:  term.InvalidArgument,
		Msg:   fmt.Sprintf(format, args...),
		Facts: term.Facts{term.ArgumentFault{Field: field}},
	}
}

// checkArguments refuses arguments and environments that no system could start.
func checkArguments(o term.LocalOptions) error {
	if len(o.Argv) == 0 || o.Argv[0] == "" {
		return invalid(
			term.FieldArgv,
			`the arguments are empty: pass the program and its arguments, for example ["bash"]; `+
				`no shell is started unless argv names one`,
		)
	}
	if len(o.Argv) > maxArguments {
		return invalid(
			term.FieldArgv,
			"there are %d arguments; %d are allowed: pass long lists by a file or as stdin",
			len(o.Argv),
			maxArguments,
		)
	}
	total := 0
	for i, a := range o.Argv {
		if err := checkText(term.FieldArgv.At(i), fmt.Sprintf("argument %d", i), a); err != nil {
			return err
		}
		total += len(a) + 1
	}
	for i, e := range o.Env {
		field, what := term.FieldLocalEnv.At(i), fmt.Sprintf("variable %d", i)
		if e.Name == "" || strings.Contains(e.Name, "=") {
			return invalid(field, "%s must have the form NAME=value", what)
		}
		if err := checkText(field, what, e.Name+"="+e.Value); err != nil {
			return err
		}
		total += len(e.Name) + len(e.Value) + 2
	}
	if total > maxTotal {
		return invalid(
			term.FieldArgv,
			"arguments and variables have %d bytes together; %d are allowed: pass long data by a file or as stdin",
			total,
			maxTotal,
		)
	}
	return nil
}

// checkText checks one argument or variable. what is its name in messages.
func checkText(field term.Field, what, text string) error {
	switch {
	case strings.IndexByte(text, 0) >= 0:
		return invalid(
			field,
			"%s contains a NUL byte, which is not possible in an argument; pass such data as stdin",
			what,
		)
	case len(text) > maxArgument:
		return invalid(
			field,
			"%s has %d bytes; %d are allowed: pass long data by a file or as stdin",
			what,
			len(text),
			maxArgument,
		)
	}
	return nil
}

// workingDir returns the folder to start in; empty means the folder of from.
func workingDir(from *term.Environment, dir string) (string, error) {
	if strings.IndexByte(dir, 0) >= 0 {
		return "", invalid(term.FieldDir, "the working directory contains a NUL byte; pass the path of a folder")
	}
	abs, err := from.Abs(dir)
	if err != nil {
		return "", invalid(term.FieldDir, "the working directory %q: %v; pass an absolute path", dir, err)
	}
	switch info, err := os.Stat(abs); {
	case err != nil:
		return "", invalid(
			term.FieldDir, "the working directory %s: %v; pass the path of an existing folder", abs, reason(err),
		)
	case !info.IsDir():
		return "", invalid(term.FieldDir, "the working directory %s is not a folder; pass the path of one", abs)
	}
	return abs, nil
}

// judged checks the file that the operator's rules have chosen. Argv[0] is not
// looked up again, because the lookup could find another file now.
func judged(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", invalid(term.FieldArgv.At(0), "the program %q was not judged by its whole path", path)
	}
	found, err := executable(path)
	if err != nil {
		return "", invalid(term.FieldArgv.At(0), "%s cannot be started: %v", path, reason(err))
	}
	return found, nil
}

// lookUp finds the program: by its path, relative to dir, or by its name in the
// PATH of the program itself. Folders of PATH that are not absolute are ignored: a
// program in the working directory must be named with a slash.
func lookUp(name, path, dir string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) || strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		found, err := executable(name)
		if err != nil {
			return "", invalid(term.FieldArgv.At(0), "%s cannot be started: %v", name, reason(err))
		}
		return found, nil
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		if found, err := executable(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	return "", invalid(
		term.FieldArgv.At(0),
		"there is no program %q in PATH (%s); argv is the program and its arguments as separate elements: "+
			"for a command line pass [\"sh\", \"-c\", \"...\"]",
		name,
		path,
	)
}

// reason returns the cause of a failed file operation without the path; the
// messages here name it.
func reason(err error) error {
	if e, ok := err.(*fs.PathError); ok { //nolint:errorlint // the outermost, as package os returns it
		return e.Err
	}
	return err
}
