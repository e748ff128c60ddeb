package hostkeys

import (
	"context"
	"fmt"
	"strings"
)

// Question is the question of policy Ask about a host without a recorded key: is this the
// host that the user means to reach?
type Question struct {
	Name        string  // as looked up: an alias, a host, or [host]:port
	Address     string  // of the server; empty if unknown
	Type        string  // of the offered key
	Fingerprint string  // of the offered key; also a valid answer, meaning yes
	Certificate string  // why the offered certificate was rejected; empty without one
	OtherNames  []Entry // at most eight lines with this key under other names
	Again       bool    // the last answer was not yes, no or the fingerprint
}

// maxAsked is the number of attempts; after the last one the answer counts as no.
const maxAsked = 3

// String returns the question as text of several lines, without a final line end. The words
// are those of ssh(1).
func (q Question) String() string {
	if q.Again {
		return "Please type 'yes', 'no' or the fingerprint:"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The authenticity of host %q", q.Name)
	if q.Address != "" {
		fmt.Fprintf(&b, " (%s)", q.Address)
	}
	fmt.Fprintf(&b, " can't be established.\n%s key fingerprint is %s.\n", q.Type, q.Fingerprint)
	if q.Certificate != "" {
		fmt.Fprintf(&b, "Its certificate was rejected: %s.\n", q.Certificate)
	}
	if len(q.OtherNames) == 0 {
		b.WriteString("This key is not known by any other names.\n")
	} else {
		b.WriteString("This key is known by these other names:\n")
		for _, e := range q.OtherNames {
			fmt.Fprintf(&b, "    %s: %q\n", e, e.Names)
		}
	}
	b.WriteString("Are you sure you want to continue connecting (yes/no/[fingerprint])?")
	return b.String()
}

// put asks until it gets a valid answer, at most maxAsked times.
func (q Question) put(ctx context.Context, ask func(context.Context, Question) (string, error)) (yes bool, err error) {
	for range maxAsked {
		answer, err := ask(ctx, q)
		if err != nil {
			return false, fmt.Errorf("the question about the host key of %q was not answered: %w", q.Name, err)
		}
		answer = strings.TrimSpace(answer)
		switch {
		case strings.EqualFold(answer, "yes"), answer == q.Fingerprint:
			return true, nil
		case answer == "", strings.EqualFold(answer, "no"):
			return false, nil
		}
		q.Again = true
	}
	return false, nil
}
