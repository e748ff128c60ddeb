package mcpapi

// A Toolset is a group of tools that an operator offers, or does not.
type Toolset struct {
	Name         string
	Tools        []*Tool
	Instructions string // for the model: how the tools work together

	// Fail is the form that failures take where the contract of the tools is that of another program. Nil: ours.
	Fail    func(error) Answer
	Failure any // the struct of that form, see Bind
}

// asks reports whether a call can have the person at the client asked. The contract of another program has no such
// results.
func (s *Toolset) asks() bool { return s.Fail == nil }

// failure is the struct of a failure.
func (s *Toolset) failure() any {
	if s.Fail == nil {
		return failure{}
	}
	return s.Failure
}
