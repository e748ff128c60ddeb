package display

import "ptyctl/screen"

// mostPeeked is the largest screen that Peek copies, in cells.
const mostPeeked = 1 << 16

// Glance returns the screen as it is now for a person who watches, without counting as a look of a reader, and a
// number that grows with each change of the screen. now is nil if nothing has changed since the one with the number
// have. partial is that of a View.
func (d *Display) Glance(have uint64) (now *screen.Snapshot, version uint64, partial bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.draw()
	// A frame that is being drawn ends by itself, without a change that is counted.
	if version = d.shown + 1; version == have && !s.Drawing() {
		return nil, version, d.budget.partial
	}
	now, _ = s.Peek()
	if now.Drawing {
		version = 0
	}
	return now, version, d.budget.partial
}

// Changed returns a channel that is closed at the next change: output, another size, the end. A frame that is being
// drawn ends without one.
func (d *Display) Changed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	return d.changed
}

// Peek returns the screen as it is now for those who judge it, without counting as a look of a reader. It is
// nil for a screen that is too large to be copied that often, or that may be wrong because some output was not drawn.
func (d *Display) Peek() *screen.Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cols*d.rows > mostPeeked {
		return nil
	}
	s := d.draw()
	if d.budget.partial {
		return nil
	}
	now, _ := s.Peek()
	return now
}
