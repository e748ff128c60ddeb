package sshconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	maxDepth = 16 // levels of Include, as in OpenSSH
	// Limits that only a mistake or an attack reaches.
	maxFiles = 4096    // files opened or searched, in both passes
	maxBytes = 4 << 20 // over all files
	maxLines = 1 << 20 // over all files and both passes

	// readTimeout limits reading a special file that looks regular but waits for events, for
	// example /proc/kmsg.
	readTimeout = 2 * time.Second
)

// budget counts what Evaluate has read so far.
type budget struct{ files, bytes, lines, entries int }

// FileError is a configuration file that the caller requested and that is unusable.
type FileError struct {
	File string
	Err  error // the cause and the solution
}

// Error names the file.
func (e *FileError) Error() string { return fmt.Sprintf("configuration file %s: %v", e.File, e.Err) }

// Unwrap returns the cause, such as fs.ErrNotExist.
func (e *FileError) Unwrap() error { return e.Err }

// PermissionError is the error of a file of the operator, or an included one, that other users could have written.
// OpenSSH refuses such files too.
type PermissionError struct {
	File   string
	Reason string
	Remedy string // the command to run
}

// Error names the problem and the command that solves it.
func (e *PermissionError) Error() string {
	return fmt.Sprintf("bad owner or permissions on %s: %s; run: %s", e.File, e.Reason, e.Remedy)
}

// file is one configuration file to read.
type file struct {
	path   string
	source Source
	depth  int
	// checked files must not be writable by others: the user's own file and
	// every included one.
	checked bool
	// dormant files are included by a block that does not match. They are read for their
	// warnings and for Match final, but set no value.
	dormant bool
}

// cacheKey includes checked, so that a file read without a check cannot replace a checked
// one.
type cacheKey struct {
	path    string
	checked bool
}

// files reads the configuration files in the order of ssh(1).
func (e *evaluator) files() error {
	if e.opt.NoFiles {
		return nil
	}
	if e.opt.CallerFile != "" {
		if strings.EqualFold(e.opt.CallerFile, "none") {
			return nil
		}
		err := e.read(file{path: e.opt.CallerFile, source: CallerFile})
		if missing(err) || unreadable(err) {
			return &FileError{File: e.opt.CallerFile, Err: err}
		}
		return err
	}
	for _, f := range []file{
		{path: e.opt.UserFile, source: UserFile, checked: true},
		{path: e.opt.SystemFile, source: SystemFile},
	} {
		if strings.EqualFold(f.path, "none") {
			continue
		}
		err := e.read(f)
		if unreadable(err) {
			e.warn(Warning{
				Origin: Origin{Source: f.source, File: f.path}, Applies: true,
				Text: "the file cannot be read, and was skipped: check its permissions",
			})
			continue
		}
		if err != nil && !missing(err) {
			return err
		}
	}
	return nil
}

// missing reports whether read did not find a file. This error and unreadable are harmless; a
// *FileError ends the evaluation.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) && !errors.As(err, new(*FileError))
}

// unreadable reports whether read was not allowed to open a file.
func unreadable(err error) bool {
	return errors.Is(err, fs.ErrPermission) && !errors.As(err, new(*FileError))
}

// read evaluates one file.
func (e *evaluator) read(f file) error {
	lines, err := e.load(f)
	if err != nil {
		return err
	}
	active := true // until the first Host or Match
	for i, line := range lines {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		origin := Origin{Source: f.source, File: f.path, Line: i + 1}
		if e.budget.lines++; e.budget.lines > maxLines {
			return &FileError{
				File: f.path,
				Err: fmt.Errorf(
					"line %d: more than %d lines were read: check the Include lines for loops",
					i+1,
					maxLines,
				),
			}
		}
		if err := e.line(f, line, origin, &active); err != nil {
			return err
		}
	}
	return nil
}

// countFile ends an evaluation with too many files, for example after a loop of Include
// lines.
func (e *evaluator) countFile(path string) error {
	if e.budget.files++; e.budget.files > maxFiles {
		return &FileError{
			File: path,
			Err:  fmt.Errorf("more than %d files are included: check the Include lines", maxFiles),
		}
	}
	return nil
}

// load returns the lines of a file, from the cache if it was read before.
func (e *evaluator) load(f file) ([]string, error) {
	if err := e.countFile(f.path); err != nil {
		return nil, err
	}
	// Both passes must see the same text, even if the file changes meanwhile.
	key := cacheKey{f.path, f.checked}
	if lines, ok := e.cache[key]; ok {
		return lines, nil
	}
	if f.source == CallerFile && e.opt.AllowPath != nil {
		if err := e.opt.AllowPath(f.path); err != nil {
			return nil, &FileError{File: f.path, Err: err}
		}
	}
	// O_NONBLOCK, because opening a FIFO would wait for its writer.
	r, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fs.ErrNotExist
	case missing(err), unreadable(err):
		return nil, err
	case err != nil:
		return nil, &FileError{File: f.path, Err: err}
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return nil, &FileError{File: f.path, Err: err}
	}
	if f.checked {
		if err := checkPermissions(f.path, info); err != nil {
			return nil, err
		}
	}
	var data []byte
	switch {
	case info.Mode().IsRegular():
		err := r.SetReadDeadline(time.Now().Add(readTimeout))
		if err != nil && !errors.Is(err, os.ErrNoDeadline) {
			return nil, &FileError{File: f.path, Err: err}
		}
		if data, err = io.ReadAll(io.LimitReader(r, int64(maxBytes-e.budget.bytes+1))); err != nil {
			return nil, &FileError{File: f.path, Err: err}
		}
		if e.budget.bytes += len(data); e.budget.bytes > maxBytes {
			return nil, &FileError{
				File: f.path,
				Err: fmt.Errorf(
					"more than %d bytes were read: this is not an ssh_config, or includes other files",
					maxBytes,
				),
			}
		}
	case info.IsDir(), f.path == os.DevNull:
		// Both count as empty; "Include dir" is a common mistake.
	default:
		return nil, &FileError{File: f.path, Err: errors.New("it is not a regular file")}
	}
	text := strings.TrimPrefix(string(data), "\ufeff") // the byte order mark of some editors
	lines := strings.Split(text, "\n")
	e.cache[key] = lines
	return lines, nil
}

