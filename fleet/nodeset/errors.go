package nodeset

import (
	"fmt"
	"math"
)

// A SyntaxError says which pattern is no nodeset, and why.
type SyntaxError struct {
	Pattern string
	Reason  string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%.200q is no nodeset: %s", e.Pattern, e.Reason)
}

// A SizeError says that a text has more names than its caller takes.
type SizeError struct {
	Pattern string
	Names   uint64 // math.MaxUint64 also means any larger number
	Most    int
}

func (e *SizeError) Error() string {
	more := ""
	if e.Names == math.MaxUint64 {
		more = "more than "
	}
	return fmt.Sprintf("%.200q has %s%d names, and at most %d are possible", e.Pattern, more, e.Names, e.Most)
}
