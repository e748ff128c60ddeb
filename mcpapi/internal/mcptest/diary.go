package mcptest

import (
	"slices"
	"sync"

	"ptyctl/term"
)

// A Diary is an observer that keeps the events of actions, and separately all other events.
type Diary struct {
	mu       sync.Mutex
	actions  []term.Event
	happened []term.Event
}

// Observe implements term.Observer.
func (d *Diary) Observe(e term.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.Data = nil
	switch e.Verb {
	case term.VerbOutput,
		term.VerbState,
		term.VerbExecEnd,
		term.VerbRead,
		term.VerbQuestion,
		term.VerbGone,
		term.VerbPlan:
		d.happened = append(d.happened, e)
	default:
		d.actions = append(d.actions, e)
	}
}

// Last returns the latest event that is not an action.
func (d *Diary) Last() term.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.happened[len(d.happened)-1]
}

// All returns the events that are not actions, and keeps them.
func (d *Diary) All() []term.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.happened)
}

// Take returns the actions since the last call.
func (d *Diary) Take() []term.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.actions
	d.actions = nil
	return taken
}
