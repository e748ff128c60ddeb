package config

import (
	"fmt"
	"strings"
)

// Errors holds every problem that [Load] found.
type Errors struct {
	Problems []Problem // at least one
}

// Error returns one line for each problem.
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

// Unwrap returns the problems for [errors.Is] and [errors.As].
func (e *Errors) Unwrap() []error {
	errs := make([]error, len(e.Problems))
	for i, p := range e.Problems {
		errs[i] = p
	}
	return errs
}

// Problem is a fault that must be corrected before ptyctl can start.
type Problem struct {
	Where   string // "FILE:LINE:COLUMN" (columns count bytes from 1), "FILE", an environment variable or a flag
	Key     string // path of the key; "" if no known key is at fault
	Message string // the fault and the correction
	Err     error  // the cause, for example [fs.ErrNotExist]; nil if Message is complete
}

// Error returns "Where: Message".
func (p Problem) Error() string { return p.Where + ": " + p.Message }

// Unwrap returns the cause.
func (p Problem) Unwrap() error { return p.Err }

// Warning is a setting without effect that its author should know about.
type Warning struct {
	Where   string // as in Problem
	Message string
}

// String returns "Where: Message".
func (w Warning) String() string { return w.Where + ": " + w.Message }
