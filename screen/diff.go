package screen

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// A Diff is a snapshot and how it differs from an earlier one.
type Diff struct {
	*Snapshot
	Since uint64 // the version compared with; 0 if Full
	// Full is true if the earlier version is not known any more, had another size, or was of
	// the other screen (main or alternate). Rows are then all rows.
	Full bool
	// Moved is the rows that were elsewhere before, because the screen scrolled.
	Moved Move
	// Changed lists the new rows, in order, and the rows with other highlights because of their neighbours. A row of
	// Moved is listed only if its highlights changed.
	Changed []int
	// Scrolled is the number of rows that have left the top of the main screen since.
	Scrolled uint64
}

// A Move is a block of Rows rows that are at To now and were at From before. The zero value
// moves nothing.
type Move struct{ From, To, Rows int }

// mostSeen is how many versions a Diff can begin from.
const mostSeen = 16

// seen is the state of the screen that readers have seen: of each row a hash, because a program often draws the same
// cells again.
type seen struct {
	seed    maphash.Seed
	key     uint64
	views   []view // the newest is last
	version uint64
}

type view struct {
	version    uint64
	cols       int
	alt        bool
	rows       []uint64
	marks      map[int]uint64 // of each row with highlights, a hash of their description
	other      uint64         // a hash of all that is not in the rows
	scrolledUp uint64
}

// Diff returns the screen as it is now and the changes since the snapshot with that
// version. The last 16 versions are known.
func (s *Screen) Diff(since uint64) Diff {
	snap := s.visible()
	now := s.seen.look(snap)
	snap.Version = now.version
	d := Diff{Snapshot: snap}
	i := slices.IndexFunc(s.seen.views, func(v view) bool { return v.version == since })
	if i < 0 || !s.seen.views[i].sameAs(now) {
		d.Full = true
		d.Changed = make([]int, snap.Rows)
		for y := range d.Changed {
			d.Changed[y] = y
		}
		return d
	}
	old := s.seen.views[i]
	d.Since = since
	d.Scrolled = now.scrolledUp - old.scrolledUp
	d.Moved = moved(old.rows, now.rows, now.blank(s.seen.key))
	for y, h := range now.rows {
		switch {
		case d.Moved.To <= y && y < d.Moved.To+d.Moved.Rows:
			if now.mark(y) != old.mark(y-d.Moved.To+d.Moved.From) {
				d.Changed = append(d.Changed, y)
			}
		case h != old.rows[y], now.mark(y) != old.mark(y):
			d.Changed = append(d.Changed, y)
		}
	}
	return d
}

// sameAs reports whether v and w are of one screen in one size.
func (v *view) sameAs(w view) bool {
	return v.cols == w.cols && v.alt == w.alt && len(v.rows) == len(w.rows)
}

// begin chooses the hash.
func (s *seen) begin() {
	if s.key == 0 {
		s.seed = maphash.MakeSeed()
		s.key = maphash.String(s.seed, "") | 1
	}
}

// look notes the state that a reader sees, and returns it with its version: that of the last look if
// nothing has changed.
func (s *seen) look(snap *Snapshot) view {
	s.begin()
	v := view{cols: snap.Cols, alt: snap.AltScreen, other: s.rest(snap), scrolledUp: snap.ScrolledUp}
	v.rows = make([]uint64, snap.Rows)
	for y := range v.rows {
		v.rows[y] = s.row(snap, y)
	}
	if n := len(s.views); n > 0 {
		last := &s.views[n-1]
		if last.sameAs(v) && last.other == v.other && slices.Equal(last.rows, v.rows) {
			return *last
		}
	}
	s.version++
	v.version = s.version
	v.marks = s.marks(snap)
	if len(s.views) == mostSeen {
		s.views = slices.Delete(s.views, 0, 1)
	}
	s.views = append(s.views, v)
	return v
}

// marks returns a hash of Render's marks for each row that has highlights.
func (s *seen) marks(snap *Snapshot) map[int]uint64 {
	lines := snap.Lines.seen()
	highlights := snap.highlights(lines)
	if len(highlights) == 0 {
		return nil
	}
	marks := make(map[int]uint64)
	var text []byte
	for len(highlights) > 0 {
		y := highlights[0].Row
		row := of(highlights, y)
		text = lines.appendMark(text[:0], y, row)
		marks[y] = maphash.Bytes(s.seed, text) | 1
		highlights = highlights[len(row):]
	}
	return marks
}

// mark returns the hash of the highlights of row y; 0: it has none.
func (v *view) mark(y int) uint64 { return v.marks[y] }

// rest returns a hash of the state outside the rows.
func (s *seen) rest(snap *Snapshot) uint64 {
	h := maphash.Comparable(s.seed, snap.Cursor)
	h = s.mix(h, maphash.Comparable(s.seed, snap.Modes), snap.ScrolledUp)
	h = s.mix(h, maphash.String(s.seed, snap.Title), maphash.String(s.seed, snap.Dir))
	return s.mix(h, uint64(snap.Prompt), 0)
}

// row returns a hash of the content of row y. Blanks at its end do not count.
func (s *seen) row(snap *Snapshot, y int) uint64 {
	cells := snap.at(y)
	for len(cells) > 0 {
		if c := cells[len(cells)-1]; !c.empty() || c.style().lo != 0 || c.hi != 0 {
			break
		}
		cells = cells[:len(cells)-1]
	}
	h := s.key
	for _, c := range cells {
		lo := c.lo
		if lo&charMask == 0 {
			lo |= ' '
		}
		if r := c.char(); r >= firstCluster { // its number may differ between snapshots
			lo &^= charMask
			h = s.mix(h, maphash.String(s.seed, snap.clusters[r-firstCluster]), 0)
		}
		if n := c.extra(); n != 0 {
			lo &= 1<<extra - 1
			h = s.mix(h, maphash.String(s.seed, snap.extras[n]), 1)
		}
		h = s.mix(h, lo, c.hi)
	}
	return h
}

// mix adds two words to a hash, by the step of wyhash.
func (s *seen) mix(h, a, b uint64) uint64 {
	hi, lo := bits.Mul64(h^a^s.key, b^0x9e3779b97f4a7c15)
	return hi ^ lo ^ bits.RotateLeft64(h, 23)
}

// blank returns which rows are blank: a block of them is no sign of a scroll.
func (v view) blank(key uint64) []bool {
	b := make([]bool, len(v.rows))
	for y, h := range v.rows {
		b[y] = h == key
	}
	return b
}

// moved returns the largest block of rows that is elsewhere than before. At least two of its
// rows, and more than stayed where they were, must show something.
func moved(old, now []uint64, blank []bool) (best Move) {
	n := len(now)
	most := 1
	for by := 1 - n; by < n; by++ {
		if by == 0 {
			continue
		}
		for y := max(0, by); y < min(n, n+by); {
			from, gain := y, 0
			for ; y < min(n, n+by) && now[y] == old[y-by]; y++ {
				if !blank[y] {
					gain++
				}
				if now[y] == old[y] {
					gain--
				}
			}
			if gain > most {
				most = gain
				best = Move{From: from - by, To: from, Rows: y - from}
			}
			if y == from {
				y++
			}
		}
	}
	return best
}

// clone returns a copy that shares nothing with s that changes.
func (s *Snapshot) clone() *Snapshot {
	c := *s
	c.rows, c.cells = slices.Clone(s.rows), slices.Clone(s.cells)
	c.clusters, c.extras = slices.Clone(s.clusters), slices.Clone(s.extras)
	return &c
}
