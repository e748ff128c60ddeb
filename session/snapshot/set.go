package snapshot

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ptyctl/buffer"
	"ptyctl/term"
)

// The bounds of a Set.
const (
	Most     = 10      // texts
	MaxBytes = 1 << 20 // of a text
	MaxName  = 32      // bytes of a name
)

// A Snapshot is a text of a session, for example its configuration.
type Snapshot struct {
	Name    string
	Command string // that has printed it
	Text    string
	Taken   time.Time
}

// A Set holds the snapshots of one session. Any number of goroutines may call its methods.
type Set struct {
	pool *buffer.Pool // counts the texts; nil: nothing does

	mu      sync.Mutex // guards the following
	kept    []Snapshot // by age
	running []pending  // oldest first
	freed   bool
}

// New returns an empty Set. pool counts the memory of its texts, and may be nil.
func New(pool *buffer.Pool) *Set { return &Set{pool: pool} }

// Keep adds a snapshot, in place of one of the same name. The error is a *term.Error.
func (s *Set) Keep(x Snapshot) error {
	if err := CheckName(x.Name); err != nil {
		return err
	}
	if len(x.Text) > MaxBytes {
		return &term.Error{Kind: term.Unsupported, Msg: fmt.Sprintf("the text has %d bytes, and a snapshot at most %d: "+
			"compare a part of it, with a command that prints less", len(x.Text), MaxBytes)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.kept, func(old Snapshot) bool { return old.Name == x.Name })
	switch {
	case s.freed:
		return &term.Error{Kind: term.NotFound, Msg: "the session is gone, and its snapshots with it"}
	case at < 0 && len(s.kept) >= Most:
		// The same call fails again: it is no limit that waiting helps.
		return &term.Error{Kind: term.InvalidArgument, Msg: fmt.Sprintf(
			"the session has %d snapshots, which is the most: take this one under a name that is no longer needed, of %s",
			len(s.kept), strings.Join(s.names(), ", "))}
	case !s.pool.Take(len(x.Text)):
		return &term.Error{Kind: term.LimitExceeded, Msg: "there is no memory left for the snapshot: " +
			"close sessions that are no longer needed, and try again"}
	}
	x.Text = strings.Clone(x.Text) // may be a part of a longer one
	if at >= 0 {
		s.pool.Give(len(s.kept[at].Text))
		s.kept = slices.Delete(s.kept, at, at+1)
	}
	s.kept = append(s.kept, x)
	return nil
}

// Get returns the snapshot with a name. If it does not exist, the error names the existing ones.
func (s *Set) Get(name string) (Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.kept {
		if x.Name == name {
			return x, nil
		}
	}
	what := "the session has none"
	if names := s.names(); len(names) > 0 {
		what = "the session has " + strings.Join(names, ", ")
	}
	return Snapshot{}, &term.Error{Kind: term.NotFound, Msg: fmt.Sprintf("there is no snapshot %q: %s", name, what)}
}

// names returns those of all snapshots, oldest first. Requires s.mu.
func (s *Set) names() []string {
	names := make([]string, len(s.kept))
	for i, x := range s.kept {
		names[i] = x.Name
	}
	return names
}

// Free drops all snapshots. None is kept from then on.
func (s *Set) Free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.kept {
		s.pool.Give(len(x.Text))
	}
	s.kept, s.running, s.freed = nil, nil, true
}

// CheckName refuses a name that is no short word of letters, digits, dots, hyphens and underscores.
func CheckName(name string) error {
	const also = "._-"
	odd := func(r rune) bool {
		return (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') && !strings.ContainsRune(also, r)
	}
	if name == "" || len(name) > MaxName || strings.ContainsFunc(name, odd) {
		return &term.Error{Kind: term.InvalidArgument, Msg: fmt.Sprintf(
			"the name of a snapshot has 1 to %d letters, digits, dots, hyphens and underscores", MaxName)}
	}
	return nil
}
