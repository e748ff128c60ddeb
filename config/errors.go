package config

import (
	"fmt"
	"strings"
)

// Errors is every problem that [Load] found.
type Errors struct {
	Problems []Problem // at least one
}

// Error gives one line for each problem.
func (e *Errors) Error() string {
	var b strings.Builder
	noun := "problem"
	if len(e.Problems) != 1 {
		noun = "problems"
	}
	fmt.Fprintf(&b, "%d %s in the configuration:", len(e.Problems), noun)
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.Error())
	}
	return b.String()
}

// Unwrap gives the problems to [errors.Is] and [errors.As].
func (e *Errors) Unwrap() []error {
	errs := make([]error, len(e.Problems))
	for i, p := range e.Problems {
		errs[i] = p
	}
	return errs
}

// Problem is one thing that must be corrected before ptyctl can start.
type Problem struct {
	Where   string // "FILE:LINE:COLUMN" (columns count bytes from 1), "FILE", an environment variable or a flag
	Key     string // the key's path, if the problem concerns a known key
	Message string // what is wrong; what to do
	Err     error  // the cause, such as [fs.ErrNotExist]; nil if Message says it all
}

// Error returns "Where: Message".
func (p Problem) Error() string { return p.Where + ": " + p.Message }

// Unwrap returns the cause.
func (p Problem) Unwrap() error { return p.Err }

// Warning is something that has no effect and that its writer should know of.
type Warning struct {
	Where   string // as in Problem
	Message string
}

// String returns "Where: Message".
func (w Warning) String() string { return w.Where + ": " + w.Message }
