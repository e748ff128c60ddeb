package screen

// texts gives numbers to short texts, so that a cell has room for them: clusters of a
// character and its marks, and links. The far side chooses the texts, so their number and
// size are limited. The zero value must be given its limits.
type texts struct {
	mostValues, mostBytes int

	values []string // by number; "" is free
	index  map[string]uint32
	free   []uint32
	bytes  int
	tried  int // additions since the last sweep
}

// id returns the number of the text b. ok is false if there is no room for it. When full is
// true, a sweep may make room.
func (t *texts) id(b []byte) (id uint32, full, ok bool) {
	if id, ok = t.index[string(b)]; ok {
		return id, false, true
	}
	// A store full of live texts must not be swept for each further one.
	t.tried++
	if len(t.index) >= t.mostValues || t.bytes+len(b) > t.mostBytes {
		return 0, t.tried > t.mostValues/4, false
	}
	s := string(b)
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
		t.values[id] = s
	} else {
		id = uint32(len(t.values))
		t.values = append(t.values, s)
	}
	if t.index == nil {
		t.index = map[string]uint32{}
	}
	t.index[s] = id
	t.bytes += len(s)
	return id, false, true
}

// sweep frees the texts that are not live.
func (t *texts) sweep(live []bool) {
	t.tried = 0
	for id, s := range t.values {
		if s == "" || live[id] {
			continue
		}
		delete(t.index, s)
		t.bytes -= len(s)
		t.values[id] = ""
		t.free = append(t.free, uint32(id))
	}
}
