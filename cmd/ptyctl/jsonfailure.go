package main

import (
	"errors"
	"io"
	"slices"
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
	ErrorCode term.Kind `json:"error_code,omitempty"`
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

// failureCode returns the code of a failure as a tool would, or "" for one that no tool has.
func failureCode(err error) term.Kind {
	if e, ok := errors.AsType[*term.Error](err); ok {
		return e.Kind
	}
	if e, ok := errors.AsType[*control.ToolError](err); ok {
		return term.Kind(e.Code)
	}
	switch {
	case isInterrupt(err):
		return term.Canceled
	case errors.As(err, new(usageError)), errors.As(err, new(*app.ConfigError)):
		return term.InvalidArgument
	case errors.As(err, new(failureToReach)): // after a question of the login
		return term.ConnectFailed
	}
	return ""
}

// isInterrupt reports whether a command has ended by ctrl-c, before it had a result.
func isInterrupt(err error) bool {
	status, ok := errors.AsType[exitStatus](err)
	return ok && status.code == exitInterrupted
}

// wantsJSON reports whether a command line has --json. The words that belong to another program do not count: those
// after --, or else after the first argument.
func wantsJSON(line *cli.App, words []string) bool {
	command, begin := commandOf(line, words)
	if command == nil {
		return false
	}
	others := strings.Contains(command.ArgsUsage, "--") && !slices.Contains(words, "--")
	for i := begin; i < len(words) && words[i] != "--"; i++ {
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(words[i], "-"), "-"), "=")
		switch {
		case !isFlag(words[i]):
			if others {
				return false
			}
		case name == "json":
			on, err := strconv.ParseBool(value)
			return !given || on || err != nil
		default:
			if f := flagNamed(command, words[i]); f != nil && f.TakesValue() && !given {
				i++
			}
		}
	}
	return false
}
