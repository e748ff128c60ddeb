package identity

// Results is the form that a caller gets results in.
type Results string

// The forms of results.
const (
	Compact Results = "compact" // one JSON object, without ordinary values
	Full    Results = "full"    // every field, and structured content for clients that know it
	Text    Results = "text"    // a line with the facts, and the output as it is
)

// Forms returns all forms, the default first.
func Forms() []Results { return []Results{Compact, Full, Text} }
