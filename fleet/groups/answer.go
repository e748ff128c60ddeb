package groups

import (
	"io"
	"sync"

	"ptyctl/fleet/mask"
)

// Normalize selects the replacements in outputs before they are compared.
type Normalize string

// The values of Normalize.
const (
	None     Normalize = "none"     // nothing
	Volatile Normalize = "volatile" // the replacements of package mask
)

// Options of a Set; the zero value is usable.
type Options struct {
	Normalize Normalize // "": None
	Keep      int       // bytes kept of the begin of each stream, and as many of its end; 0: DefaultKeep
	Whole     bool      // show all outputs as they are, and none as its difference from that of the largest group
}

// DefaultKeep is enough for the answers of most commands. 500 hosts with endless outputs need 24 MiB for them.
const DefaultKeep = 8 << 10

// A Set collects the answers of hosts. All its methods may be called concurrently.
type Set struct {
	o Options

	mu       sync.Mutex
	running  map[*Answer]bool
	groups   map[key]*group
	failures map[failure]*failed
	notRun   map[string][]string // labels by reason
}

// key is equal for all hosts of a group.
type key struct {
	exit           int
	stdout, stderr digest
}

type group struct {
	labels         []string
	stdout, stderr output
}

type failure struct{ code, reason string }

type failed struct {
	labels []string
	last   map[string]string // the last lines of output, by label
}

// New returns an empty set.
func New(o Options) *Set {
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	return &Set{
		o: o, running: make(map[*Answer]bool), groups: make(map[key]*group), failures: make(map[failure]*failed),
		notRun: make(map[string][]string),
	}
}

// An Answer takes the output and the exit code of one host. Its two writers may be used concurrently, each by one
// goroutine at a time, and never return an error. One call of Exit or Fail ends it; later writes and calls have no
// effect.
type Answer struct {
	Stdout io.Writer
	Stderr io.Writer

	set    *Set
	label  string
	reason *mask.Mask // for the reason of a failure, which may name the host
	out    *stream
	err    *stream
}

// Answer begins the answer of one host, which the report calls label. known are other names and addresses of the host,
// which Volatile replaces as it does the label. Until the answer has ended, the host is one of those that are running.
func (s *Set) Answer(label string, known ...string) *Answer {
	names := append(namesOf(label), known...)
	m := func() *mask.Mask {
		if s.o.Normalize != Volatile {
			return nil
		}
		return mask.New(names)
	}
	a := &Answer{
		set: s, label: label, reason: mask.New(names), out: newStream(s.o.Keep, m()), err: newStream(s.o.Keep, m()),
	}
	a.Stdout, a.Stderr = a.out, a.err
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[a] = true
	return a
}

// Exit ends the answer with the exit code of the command.
func (a *Answer) Exit(code int) {
	if !a.end() {
		return
	}
	stdout, stderr := a.out.finish(), a.err.finish()
	k := key{code, stdout.digest, stderr.digest}
	a.set.mu.Lock()
	defer a.set.mu.Unlock()
	g := a.set.groups[k]
	if g == nil {
		g = &group{stdout: stdout, stderr: stderr}
		a.set.groups[k] = g
	}
	g.labels = append(g.labels, a.label)
	delete(a.set.running, a)
}

// Fail ends the answer without an exit code. code is a short word, such as connect_timeout; reason is for people, and
// hosts with the same code are together if their reasons differ only in their names and addresses. Of an output that
// has arrived, the report has the last line.
func (a *Answer) Fail(code, reason string) {
	if !a.end() {
		return
	}
	last := a.err.finish().last()
	if text := a.out.finish().last(); text != "" {
		last = text
	}
	f := failure{code, string(a.reason.Line([]byte(reason)))}
	a.set.mu.Lock()
	defer a.set.mu.Unlock()
	g := a.set.failures[f]
	if g == nil {
		g = &failed{last: make(map[string]string)}
		a.set.failures[f] = g
	}
	g.labels = append(g.labels, a.label)
	if last != "" {
		g.last[a.label] = last
	}
	delete(a.set.running, a)
}

// end reports whether the answer was not ended before.
func (a *Answer) end() bool {
	first := a.out.close()
	a.err.close()
	return first
}

// NotRun notes hosts on which the command was not started, and why: for example "3 hosts have failed".
func (s *Set) NotRun(reason string, labels ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notRun[reason] = append(s.notRun[reason], labels...)
}
