package toolset

import "ptyctl/mcpapi/wire"

// A Set is a group of tools that an operator offers, or does not.
type Set struct {
	Name         string
	Tools        []*Tool
	Instructions string // for the model: how the tools work together

	// Fail is the form that failures take where the contract of the tools is that of another program. Nil: ours.
	Fail    func(error) wire.Answer
	Failure any // the struct of that form, see schema.Declare
}

// Asks reports whether a call can have the person at the client asked. The contract of another program has no such
// results.
func (s *Set) Asks() bool { return s.Fail == nil }

// FailureForm is the struct of a failure.
func (s *Set) FailureForm() any {
	if s.Fail == nil {
		return wire.Failure{}
	}
	return s.Failure
}
