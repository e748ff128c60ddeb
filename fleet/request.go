package fleet

import (
	"fmt"
	"strings"

	"ptyctl/fleet/batch"
	"ptyctl/quote"
	"ptyctl/term"
)

// check refuses requests that cannot be run anywhere, and fills Command in for people.
func (r *Request) check() error {
	invalid := func(format string, args ...any) error {
		e := term.Errorf(term.InvalidArgument, format, args...)
		e.Op = "fleet"
		return e
	}
	if r.Copy != nil {
		if r.Command != "" || r.Argv != nil {
			return invalid("a run is a command or a copy, and not both")
		}
		if err := r.Copy.check(r.Hosts); err != nil {
			return err
		}
		r.Command = r.Copy.words()
	}
	if r.Argv != nil {
		if len(r.Argv) == 0 || r.Argv[0] == "" {
			return invalid("the first word is empty; it is the program to run")
		}
		r.Command = quote.Show(r.Argv)
	}
	switch {
	case strings.TrimSpace(r.Command) == "":
		return invalid("the command is empty; pass the command to run")
	case strings.IndexByte(r.Command, 0) >= 0:
		return invalid("the command holds a NUL byte, which no shell can take")
	}
	return r.checkHosts(invalid)
}

// checkHosts refuses hosts that cannot be distinguished, and meaningless numbers of hosts.
func (r *Request) checkHosts(invalid func(format string, args ...any) error) error {
	if len(r.Hosts) == 0 {
		return invalid("there is no host to run on; name at least one")
	}
	seen := make(map[string]bool, len(r.Hosts))
	for _, h := range r.Hosts {
		if seen[h.Label] {
			return invalid("the host %q is named twice", h.Label)
		}
		seen[h.Label] = true
	}
	for _, c := range []batch.Count{r.Rules.Size, r.Rules.StopOnFailures} {
		if c.N < 0 || c.Percent < 0 || c.Percent > 100 {
			return invalid("a number of hosts is negative, or a percentage is above 100")
		}
	}
	return nil
}

// plural writes a number of things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
