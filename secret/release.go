package secret

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ptyctl/internal/lazyregexp"
	"ptyctl/term"
)

// releases returns the first condition of a request that does not hold, as an error; nil if all do. For a command that
// reads the secret, it returns the form in which the command must run.
func (d *Definition) releases(ctx context.Context, r term.SecretRequest) (term.Ruling, error) {
	if !d.hasUse(r.Use) {
		return term.Ruling{}, d.refuse("uses", fmt.Sprintf("it is not for the use %q", r.Use))
	}
	if err := d.isAt(r.Peer); err != nil {
		return term.Ruling{}, err
	}
	switch r.Use {
	case term.SecretTerminal:
		return term.Ruling{}, d.typedAt(r)
	case term.SecretStdin:
		return d.readBy(ctx, r)
	}
	return term.Ruling{}, d.refuse("uses", fmt.Sprintf("a caller cannot ask for the use %q so", r.Use))
}

// isAt returns why a far side is not one of those to which the secret is bound.
func (d *Definition) isAt(p term.Peer) error {
	switch p.Protocol {
	case "local":
		if !d.Local {
			return d.refuse("local", "it is not for programs on this machine")
		}
		return nil
	case "serial":
		if p.Device == "" || !matchesAny(p.Device, d.Devices) {
			return d.refuse("devices", "it is not for this serial line")
		}
		return nil
	}
	switch {
	case !d.names(p.Names):
		return d.refuse("hosts", "it is not for this host, by any name that the operator's settings give it")
	case len(d.Users) > 0 && !matchesAny(p.User, d.Users):
		return d.refuse("users", "it is not for this account")
	}
	switch p.Protocol {
	case "ssh":
		switch p.HostKey {
		case term.HostKeyRecorded, term.HostKeyPinned:
		case "":
			return d.refuse("host_key", "this connection was made before there were secrets, so the host's key was not "+
				"compared with the operator's record")
		default:
			return d.refuse("host_key", "the host's key was not on the operator's record before this login")
		}
	case "telnet":
		if !d.Cleartext && p.TLS != "chain" && p.TLS != "pin" {
			return d.refuse("cleartext", "the connection is not protected by TLS with a verified certificate")
		}
	default:
		return d.refuse("hosts", "it is not for this kind of connection")
	}
	return nil
}

// typedAt returns why the secret must not be typed at the terminal's current screen.
func (d *Definition) typedAt(r term.SecretRequest) error {
	switch {
	case r.FullScreen:
		return d.refuse("screen", "a program has the whole screen")
	case r.Shell:
		return d.refuse("prompts", "the last line is the prompt of a shell, which would show it and run it")
	case !d.answersLine(r.Prompt):
		return d.refuse("prompts", "the last line is no question that it answers")
	case r.Echo && !d.AllowEcho:
		return d.refuse("echo", "the terminal shows the input")
	case r.Typed:
		return d.refuse("echo", "something was typed at that question, which may be shown, and the value would follow it")
	}
	return nil
}

// The questions of a terminal that a secret without Prompts answers: a colon or a question mark ends them, so that they
// are no text that happens to name a password.
var (
	lineAsksForPassword = lazyregexp.New(`(?i)\bpassword\b.{0,200}[:?] *$`)
	lineAsksForCode     = lazyregexp.New(`(?i)\b(?:code|one[- ]?time|otp|token|passcode)\b.{0,200}[:?] *$`)
)

// asksElsewhere matches the questions of a program that has connected to another place, such as ssh, and says so.
var asksElsewhere = lazyregexp.New(`@\S+'s password|^\(\S+@\S+\) |\w://`)

// answersLine reports whether the secret is an answer to a line of a terminal. A blank at its end makes no difference.
func (d *Definition) answersLine(line string) bool {
	bare := strings.TrimRight(line, " ")
	switch {
	case len(d.Prompts) > 0:
		return slices.ContainsFunc(d.Prompts, func(r *regexp.Regexp) bool {
			return r.MatchString(line) || r.MatchString(bare)
		})
	case asksElsewhere.MatchString(line):
		return false
	case d.OneTime:
		return lineAsksForCode.MatchString(line)
	}
	return lineAsksForPassword.MatchString(line) && !asksForCode.MatchString(line) && !asksForNew.MatchString(line)
}

// readBy returns why a command does not get the secret on its standard input, or the form in which the command must run.
func (d *Definition) readBy(ctx context.Context, r term.SecretRequest) (term.Ruling, error) {
	switch {
	case r.Sudo:
		return term.Ruling{}, nil
	case d.Commands == nil:
		return term.Ruling{}, d.refuse("commands", "it names no commands that may read it")
	}
	ruling, err := d.Commands(ctx, r.Action)
	if err != nil {
		return term.Ruling{}, d.refuse("commands", err.Error())
	}
	return ruling, nil
}
