package term

import (
	"net"
	"strconv"
	"strings"
)

// A Redactor keeps the values of secrets out of all that is shown, logged or recorded later. Its methods may be called
// by any number of goroutines.
type Redactor interface {
	// Redact hides the value from now on. It is called before the value is sent, so that no output of the far side comes
	// first.
	Redact(v RedactedValue)
}

// A RedactedValue is the value of a secret that is about to be sent to a session or a host.
type RedactedValue struct {
	Value   []byte // copied: the caller wipes its own
	Session string // the session that gets it; empty: the login at Host; its session need not exist yet
	Host    string // the host that gets it, as Place names it; empty: the host of Session
	OneTime bool   // a code, which is hidden for 120 s and not for the life of the session
}

// Place returns the identity of a host by the address that all settings lead to. Names that differ only in case are one
// host. Programs of this machine have no host and no port.
func Place(host string, port int) string {
	if host == "" {
		return "local"
	}
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(host, ".")), strconv.Itoa(port))
}
