package groups

// A Report tells the answers of a set at one time.
type Report struct {
	Hosts    int       `json:"hosts"`
	Groups   []Group   `json:"groups,omitempty"`   // the largest first, equal ones by their first host
	Failures []Failure `json:"failures,omitempty"` // the most hosts first, then by code
	NotRun   []Names   `json:"not_run,omitempty"`
	Running  []Names   `json:"running,omitempty"`
	More     int       `json:"more,omitempty"` // groups whose output is left out
}

// Names are hosts, as a nodeset and as their number.
type Names struct {
	Hosts  string `json:"hosts"` // of package nodeset
	N      int    `json:"n"`
	Reason string `json:"reason,omitempty"`

	labels []string
}

// Labels returns the single hosts, sorted.
func (n Names) Labels() []string { return n.labels }

// A Group has the hosts with one answer.
type Group struct {
	Names
	Exit   int    `json:"exit_code"`
	Stdout Stream `json:"stdout,omitzero"`
	Stderr Stream `json:"stderr,omitzero"`
}

// A Stream is shown in one of three ways: as its text, as its difference from the first group's, or not.
type Stream struct {
	Text  string `json:"text,omitempty"`
	Diff  string `json:"diff,omitempty"` // against the stream of the first group
	Same  bool   `json:"same,omitempty"` // as the first group's, which is not empty
	Bytes int64  `json:"bytes,omitempty"`
	Lines int64  `json:"lines,omitempty"`
	Cut   bool   `json:"cut,omitempty"` // Text or Diff leaves something out
}

// A Failure has the hosts without an exit code, by code and reason.
type Failure struct {
	Names
	Code string `json:"error_code"`
}

// Limits bound a report; the zero value has the defaults.
type Limits struct {
	Bytes     int // of the whole text; 0: 2048
	Odd       int // groups besides the first whose output is shown; 0: 5
	Hunks     int // of one difference; 0: 5
	HostBytes int // of one nodeset; 0: 200
}

// Report returns the answers so far. It may be called while answers arrive.
func (s *Set) Report(l Limits) Report { _ = l; return Report{} }

// Text returns the report as lines for people and models. It ends with a line feed unless it is empty.
func (r Report) Text() string { return "" }
