package client

import (
	"context"
	"fmt"
	"strings"

	"ptyctl/control"
	"ptyctl/internal/tty"
	"ptyctl/term"
)

// MayType finds out whether a person may type into a session, before its holder loses the lock for nothing. It makes the
// later calls of c those of the person, by the name that others see.
func MayType(ctx context.Context, c *control.Client, session, person string) error {
	beat := SessionCall{Action: "heartbeat", SessionID: session, TaskID: person}
	if err := c.Call(ctx, ToolSession, beat, nil); IsCode(err, "POLICY_DENIED") {
		return err
	}
	// The heartbeat has no lock to renew; other failures of it say nothing about typing. The rules may allow typing only
	// to a person who shows a proof of that.
	if err := c.Attach(ctx, person); err != nil {
		return err
	}
	var now StatusResult
	if err := c.Call(ctx, ToolSession, SessionCall{Action: "status", SessionID: session}, &now); err != nil {
		return err
	}
	return TypingDenied(&now)
}

// TypingDenied returns the reason why the rules deny typing into a session, with advice; nil: they allow it.
func TypingDenied(r *StatusResult) error {
	rule := r.Session.Denied
	if rule == "" {
		return nil
	}
	remedy := "change that rule"
	if strings.HasPrefix(rule, "policy.typing ") {
		remedy = `set policy.typing = "allow"`
	}
	return term.Errorf(
		term.PolicyDenied,
		"typing is denied by %s: watch without --take, or have the operator %s; with server.control.control_auth_token "+
			"the rules leave typing to people",
		tty.Printable(rule),
		remedy,
	)
}

// ReadOnlyHint says how to step in where only watching is allowed. It returns other errors as they are.
func ReadOnlyHint(err error) error {
	if IsCode(err, "POLICY_DENIED") {
		return fmt.Errorf("%w (this ptyctl lets people watch only: start it with --control-mode readwrite)", err)
	}
	return err
}
