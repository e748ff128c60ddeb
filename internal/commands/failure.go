package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"ptyctl/internal/cli"

	"ptyctl/control"
	"ptyctl/internal/app"
	"ptyctl/internal/tty"
	"ptyctl/term"
)

// The exit statuses, besides 0, 1 (it failed) and 2 (it was called wrongly).
const (
	exitNotReached  = 255 // exec, open, reopen: the host was not reached, or the command could not be run; as ssh(1)
	exitInterrupted = 130 // exec, open, reopen: ctrl-c; 128 + SIGINT
	exitNoStatus    = 254 // exec, open: it has ended, and the far side gave no status
)

// An exitStatus ends the program with a status of its own, and without a word.
type exitStatus struct{ code int }

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// A failureToReach is a host that could not be used.
type failureToReach struct {
	command string // that could not use it, for example "exec"
	error
}

func (e failureToReach) Error() string { return e.command + ": " + e.error.Error() }

func (e failureToReach) Unwrap() error { return e.error }

// notReached marks an error as the host's, not the command's on it. After ctrl-c the error is only a consequence.
func notReached(c *cli.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case c.Err() != nil:
		return exitStatus{exitInterrupted}
	}
	return failureToReach{c.Command.Name, err}
}

// remoteStatus passes a remote exit status on.
func remoteStatus(code *int, signal string) error {
	switch {
	case code != nil && *code == 0:
		return nil
	case code != nil:
		return exitStatus{*code}
	case signal != "":
		fmt.Fprintf(os.Stderr, "ptyctl: it was ended by the signal %s\n", tty.Printable(signal))
	default:
		fmt.Fprintln(os.Stderr, "ptyctl: it has ended, and the far side does not tell with which status")
	}
	return exitStatus{exitNoStatus}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// output is stdout, and knows whether anything was written to it.
type output struct {
	io.Writer
	used bool
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.used = o.used || len(p) > 0
	return o.Writer.Write(p)
}

// A jsonFailure is printed by a command with --json that fails before it has a result.
type jsonFailure struct {
	ErrorCode term.Kind `json:"error_code"`
	Message   string    `json:"message"`
}

// failure prints the failure of a command with --json, so that a program which reads stdout finds JSON there in any
// case. stderr has the same in words.
func (o *output) failure(line *cli.App, args []string, err error) error {
	if err == nil || o.used || errors.As(err, new(exitStatus)) && !isInterrupt(err) || !wantsJSON(line, args) {
		return nil
	}
	text := tty.Plain(err.Error())
	if isInterrupt(err) {
		text = "interrupted"
	}
	return printJSON(o, jsonFailure{failureCode(err), text})
}

// failureCode returns the code of a failure, as a tool would.
func failureCode(err error) term.Kind {
	if e, ok := errors.AsType[*term.Error](err); ok {
		return e.Kind
	}
	if e, ok := errors.AsType[*control.ToolError](err); ok {
		return term.Kind(e.Code)
	}
	switch {
	case isInterrupt(err), errors.Is(err, context.Canceled):
		return term.Canceled
	case errors.As(err, new(usageError)), errors.As(err, new(*app.ConfigError)), errors.Is(err, cli.ErrNoTopic):
		return term.InvalidArgument
	case errors.As(err, new(failureToReach)): // after a question of the login
		return term.ConnectFailed
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return term.NotFound
	case errors.Is(err, fs.ErrPermission):
		return term.AccessDenied
	case errors.As(err, new(*fs.PathError)), errors.As(err, new(*os.SyscallError)), errors.As(err, new(net.Error)):
		return term.IOError
	}
	return term.Internal
}

// isInterrupt reports whether a command has ended by ctrl-c, before it had a result.
func isInterrupt(err error) bool {
	status, ok := errors.AsType[exitStatus](err)
	return ok && status.code == exitInterrupted
}

// wantsJSON reports whether a command line has --json, also one that is wrong. The words that belong to another program
// do not count: those after --, or else after the first argument.
func wantsJSON(line *cli.App, words []string) bool {
	command, begin := commandOf(line, words)
	if command == nil { // no such command, so no word is a flag's value
		command = new(cli.Command)
	}
	if command.SkipFlagParsing {
		return false
	}
	others := endsWithCommand(command, words)
	for i := begin; i < len(words) && words[i] != "--"; i++ {
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(words[i], "-"), "-"), "=")
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch f := flagNamed(command, words[i]); {
		case !isFlag(words[i]):
			if others {
				return false
			}
		case name == "json":
			on, err := strconv.ParseBool(value)
			return !given || on || err != nil
		case given:
		case f == nil && !isFlag(next), f != nil && f.TakesValue() && (isText(f) || !isFlag(next)):
			i++ // its value; that of an unknown flag may be none, which only another program's words would show
		}
	}
	return false
}

// isText reports whether any word may be the flag's value: no number and no time begins with a dash and a letter.
func isText(f cli.Flag) bool {
	_, is := f.(*cli.StringFlag)
	return is
}
