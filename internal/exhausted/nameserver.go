package exhausted

import (
	"fmt"
	"time"

	"ptyctl/term"
)

// NoNameServer returns the error for a host whose name could not be resolved because no name server answered in time.
func NoNameServer(host string, limit time.Duration) *term.Error {
	return &term.Error{
		Kind: term.ConnectTimeout, Reason: term.ReasonNameServer,
		Msg:    fmt.Sprintf("the name of %s was not resolved within %s: no name server answers (dns)", host, limit),
		Advice: "check the name servers of this machine, or give a numeric address",
	}
}
