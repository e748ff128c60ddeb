package match

import (
	"bytes"
	"slices"

	"ptyctl/buffer"
)

const (
	// lookBack is how far before the cursor a match may begin, and how far around its end regexp looks for where it
	// begins and ends.
	lookBack = 16 << 10

	// piece is how many bytes are searched at a time.
	piece = 64 << 10

	// maxLine bounds a line that may be an echo. A longer one is searched as it comes.
	maxLine = 32 << 10
)

// Options describe the search.
type Options struct {
	Pattern *Pattern
	From    int64 // a match must end beyond this offset
	Clean   bool  // look in clean text, as package vt defines it, not in the bytes
	Cols    int   // the terminal's width, for clean text and echoes; 0: unknown

	// NoTerminal says that the output was not made for a terminal: its clean text is that of vt.WithoutSGR.
	NoTerminal bool

	Echo     Echo                   // not to be matched
	IsPrompt func(line string) bool // whether a line looks like a shell's prompt; needed with Echo
}

// A Stream looks for a pattern in a buffer that is being written. It must not be used by two goroutines at a time.
type Stream struct {
	b *buffer.Buffer
	o Options

	off   int64 // bytes before were read
	floor int64 // no match begins before: the start of a line
	since int64 // the last break of the buffer that was passed: before it is another stream
	gap   bool  // bytes are missing before off: the rest of the line is skipped
	gone  int64 // bytes that were not searched

	a       *automaton
	after   int64   // Options.From in the units of a, which are bytes of its input
	cleaner cleaner // with Clean or echoes
	text    []byte  // its last output
	read    []byte  // the piece of the buffer that is searched

	// With Clean, the line that From is in as it was then, and after as it was then; see redrawn.
	begun      string
	begunAfter int64

	echo *echoes  // nil: none is expected, or not any more
	line struct { // with echoes: the line that is not searched before it is known to be none
		raw, text []byte
	}
	own bool // an echo would have matched
}

// New makes a search in b.
func New(b *buffer.Buffer, o Options) *Stream {
	s := &Stream{b: b, o: o, after: o.From}
	data := s.context()
	if o.Echo.Any() {
		s.echo = newEchoes(o.Echo, o.Cols, o.IsPrompt)
	}
	s.begin(s.floor)
	text := data
	if s.cleaner != nil {
		finished := s.cleaner.Append(nil, data)
		unfinished, _ := s.cleaner.Line()
		if o.Clean {
			text = finished
			s.after = int64(len(finished) + len(unfinished))
			s.begun, s.begunAfter = unfinished, s.after
		}
	}
	if s.echo != nil { // the line that the cursor is in may become an echo
		cut := bytes.LastIndexByte(text, '\n') + 1
		if o.Clean {
			s.line.text = bytes.Clone(text[cut:])
		} else {
			s.line.raw = bytes.Clone(text[cut:])
		}
		if cut < len(text) {
			s.begun = ""
		}
		text = text[:cut]
	}
	s.a.find(text, s.after+1)
	return s
}

// context returns the bytes before the cursor that a match may need, and sets where they begin and end.
func (s *Stream) context() []byte {
	s.since = s.b.Begin(s.o.From)
	from := max(s.o.From-lookBack, s.since)
	sl := s.b.At(from, int(s.o.From-from))
	data := sl.Data[:min(max(s.o.From-sl.Start, 0), int64(len(sl.Data)))] // a length of 0 is no limit
	cut := 0
	switch {
	case s.o.Pattern.spansLines || s.o.Clean || s.o.Echo.Any(): // clean text may need the rows before
		if sl.Start > s.since {
			cut = bytes.IndexByte(data, '\n') + 1
		}
	default:
		cut = bytes.LastIndexByte(data, '\n') + 1
	}
	s.floor, s.off = sl.Start+int64(cut), sl.Start+int64(len(data))
	return data[cut:]
}

