package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"ptyctl/control"
	"ptyctl/internal/app"
	"ptyctl/internal/tty"
	"ptyctl/term"
)

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
	// cli returns an ExitCoder for help about an unknown command.
	case errors.As(err, new(usageError)), errors.As(err, new(*app.ConfigError)), errors.As(err, new(cli.ExitCoder)):
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
func isText(f cli.DocGenerationFlag) bool {
	_, is := f.(*cli.StringFlag)
	return is
}
