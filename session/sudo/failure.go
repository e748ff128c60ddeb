package sudo

import (
	"context"
	"errors"
	"strings"

	"ptyctl/internal/lazyregexp"
	"ptyctl/term"
)

// The messages of sudo(8) in the locale C, and of shells, by which their meaning is known. Without a match a failed sudo
// is reported with its own words.
var (
	notFound   = lazyregexp.New(`(?im)\bsudo: (command )?not found|unknown command:? .*\bsudo\b`)
	noCommand  = lazyregexp.New(`(?m)^sudo: Command not found\.`) // of csh, with status 1
	needsTTY   = lazyregexp.New(`(?m)^sudo: (sorry, )?(you must have a tty|no tty present|a terminal is required)`)
	notAllowed = lazyregexp.New(`(?m)^(Sorry, user \S+ (is not allowed to execute|may not run sudo)|\S+ is not in the sudoers file|sudo-rs: I'm sorry)`)
	badOption  = lazyregexp.New(`(?mi)^(sudo: )?(invalid option|unrecognized option|error: unexpected argument|usage: sudo)`)
	fatal      = lazyregexp.New(`(?m)^sudo: (a password is required|no password was provided|\d+ incorrect password|` +
		`account |PAM |.*: command not found)`)
	ownWords = lazyregexp.New(`(?m)^(sudo: .*|Sorry, .*)$`)
)

// shown is the most that an error repeats of sudo's words, in bytes.
const shown = 300

// Failure returns why sudo has not run the command, as an *term.Error; nil if it has run it, or if nothing shows that it
// has not. stderr is what sudo and the command have printed there, or in a terminal. name is the secret's.
func (c *Command) Failure(name string, e term.Exit, stderr []byte) error {
	text := string(stderr)
	said := func() string {
		lines := ownWords.FindAllString(text, -1)
		if len(lines) == 0 {
			lines = []string{strings.TrimSpace(text)}
		}
		if s := term.ForeignLine(strings.Join(lines, "; "), shown); s != "" {
			return " (it said: " + s + ")"
		}
		return ""
	}
	failed := func(kind term.Kind, msg string) error {
		return &term.Error{Op: "exec", Kind: kind, Msg: msg + said() + "; the command was not run"}
	}
	err := c.Err()
	own, known := errors.AsType[*term.Error](err)
	switch {
	case known:
		return own
	case errors.Is(err, ErrRefused):
		return failed(term.AuthFailed, "sudo has not taken the value of secret "+name+" for the password, and it was not sent again")
	case errors.Is(err, ErrLate):
		return failed(term.AuthFailed, "sudo has asked for the password after more than "+patience.String()+
			", so secret "+name+" was not sent")
	case err != nil && !errors.Is(err, context.Canceled): // canceled: it ended before there was a value
		return failed(term.AuthFailed, "secret "+name+" was not sent: "+err.Error())
	case !e.Known || e.Code == 0 || c.Begun():
		return nil
	case needsTTY.MatchString(text):
		return failed(term.Unsupported, "sudo wants a terminal there (requiretty); run the command in the lane terminal")
	case notAllowed.MatchString(text):
		return failed(term.AccessDenied, "sudo does not permit this command to the account")
	case c.questions() > 0 && c.began == "":
		return nil // it may have run, and failed
	case e.Code == 127 && notFound.MatchString(text), noCommand.MatchString(text):
		return failed(term.Unsupported, "there is no sudo on the PATH of this account")
	case badOption.MatchString(text):
		return failed(term.Unsupported, "the sudo there does not know the options -k, -S and -p")
	case c.began == "" && !fatal.MatchString(text), err != nil:
		return nil //nolint:nilerr // a warning of sudo's, and a failure of the command; or it was stopped meanwhile
	}
	return failed(term.AuthFailed, "sudo has not run the command")
}