// line evaluates one line. An error ends the evaluation.
func (e *evaluator) line(f file, line string, origin Origin, active *bool) error {
	keyword, rest := splitLine(line)
	if keyword == "" {
		return nil
	}
	// An error in Host or Match decides about the whole block. The line itself is in none, so it is read for every host,
	// whatever the block before it says.
	block := strings.EqualFold(keyword, "Host") || strings.EqualFold(keyword, "Match")
	applies := (*active || block) && !f.dormant
	warn := func(err error) {
		e.warn(Warning{Origin: origin, Keyword: keyword, Text: err.Error(), Applies: applies})
	}
	args, err := splitArgs(rest)
	if err == nil && len(args) == 0 && rest == "" {
		err = errMissing
	}
	if err != nil && block {
		*active = false // an unreadable condition must not match
		warn(err)
		return nil
	}
	if e.variables != nil && err == nil {
		e.refer(keyword, args, rest)
	}
	switch strings.ToLower(keyword) {
	case "host":
		if e.aliases != nil {
			e.alias(args)
		}
		*active, err = e.matchHost(args)
	case "match":
		*active, err = e.match(args, origin, f.dormant)
	case "include":
		return e.include(f, args, origin, applies)
	default:
		e.keyword(keyword, input{args: args, tail: rest}, err, origin, applies)
		return nil
	}
	if err != nil {
		*active = false
		warn(err)
	}
	return nil
}

// keyword evaluates a line that sets a value. err is an error already found in the line.
func (e *evaluator) keyword(name string, in input, err error, origin Origin, applies bool) {
	k := lookup(name)
	if k == nil {
		if err != nil || !e.ignored(name) {
			if origin.Caller() {
				// The file may not be a configuration, and the word may be a secret.
				name = ""
			}
			text := "this keyword is not known, and the line was skipped: " +
				"check its spelling, or list it in IgnoreUnknown"
			if err != nil {
				text = err.Error()
			}
			e.warn(Warning{Origin: origin, Keyword: name, Text: text, Applies: applies})
		}
		return
	}
	if k.Class == Ignore {
		return
	}
	var args []string
	if err == nil {
		args, err = k.check(in, origin)
	}
	if err == nil && applies {
		err = e.assign(k, args, origin)
	}
	// A strict keyword that is already decided cannot change the connection any more.
	switch {
	case err == nil:
	case applies && k.Strict && !e.decided(k):
		e.refuse(
			k.Name,
			origin,
			err.Error()+"; this keyword cannot be skipped, because the connection would be a different one",
		)
	default:
		e.warn(Warning{Origin: origin, Keyword: name, Text: err.Error(), Applies: applies})
	}
}

// include reads the files that an Include line names.
func (e *evaluator) include(f file, args []string, origin Origin, applies bool) error {
	warn := func(text string) {
		e.warn(Warning{Origin: origin, Keyword: "Include", Text: text, Applies: applies})
	}
	if len(args) == 0 {
		warn(errMissing.Error())
		return nil
	}
	if f.depth == maxDepth {
		return &FileError{
			File: f.path,
			Err: fmt.Errorf(
				"line %d: Include is nested more than %d deep: check for a file that includes itself",
				origin.Line,
				maxDepth,
			),
		}
	}
	for _, arg := range args {
		if err := e.countFile(f.path); err != nil {
			return err
		}
		pattern, err := e.includePath(f, arg, origin)
		if err != nil {
			warn(err.Error() + "; the file was not included")
			continue
		}
		paths, err := e.glob(pattern)
		if err != nil {
			warn(err.Error())
			continue
		}
		for _, path := range paths {
			err := e.read(file{path: path, source: f.source, depth: f.depth + 1, checked: true, dormant: !applies})
			var bad *PermissionError
			switch {
			case err == nil, missing(err):
			case unreadable(err):
				warn(path + " cannot be read, and was skipped: check its permissions")
			case errors.As(err, &bad) && !applies:
				warn(err.Error())
			default:
				return err
			}
		}
	}
	return nil
}

// includePath expands the argument of Include. A relative path starts in ~/.ssh, or in
// /etc/ssh for the system's file.
func (e *evaluator) includePath(f file, arg string, origin Origin) (string, error) {
	if arg == "" {
		return "", errors.New("an argument is empty")
	}
	path, err := expand(arg, e.tokens(e.connectHost()), e.env(origin))
	if err != nil {
		return "", err
	}
	if f.source == SystemFile && strings.HasPrefix(path, "~") {
		return "", fmt.Errorf("%q: the system's file cannot include from a home directory", arg)
	}
	if path, err = e.tilde(path); err != nil {
		return "", err
	}
	switch {
	case filepath.IsAbs(path):
		return path, nil
	case f.source == SystemFile:
		return filepath.Join(filepath.Dir(e.opt.SystemFile), path), nil
	default:
		return filepath.Join(e.opt.HomeDir, ".ssh", path), nil
	}
}
