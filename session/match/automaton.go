package match

import (
	"bytes"
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

const (
	// maxStates bounds the memory of an automaton: 256 bytes and the threads for each state. Beyond it, the states are
	// forgotten and made again as they are needed.
	maxStates = 512

	// matched is set in a transition if a match ends before the rune that leads along it.
	matched = 1 << 15
)

// An automaton runs the threads of a program (regexp/syntax) over a stream, all at once, and finds where the first
// match ends. It is a DFA, built as far as the stream needs it: a state is a set of threads, and a transition, once
// computed, costs one look into a table.
//
// A match is found one rune late, because an assertion such as $ or \b depends on the next rune.
type automaton struct {
	prog   *syntax.Prog
	prefix []byte         // of every match; nil: none is known
	kept   syntax.EmptyOp // assertions of prog: they need facts about the rune before

	states []state
	ids    map[string]uint16
	next   []uint16 // by state and ASCII character; unknown: 0
	wide   map[transition]uint16

	now  uint16 // the state
	cut  []byte // the first bytes of an incomplete rune
	pos  int64  // bytes read, cut not included
	set  threads
	keys []byte
}

// A state is the threads that wait for the next rune, and a rune that represents the one before.
type state struct {
	threads []uint32
	before  rune
}

type transition struct {
	from uint16
	r    rune
}

// newAutomaton makes an automaton at the start of a line. pos is the offset of the first byte that it will read.
func newAutomaton(p *Pattern, pos int64) *automaton {
	a := &automaton{prog: p.prog, prefix: p.prefix, pos: pos}
	for _, in := range p.prog.Inst {
		if in.Op == syntax.InstEmptyWidth {
			a.kept |= syntax.EmptyOp(in.Arg)
		}
	}
	a.set.init(len(p.prog.Inst))
	a.forget()
	a.now = a.id(nil, a.class('\n'))
	return a
}

// restart continues in a line, with no thread, at the offset pos.
func (a *automaton) restart(pos int64) {
	a.pos, a.cut = pos, a.cut[:0]
	a.now = a.id(nil, a.class(' '))
}

// forget drops all states. The caller sets a.now.
func (a *automaton) forget() {
	a.ids, a.wide = map[string]uint16{}, map[transition]uint16{}
	a.states, a.next = a.states[:0], a.next[:0]
	a.states = append(a.states, state{}) // so that 0 is no state
	a.next = append(a.next, make([]uint16, utf8.RuneSelf)...)
}

// class returns the rune that represents r when it is the rune before: prog distinguishes only a few classes.
func (a *automaton) class(r rune) rune {
	const words = syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
	switch {
	case r == '\n' && a.kept&syntax.EmptyBeginLine != 0:
		return '\n'
	case a.kept&words != 0 && syntax.IsWordChar(r):
		return 'a'
	}
	return ' '
}

// id returns the state of these threads, which must be sorted.
func (a *automaton) id(pcs []uint32, before rune) uint16 {
	a.keys = append(a.keys[:0], byte(before))
	for _, pc := range pcs {
		a.keys = binary.LittleEndian.AppendUint32(a.keys, pc)
	}
	if id, ok := a.ids[string(a.keys)]; ok {
		return id
	}
	id := uint16(len(a.states))
	a.states = append(a.states, state{slices.Clone(pcs), before})
	a.next = append(a.next, make([]uint16, utf8.RuneSelf)...)
	a.ids[string(a.keys)] = id
	return id
}

// find reads p and returns the offset of the end of the first match that ends beyond after. Having found one, it has
// read p no further than that.
func (a *automaton) find(p []byte, after int64) (end int64, ok bool) {
	for len(a.cut) > 0 && len(p) > 0 {
		if p, end, ok = a.complete(p, after); ok {
			return end, true
		}
	}
	base, i := a.pos, 0
	defer func() { a.pos = base + int64(i) }()
	for i < len(p) {
		if a.prefix != nil && len(a.states[a.now].threads) == 0 {
			i += a.leap(p[i:])
		}
		if i += a.run(p[i:]); i == len(p) {
			break
		}
		if !utf8.FullRune(p[i:]) {
			a.cut = append(a.cut[:0], p[i:]...)
			break
		}
		r, size := utf8.DecodeRune(p[i:])
		t := a.step(r)
		if t&matched != 0 && base+int64(i) > after {
			return base + int64(i), true
		}
		a.now = t &^ matched
		i += size
	}
	return 0, false
}

// leap goes to where a match may begin, with no match under way, and returns how many bytes of p that leaves behind.
func (a *automaton) leap(p []byte) int {
	n := bytes.Index(p, a.prefix)
	if n < 0 {
		n = max(len(p)-len(a.prefix)+1, 0)
		for n > 0 && n < len(p) && !utf8.RuneStart(p[n]) {
			n--
		}
	}
	if n > 0 {
		before, _ := utf8.DecodeLastRune(p[:n])
		a.now = a.id(nil, a.class(before))
	}
	return n
}

// run follows the transitions that are known and have no match, and returns how many bytes of p it has read.
func (a *automaton) run(p []byte) int {
	next, now := a.next, a.now
	i := 0
	for i < len(p) && p[i] < utf8.RuneSelf {
		t := next[int(now)<<7|int(p[i])]
		if t == 0 || t&matched != 0 {
			break
		}
		now = t
		i++
	}
	a.now = now
	return i
}

// complete reads the rune that the last piece has cut, and returns the rest of p.
func (a *automaton) complete(p []byte, after int64) (rest []byte, end int64, ok bool) {
	for len(p) > 0 && !utf8.FullRune(a.cut) {
		a.cut, p = append(a.cut, p[0]), p[1:]
	}
	for len(a.cut) > 0 && utf8.FullRune(a.cut) {
		r, size := utf8.DecodeRune(a.cut)
		t := a.step(r)
		if t&matched != 0 && a.pos > after {
			return p, a.pos, true
		}
		a.now = t &^ matched
		a.pos += int64(size)
		a.cut = a.cut[size:]
	}
	return p, 0, false
}

// atEnd reports whether a match ends where the stream ends now, or before a rune that is cut there.
func (a *automaton) atEnd(after int64) bool {
	if a.pos <= after {
		return false
	}
	next := rune(-1)
	if len(a.cut) > 0 {
		next = utf8.RuneError // for assertions, as good as any rune of several bytes
	}
	_, ok := a.advance(a.states[a.now], next)
	return ok
}

// A checkpoint is a state of an automaton to go back to.
type checkpoint struct {
	at  state
	pos int64
}

// save returns where the automaton is. Requires that no rune is cut.
func (a *automaton) save() checkpoint { return checkpoint{a.states[a.now], a.pos} }

// restore goes back to c.
func (a *automaton) restore(c checkpoint) {
	a.now, a.pos, a.cut = a.id(c.at.threads, c.at.before), c.pos, a.cut[:0]
}

// step returns the transition of the state for r.
func (a *automaton) step(r rune) uint16 {
	from := transition{a.now, r}
	if r >= utf8.RuneSelf {
		if t, ok := a.wide[from]; ok {
			return t
		}
	}
	at := a.states[a.now]
	if len(a.states) >= maxStates || len(a.wide) >= 8*maxStates {
		a.forget()
		a.now = a.id(at.threads, at.before)
		from.from = a.now
	}
	pcs, ok := a.advance(at, r)
	t := a.id(pcs, a.class(r))
	if ok {
		t |= matched
	}
	if r < utf8.RuneSelf {
		a.next[int(from.from)<<7|int(r)] = t
	} else {
		a.wide[from] = t
	}
	return t
}

// advance runs the threads of at, and one that starts here, over r; -1 is the end of the stream. It returns the threads
// behind r, and whether one has matched before r.
func (a *automaton) advance(at state, r rune) (pcs []uint32, ok bool) {
	now := syntax.EmptyOpContext(at.before, r)
	a.set.clear()
	for _, pc := range at.threads {
		a.set.follow(a.prog, pc, now)
	}
	a.set.follow(a.prog, uint32(a.prog.Start), now)
	for _, pc := range a.set.dense {
		switch in := &a.prog.Inst[pc]; in.Op {
		case syntax.InstMatch:
			ok = true
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if r >= 0 && in.MatchRune(r) {
				pcs = append(pcs, in.Out)
			}
		}
	}
	slices.Sort(pcs)
	return slices.Compact(pcs), ok
}

// threads is a set of instructions, emptied without cost.
type threads struct {
	dense, sparse []uint32
}

func (t *threads) init(n int) { t.sparse = make([]uint32, n) }

func (t *threads) clear() { t.dense = t.dense[:0] }

func (t *threads) add(pc uint32) bool {
	if i := t.sparse[pc]; int(i) < len(t.dense) && t.dense[i] == pc {
		return false
	}
	t.sparse[pc] = uint32(len(t.dense))
	t.dense = append(t.dense, pc)
	return true
}

// follow adds pc and all that it leads to without a rune, where the assertions in now hold.
func (t *threads) follow(prog *syntax.Prog, pc uint32, now syntax.EmptyOp) {
	for t.add(pc) {
		switch in := &prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			t.follow(prog, in.Arg, now)
			pc = in.Out
		case syntax.InstCapture, syntax.InstNop:
			pc = in.Out
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^now != 0 {
				return
			}
			pc = in.Out
		default:
			return
		}
	}
}
