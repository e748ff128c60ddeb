package mask

// A Mask is for the output of one host, line by line. It is not safe for concurrent use.
type Mask struct{}

// New returns the mask of a host with these names and addresses, which are those by which it is known here.
func New(own []string) *Mask {
	_ = own
	return &Mask{}
}

// Line returns the line, which has no line feed, with its changes. The result is valid until the next call, and may
// be line itself.
func (m *Mask) Line(line []byte) []byte { return line }
