package main

import (
	"errors"
	"io"
	"strings"

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
func (o *output) failure(args []string, err error) error {
	if err == nil || o.used || errors.As(err, new(exitStatus)) || !wantsJSON(args) {
		return nil
	}
	f := jsonFailure{Message: tty.Plain(err.Error())}
	if e, ok := errors.AsType[*term.Error](err); ok {
		f.ErrorCode = e.Kind
	} else if errors.As(err, new(usageError)) {
		f.ErrorCode = term.InvalidArgument
	}
	return printJSON(o, f)
}

// wantsJSON reports whether a command line has --json. The words after -- belong to another program.
func wantsJSON(args []string) bool {
	for _, a := range args {
		switch strings.TrimPrefix(a, "-") {
		case "-":
			return false
		case "json", "-json", "-json=true":
			return true
		}
	}
	return false
}
