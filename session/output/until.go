package output

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"

	"ptyctl/buffer"
	"ptyctl/vt"
)

// lookBack is how far before the newest bytes a pattern is tried: at least the unfinished line is rescanned, never more
// than this. A match longer than that, or one that began in a line finished further back, is missed; in a line longer
// than that, ^ may be taken to match where the look back begins.
const lookBack = 16 << 10

// A Finder looks for a regular expression in a buffer that is still written to.
//
// It searches a window, which begins at the start of a line and not at that of the stream. So that the outcome does not
// depend on where windows begin, ^ and \A mean the start of a line, with or without (?m). Without it, $ and \z mean the
// end of the output so far.
type Finder struct {
	re         *regexp.Regexp
	spansLines bool  // a match may contain a line end
	from       int64 // a match counts if it ends beyond it
	scanned    int64 // everything before was searched
}

// Find makes a Finder of matches that end beyond the cursor from.
//
// An expression that cannot be parsed again, as with POSIX syntax, is used as it is and is assumed to span lines: that
// costs time, never a match.
func Find(re *regexp.Regexp, from int64) *Finder {
	f := &Finder{re: re, spansLines: true, from: from, scanned: from}
	parsed, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil { // only POSIX syntax allows it
		return f
	}
	f.spansLines = canMatchNewline(parsed)
	if anchorToLines(parsed) {
		if lines, err := regexp.Compile(parsed.String()); err == nil {
			f.re = lines
		}
	}
	return f
}

// Next looks in the bytes of b since the last call, up to the end that st names, and in as many before them as a match
// may need. It returns the offsets of the match.
func (f *Finder) Next(b *buffer.Buffer, st buffer.Stat) (start, stop int64, ok bool) {
	sl := window(b, f.scanned, st.End, f.spansLines)
	f.scanned = st.End
	if !st.Closed { // a match must not end inside a rune
		sl.Data = sl.Data[:len(sl.Data)-PartialRune(sl.Data)]
	}
	at := func(loc []int) (int64, int64, bool) {
		return sl.Start + int64(loc[0]), sl.Start + int64(loc[1]), true
	}
	loc := f.re.FindIndex(sl.Data)
	if loc == nil {
		return 0, 0, false
	}
	if sl.Start+int64(loc[1]) > f.from {
		return at(loc)
	}
	// The first match lies before the cursor: it was there when the caller asked. Look at the others.
	for _, loc := range f.re.FindAllIndex(sl.Data, -1) {
		if sl.Start+int64(loc[1]) > f.from {
			return at(loc)
		}
	}
	return 0, 0, false
}

// window returns the bytes up to end, from the start of the line that contains offset, going back at most lookBack;
// with whole set it goes back as far as that, to the start of the first line there.
func window(b *buffer.Buffer, offset, end int64, whole bool) buffer.Slice {
	from := max(offset-lookBack, 0)
	sl := b.At(from, int(end-from))
	before := sl.Data[:min(max(offset-sl.Start, 0), int64(len(sl.Data)))]
	cut := 0
	switch {
	case !whole:
		cut = bytes.LastIndexByte(before, '\n') + 1
	case sl.Start > 0:
		cut = bytes.IndexByte(before, '\n') + 1
	}
	sl.Data, sl.Start = sl.Data[cut:], sl.Start+int64(cut)
	return sl
}

// Waits reports whether the unfinished last line of b, as a person sees it, matches one of the patterns, and something
// of it came after the cursor from. The line ends at the end that st names.
func Waits(b *buffer.Buffer, st buffer.Stat, from int64, patterns []*regexp.Regexp) bool {
	if st.End <= from {
		return false
	}
	sl := window(b, st.End, st.End, false)
	line := vt.LastLine(sl.Data)
	for _, re := range patterns {
		if loc := re.FindIndex(sl.Data); loc != nil && sl.Start+int64(loc[1]) > from {
			return true
		}
		// The text that a shell draws behind its prompt cannot be seen: the pattern's $ means the end of the visible part.
		if loc := re.FindStringIndex(line); loc != nil && loc[1] == len(line) {
			return true
		}
	}
	return false
}

// anchorToLines replaces "start of text" by "start of line" in re, and reports whether there was any.
func anchorToLines(re *syntax.Regexp) (found bool) {
	if re.Op == syntax.OpBeginText {
		re.Op, found = syntax.OpBeginLine, true
	}
	for _, sub := range re.Sub {
		if anchorToLines(sub) {
			found = true
		}
	}
	return found
}

// canMatchNewline reports whether a match of re may contain a line end. If it cannot, a
// search needs to go back only to the start of the line that it begins in.
func canMatchNewline(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar:
		return true
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') {
			return true
		}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(re.Sub, canMatchNewline)
}
