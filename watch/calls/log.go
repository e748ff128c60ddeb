package calls

import (
	"slices"
	"sync"

	"ptyctl/internal/scrub"
	"ptyctl/term"
)

// Limits of the memory.
const (
	mostEntries  = 200       // of a session
	mostResults  = 256 << 10 // bytes of results of a session
	mostSessions = 4 << 10
	mostOpen     = 4 << 10 // calls that are not answered yet
)

// Options configure a Log. The zero value works.
type Options struct {
	// Command returns the form in which the line of a command may be kept; nil: without secrets.
	Command func(line string) string
}

// A Log keeps calls. It implements term.Observer; use New to make one.
type Log struct {
	command func(string) string

	mu       sync.Mutex // guards the following; held for moments only
	sessions map[string]*ring
	open     map[uint64][]string // by the number of a call that is not answered: the sessions that it was about
	n        uint64              // counts entries
	changes  uint64              // counts changes of entries
}

// A ring is the entries of one session, the oldest first.
type ring struct {
	entries []*Entry
	results int // bytes
}

// New makes an empty log.
func New(o Options) *Log {
	if o.Command == nil {
		o.Command = scrub.Text
	}
	return &Log{command: o.Command, sessions: make(map[string]*ring), open: make(map[uint64][]string)}
}

// Observe implements term.Observer.
func (l *Log) Observe(e term.Event) {
	if !shown(e) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Verb == term.VerbGone {
		delete(l.sessions, e.Session)
		return
	}
	r := l.sessions[e.Session]
	if r == nil {
		// An action that was refused may name any session.
		if e.Refused != nil || len(l.sessions) >= mostSessions {
			return
		}
		r = new(ring)
		l.sessions[e.Session] = r
	}
	if e.Verb == term.VerbExecEnd {
		if i := slices.IndexFunc(r.entries, func(x *Entry) bool { return x.Exec == e.Exec && x.Running }); i >= 0 {
			r.entries[i].ended(e)
			l.touch(r.entries[i])
		}
		return
	}
	x := r.sameAs(e)
	if x == nil {
		l.n++
		x = &Entry{N: l.n, serial: e.Actor.Serial}
		r.append(x)
	}
	x.add(e, l.command)
	l.touch(x)
	if s := e.Actor.Serial; s != 0 && !slices.Contains(l.open[s], e.Session) {
		if len(l.open) >= mostOpen { // mostly of calls that were answered before this event
			clear(l.open)
		}
		l.open[s] = append(l.open[s], e.Session)
	}
}

// shown reports whether the log shows an event.
func shown(e term.Event) bool {
	switch e.Verb {
	case term.VerbOutput, term.VerbExecOutput, term.VerbHeartbeat, term.VerbReply, term.VerbOrphan, term.VerbPlan:
		return false
	case term.VerbRead:
		// A person looks, or ptyctl itself does.
		return !e.Actor.Operator && e.Actor != (term.Actor{}) && e.Session != ""
	}
	return e.Session != ""
}

// sameAs returns the entry to which an event belongs; nil: it is a new one. All input of a person belongs together.
func (r *ring) sameAs(e term.Event) *Entry {
	if len(r.entries) == 0 {
		return nil
	}
	last := r.entries[len(r.entries)-1]
	if e.Actor.Operator && last.Person && e.Verb == term.VerbWrite && last.Verb == string(term.VerbWrite) &&
		last.Error == "" && e.Outcome() == nil {
		return last
	}
	if e.Actor.Serial == 0 || e.Verb == term.VerbState {
		return nil
	}
	for _, x := range slices.Backward(r.entries) {
		if x.serial == e.Actor.Serial {
			return x
		}
	}
	return nil
}

// append adds an entry, and drops the oldest if there are too many.
func (r *ring) append(x *Entry) {
	if len(r.entries) == mostEntries {
		r.results -= size(r.entries[0].Result)
		r.entries = slices.Delete(r.entries, 0, 1)
	}
	r.entries = append(r.entries, x)
}

// touch notes that an entry has changed.
func (l *Log) touch(x *Entry) {
	l.changes++
	x.changed = l.changes
}

// Answered adds the result of a call, which is the text that its caller got. It returns the sessions that the call was
// about, so far as it is kept.
func (l *Log) Answered(serial uint64, text string, failed bool) (sessions []string) {
	l.mu.Lock()
	sessions = l.open[serial]
	delete(l.open, serial)
	l.mu.Unlock()
	if len(sessions) == 0 {
		return nil
	}
	result := partsOf(text) // not under the lock: it may be long
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range sessions {
		r := l.sessions[id]
		if r == nil {
			continue
		}
		i := slices.IndexFunc(r.entries, func(x *Entry) bool { return x.serial == serial })
		if i < 0 || r.entries[i].Person {
			continue
		}
		x := r.entries[i]
		x.Result, x.Failed = result, failed
		r.results += size(result)
		l.touch(x)
		for _, old := range r.entries {
			if r.results <= mostResults || old == x {
				break
			}
			if old.Result != nil {
				r.results -= size(old.Result)
				old.Result, old.Dropped = nil, true
				l.touch(old)
			}
		}
	}
	return sessions
}

// Since returns the entries of a session that have changed since an earlier call, which has returned next; 0: all.
func (l *Log) Since(session string, since uint64) (changed []Entry, next uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.sessions[session]
	if r == nil {
		return nil, l.changes
	}
	for _, x := range r.entries {
		if x.changed > since {
			changed = append(changed, *x)
		}
	}
	return changed, l.changes
}