// begin starts to search at the start of a line, at the offset pos.
func (s *Stream) begin(pos int64) {
	if s.o.Clean || s.echo != nil {
		s.cleaner = newCleaner(s.o)
	}
	if s.o.Clean {
		pos = 0
	}
	s.a = newAutomaton(s.o.Pattern, pos)
}

// Unsearched returns how many bytes beyond Options.From the search has not seen, because the buffer dropped them
// before.
func (s *Stream) Unsearched() int64 { return s.gone }

// OwnEcho reports whether an echo would have matched.
func (s *Stream) OwnEcho() bool { return s.own }

// Look searches the bytes that have come since the last call. It returns where the first match begins and ends.
func (s *Stream) Look() (start, stop int64, ok bool) {
	for {
		// In the same memory each time, since 29 % of the samples of BenchmarkSearchedTerminal were in the collection of
		// garbage. BenchmarkUntilRegex/literal: 0.35 MB for 12 MiB in place of 12.8 MB, 545 MiB/s in place of 402.
		sl := s.b.Into(s.read, s.off, piece)
		if cap(sl.Data) > cap(s.read) {
			s.read = sl.Data
		}
		if sl.Start > s.off {
			s.lose(sl.Start)
		}
		if len(sl.Data) == 0 {
			return s.unfinished(sl.EOF)
		}
		data, broken := s.untilBreak(sl.Data)
		if broken && len(data) == 0 {
			if start, stop, ok = s.unfinished(true); ok {
				return start, stop, true
			}
			s.restart()
			continue
		}
		s.off += int64(len(data))
		if start, stop, ok = s.feed(data); ok {
			return start, stop, true
		}
	}
}

// untilBreak returns data, which begins at s.off, up to the next break of the buffer. broken says that there is one.
func (s *Stream) untilBreak(data []byte) (part []byte, broken bool) {
	next := s.b.Breaks(max(s.off, s.since+1), s.off+int64(len(data)))
	if len(next) == 0 {
		return data, false
	}
	return data[:next[0]-s.off], true
}

// restart goes on behind a break at s.off: with a line of its own, and no echo of earlier input.
func (s *Stream) restart() {
	s.since, s.floor, s.gap, s.begun, s.echo = s.off, s.off, false, "", nil
	s.line.raw, s.line.text = nil, nil
	s.cleaner = nil
	s.begin(s.off)
	s.after = s.a.pos
}

// lose goes on at the offset to, with the bytes before it missing.
func (s *Stream) lose(to int64) {
	s.gone += max(to-max(s.off, s.o.From), 0)
	s.off, s.gap, s.begun = to, true, ""
	s.line.raw, s.line.text = nil, nil
}

// feed searches p, which ends at s.off.
func (s *Stream) feed(p []byte) (start, stop int64, ok bool) {
	if s.gap {
		cut := bytes.IndexByte(p, '\n') + 1
		if cut == 0 {
			cut = len(p)
		}
		s.gone += int64(cut)
		p = p[cut:]
		if len(p) == 0 {
			return 0, 0, false
		}
		s.gap, s.floor = false, s.off-int64(len(p))
		s.begin(s.floor)
		s.after = s.a.pos
	}
	for s.echo != nil && len(p) > 0 {
		if p, start, stop, ok = s.feedLine(p); ok {
			return start, stop, true
		}
	}
	if len(p) == 0 {
		return 0, 0, false
	}
	text := p
	if s.o.Clean {
		s.text = s.cleaner.Append(s.text[:0], p)
		text = s.text
		s.redrawn(text)
	}
	return s.search(text, s.off-int64(len(p)), s.off)
}

