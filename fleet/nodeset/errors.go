package nodeset

import "fmt"

// A SyntaxError says which pattern is no nodeset, and why.
type SyntaxError struct {
	Pattern string
	Reason  string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%.200q is no nodeset: %s", e.Pattern, e.Reason) }

// A SizeError says that a text has more names than its caller takes.
type SizeError struct {
	Pattern string
	Names   uint64 // at most math.MaxUint64, which also stands for more
	Most    int
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%.200q has %d names: at most %d are possible", e.Pattern, e.Names, e.Most)
}
