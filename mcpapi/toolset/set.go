package toolset

import "ptyctl/mcpapi/wire"

// A Set is a group of tools that an operator offers, or does not.
type Set struct {
	Name         string
	Tools        []*Tool
	Instructions string // for the model: how the tools work together
	Prompts      []Prompt

	// Fail is the form of failures if the tools have the contract of another program. Nil: ours.
	Fail    func(error) wire.Answer
	Failure any // the struct of that form, see schema.Declare
}

// Foreign reports whether the tools have the contract of another program. Results of such a set have one form, and it
// asks the person at the client no questions.
func (s *Set) Foreign() bool { return s.Fail != nil }

// FailureForm is the struct of a failure.
func (s *Set) FailureForm() any {
	if !s.Foreign() {
		return wire.Failure{}
	}
	return s.Failure
}
