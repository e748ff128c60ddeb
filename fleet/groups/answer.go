package groups

import "io"

// Normalize says what is replaced in outputs before they are compared.
type Normalize string

const (
	None     Normalize = "none"     // nothing
	Volatile Normalize = "volatile" // what package mask replaces
)

// Options of a Set; the zero value is usable.
type Options struct {
	Normalize Normalize // "": None
	Keep      int       // bytes kept of the begin of each stream, and as many of its end; 0: DefaultKeep
}

// DefaultKeep is enough for the answers of most commands, and for 500 hosts with floods in 16 MiB.
const DefaultKeep = 8 << 10

// A Set collects the answers of hosts. All its methods may be called concurrently.
type Set struct{}

// New returns an empty set.
func New(o Options) *Set {
	_ = o
	return &Set{}
}

// Answer starts the answer of one host. own are the names and addresses by which the host is known, which Volatile
// masks; label is one of them without being given. Until the answer has ended, the report counts the host as running.
func (s *Set) Answer(label string, own ...string) *Answer {
	_ = own
	return &Answer{Stdout: io.Discard, Stderr: io.Discard}
}

// NotRun notes hosts on which the command was not started, and why: for example "stopped after web3 failed".
func (s *Set) NotRun(reason string, labels ...string) { _, _ = reason, labels }

// An Answer is what one host says. Its writers may be used concurrently with each other; one call of Exit or Fail
// ends it, and later calls have no effect.
type Answer struct {
	Stdout io.Writer
	Stderr io.Writer
}

// Exit ends the answer with the exit code of the command.
func (a *Answer) Exit(code int) { _ = code }

// Fail ends the answer without an exit code. code is a short word, such as connect_timeout; reason is for people.
// What arrived of the output is shown, but compared with no other host's.
func (a *Answer) Fail(code, reason string) { _, _ = code, reason }
