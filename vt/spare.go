package vt

const (
	freeSpare = 4 << 10 // blanks that every stream may have
	maxSpare  = 1 << 20 // most blanks saved from its input
)

// A spare is the number of blanks and repetitions allowed by the bytes read so far, beyond
// freeSpare. It keeps a short input from producing a long text.
type spare int

// pay allows one more blank or repetition for each of n bytes read.
func (s *spare) pay(n int) { *s += spare(n) }

// spend uses n of the allowed blanks or repetitions. It returns false if fewer are left.
func (s *spare) spend(n int) bool {
	*s = min(*s, maxSpare)
	if spare(n) > *s+freeSpare {
		return false
	}
	*s -= spare(n)
	return true
}
