package screen

import "time"

// Peek returns the screen as it is now for a caller who waits for something on it, with a hash of all that it shows. It
// counts as no look: versions, and what Diff knows of them, stay as they are. The Version of the snapshot is 0.
func (s *Screen) Peek() (now *Snapshot, hash uint64) {
	now = s.visible()
	s.seen.begin()
	hash = s.seen.rest(now)
	for y := range now.Rows {
		hash = s.seen.mix(hash, s.seen.row(now, y), uint64(y))
	}
	return now, hash
}

// visible returns a copy of what readers see: the screen, or the last complete frame, without secrets.
func (s *Screen) visible() *Snapshot {
	e := &s.emu
	if s.find != nil {
		if n := e.goesOn(); n > 0 { // a secret may begin there
			cover(e, e.grid, n, s.find)
		}
	}
	var now *Snapshot
	if e.drawing() {
		now = e.hold.frame.clone()
		now.Drawing = true
	} else {
		now = e.snapshot(nil)
	}
	if s.find != nil && now.mask(s.find) { // once: what is covered is not found again
		cover(e, e.grid, 0, s.find)
		if now.Drawing {
			e.hold.frame.Mask(s.find)
		}
	}
	if e.secrets {
		now.conceal()
	}
	return now
}

// Frames returns how many frames (DECSET 2026) programs have completed.
func (s *Screen) Frames() uint64 { return s.emu.frames }

// FrameEnd returns when the frame that a program draws ends by itself; zero: none is drawn.
func (s *Screen) FrameEnd() time.Time {
	if !s.emu.drawing() {
		return time.Time{}
	}
	return s.emu.hold.since.Add(longestFrame)
}

// At says when the output of the next calls of Write has come, if that was earlier; zero: when Write is called. Set that
// again before the screen is read. A frame ends a second after its beginning has come, however late it is drawn.
func (s *Screen) At(came time.Time) { s.emu.came = came }

// EndFrame ends the frame that a program draws, if it does: nothing more comes.
func (s *Screen) EndFrame() {
	if s.emu.drawing() {
		s.emu.synchronize(false)
	}
}

// Resets returns how often the output has reset the terminal (RIS). What was drawn before the last one has no effect on
// the cells.
func (s *Screen) Resets() uint64 { return s.emu.resets }
