package display

import "ptyctl/screen"

// mostPeeked is the largest screen that Peek copies, in cells.
const mostPeeked = 1 << 16

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
