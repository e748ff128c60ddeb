package main

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"ptyctl/internal/tty"
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