// feedLine reads a line of p, or the part that p has, and searches it if it is no echo. It returns the rest of p.
func (s *Stream) feedLine(p []byte) (rest []byte, start, stop int64, ok bool) {
	l := &s.line
	over := s.echo.over()
	n := bytes.IndexByte(p, '\n') + 1
	if over { // whole lines, for their titles
		n = bytes.LastIndexByte(p, '\n') + 1
	}
	ended := n > 0
	if !ended {
		n = len(p)
	}
	rest = p[n:]
	l.raw = append(l.raw, p[:n]...)
	if !over {
		l.text = s.cleaner.Append(l.text, p[:n])
		shown, cursor := s.cleaner.Line()
		switch {
		case bytes.HasSuffix(l.text, newline):
		// It fills its row: the Cleaner takes the line end for a wrap.
		case ended && cursor == len(shown) && s.echo.whole(string(l.text)+shown):
			l.text = append(append(l.text, shown...), '\n')
			s.cleaner = newCleaner(s.o)
		default:
			ended = false
		}
	}
	if !ended && len(l.raw) < maxLine {
		return rest, 0, 0, false
	}
	raw, text := l.raw, l.text
	l.raw, l.text = l.raw[:0], l.text[:0]
	end := s.off - int64(len(rest))
	s.redrawn(text)
	if s.takeEcho(text) {
		s.own = s.own || s.o.Pattern.re.Match(text)
		s.passOver(raw, end)
		return rest, 0, 0, false
	}
	begin := end - int64(len(raw))
	if s.o.Clean {
		raw = text
	} else {
		raw = hideTitles(raw, s.o.Echo)
	}
	start, stop, ok = s.search(raw, begin, end)
	return rest, start, stop, ok
}

var newline = []byte{'\n'}

// passOver goes on behind an echo that ends at the offset end. A match may begin with its line end: that is how callers
// say that they mean a line of its own.
func (s *Stream) passOver(echo []byte, end int64) {
	tail := echo[len(bytes.TrimRight(echo, "\r\n")):]
	s.floor = end - int64(len(tail))
	if s.o.Clean {
		tail = newline
		end = s.a.pos + int64(len(tail))
	}
	s.a.restart(end - int64(len(tail)))
	s.after = max(end, s.after)
	if s.o.Clean {
		s.after = end
	}
	s.a.find(tail, s.after)
}

// takeEcho reports whether the finished text has a line that is an echo.
func (s *Stream) takeEcho(text []byte) (own bool) {
	for line := range bytes.Lines(text) { // rows of one line, if the editor draws them so
		own = s.echo.take(string(line)) || own
	}
	if s.echo.over() && s.o.Clean { // else titles may come
		s.echo = nil
	}
	return own
}

// search feeds text to the automaton. It was made of the bytes between the offsets begin and end.
func (s *Stream) search(text []byte, begin, end int64) (start, stop int64, ok bool) {
	if _, ok = s.a.find(text, s.after); !ok {
		return 0, 0, false
	}
	ahead := end
	if s.echo == nil {
		ahead += lookBack
		if next := s.b.Breaks(max(end, s.since+1), ahead); len(next) > 0 {
			ahead = next[0]
		}
	}
	start, stop = s.locate(begin, end, ahead)
	return start, stop, true
}

// unfinished looks at the end of the output as it is now. closed says that no more will come.
func (s *Stream) unfinished(closed bool) (start, stop int64, ok bool) {
	if s.off <= s.o.From || s.gap {
		return 0, 0, false
	}
	var text []byte
	if s.cleaner != nil {
		line, _ := s.cleaner.Line()
		text = append(slices.Clip(s.line.text), line...)
		s.redrawn(s.line.text)
		if s.echo != nil && !closed && s.echo.coming(string(text)) {
			s.own = s.own || s.o.Pattern.re.Match(text)
			return 0, 0, false
		}
	}
	if !s.o.Clean {
		text = hideTitles(s.line.raw, s.o.Echo)
	}
	if ok = s.a.atEnd(s.after); len(text) > 0 {
		now := s.a.save()
		_, ok = s.a.find(text, s.after)
		ok = ok || s.a.atEnd(s.after)
		s.a.restore(now)
	}
	if !ok {
		return 0, 0, false
	}
	start, stop = s.locate(s.off-int64(len(s.line.raw)), s.off, s.off)
	return start, stop, true
}
