package toolset

import (
	"errors"

	"ptyctl/internal/destination"
	"ptyctl/mcpapi/schema"
	"ptyctl/term"
)

// HostOf reads a host such as alice@web1:22 from an argument. password is advice for a host with a password in it.
func HostOf(ch *schema.Checker, argument, text, password string) (destination.Destination, error) {
	d, err := destination.Parse(text)
	switch {
	case errors.Is(err, destination.ErrPassword):
		err = ch.Invalid(argument, nil, "%s holds a password, which would be shown with it: %s", argument, password)
	case err != nil:
		err = ch.Invalid(argument, nil,
			"%[1]s is no host: %[2]v; host is a name or an address, such as web1, alice@web1:22 or [::1]:22", argument, err)
	}
	return d, err
}

// HostNamed adds to an error that the call has named t in place of a session, without details of the connection.
func HostNamed(t term.Target, err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Facts = e.Facts.With(term.HostNamed{Protocol: t.Protocol, Host: t.Host, User: t.User, Port: t.Port})
	return &named
}
