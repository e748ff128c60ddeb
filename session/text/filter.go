package text

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"ptyctl/session/output"
	"ptyctl/vt"
)

// shortLine is the length, in bytes, of a line that is never cut.
const shortLine = 200

// A Filter says which lines of an output to return.
type Filter struct {
	Pattern *regexp.Regexp // matched against each line without its line end
	Context int            // lines to return before and after each match
	Max     int            // most bytes to return, but a first line of up to 200 bytes; 0: no limit
	Clean   bool           // look in clean text, and return that; see View.Clean
}

// Filtered holds the lines of an output that match, in order, each once.
//
// The lines are as they came or clean, with their line ends. Of a line that is longer than a quarter of Filter.Max, and
// than 1,000 bytes if they fit, only the surroundings of its match are there, with the cuts marked. A line "--" is
// between two groups of lines with context where lines are left out.
type Filtered struct {
	Text       []byte
	Lines      int   // lines looked at
	Matches    int   // those of them that match
	Shown      int   // those of them that are in Text
	Put        int   // lines in Text, context included
	Next       int64 // where to go on: behind the lines looked at, or with Full the first line that Text had no room for
	Full       bool  // Text ends before the last match, because of Filter.Max
	Unsearched int64 // bytes that are no longer held, and the rest of the line that they end in
	Removed    vt.Sanitized
}

// Whole reports whether Text has all lines.
func (f Filtered) Whole() bool { return f.Put == f.Lines && !f.Full && f.Unsearched == 0 }

// Filter returns the lines that match. from is the offset from which the output was wanted, and parts are those of
// it that are held, in order. more says that the line at the end of the last part goes on: it is left for later.
//
// The cost depends on the size of the parts. When ctx ends, the result has the lines found until then.
func (v View) Filter(ctx context.Context, f Filter, from int64, parts []output.Part, more bool) Filtered {
	p := picker{ctx: ctx, view: v, f: f, got: Filtered{Next: from}}
	for i, part := range parts {
		if gap := part.Start - p.got.Next; gap > 0 {
			rest := bytes.IndexByte(part.Data, '\n') + 1 // 0: the line has no other end
			p.got.Unsearched += gap + int64(rest)
			part.Start, part.Data = part.Start+int64(rest), part.Data[rest:]
			p.near, p.after = nil, 0
		}
		if i == len(parts)-1 && more {
			part.Data = part.Data[:bytes.LastIndexByte(part.Data, '\n')+1]
		}
		end := part.Start + int64(len(part.Data))
		if p.got.Next = p.read(part); p.got.Next < end { // ctx has ended
			break
		}
	}
	if p.got.Full {
		p.got.Next = p.cut
	}
	return p.got
}

// Whole returns the part of the output from an offset on, with the beginning of the line that it goes on with, as far as
// that is held and at most 4 KiB long: whether a line matches depends on all of it.
func (v View) Whole(start int64, data []byte) output.Part {
	before := v.before(start, cleanBack)
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	return output.Part{Start: start - int64(len(before)), Data: append(slices.Clip(before), data...)}
}

// A picker goes through the lines of an output.
type picker struct {
	ctx  context.Context
	view View
	f    Filter
	got  Filtered

	near  []pickedLine // the last lines not returned, for context
	after int          // how many of the following lines are context
	last  int          // number of the last line returned
	cut   int64        // with Full: where the first line begins that had no room
}

// A pickedLine is a line that may be returned.
type pickedLine struct {
	number int
	cursor int64
	text   []byte // without its line end, as the pattern sees it
	shown  []byte // as it is returned
	at     []int  // of the match; nil: it is there for context
	vt.Sanitized
}

// read looks at the lines of a part until ctx ends, and returns the offset behind them.
func (p *picker) read(part output.Part) (cursor int64) {
	var clean *cleaner
	if p.f.Clean && !p.view.NoTerminal {
		clean = p.view.cleaner(part.Start)
	}
	cursor = part.Start
	lines := p.view.cutter(cursor)
	for rest := part.Data; len(rest) > 0 && p.ctx.Err() == nil; {
		raw := lines.next(cursor, rest)
		rest = rest[len(raw):]
		p.got.Lines++
		l := pickedLine{number: p.got.Lines, cursor: cursor}
		cursor += int64(len(raw))
		switch {
		case clean != nil:
			l.text = cleanLine(clean, nil, l.cursor, raw, len(rest) == 0)
			l.shown = l.text
			if bytes.HasSuffix(raw, newline) {
				l.shown = append(slices.Clip(l.text), '\n')
			}
		case p.f.Clean:
			l.text, l.Sanitized = vt.WithoutSGR(nil, raw, false)
			if l.shown = l.text; !utf8.Valid(raw) { // bytes that are no text stay as they are
				l.shown, l.Sanitized = raw, vt.Sanitized{}
			}
			l.text = withoutEnd(l.text)
		default:
			l.text, l.shown = withoutEnd(raw), raw
		}
		p.pick(l)
	}
	if clean != nil {
		p.got.Removed = p.got.Removed.Plus(clean.removed).Plus(clean.Sanitized())
	}
	return cursor
}

// withoutEnd returns the line without its line end.
func withoutEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, newline), []byte{'\r'})
}

// pick returns the line if it matches, with the lines around it, and remembers it for context otherwise.
func (p *picker) pick(l pickedLine) {
	l.at = p.f.Pattern.FindIndex(l.text)
	switch {
	case l.at != nil:
		p.got.Matches++
		for _, before := range p.near {
			p.put(before)
		}
		p.near, p.after = nil, p.f.Context
		if p.put(l) {
			p.got.Shown++
		}
	case p.after > 0:
		p.after--
		p.put(l)
	case p.f.Context > 0:
		if p.near = append(p.near, l); len(p.near) > p.f.Context {
			p.near = p.near[1:]
		}
	}
}

// put adds a line to the text, if there is room for it.
func (p *picker) put(l pickedLine) bool {
	if p.got.Full {
		return false
	}
	sep := ""
	if len(p.got.Text) > 0 && !bytes.HasSuffix(p.got.Text, newline) { // a line without an end, before a gap
		sep = "\n"
	}
	if p.f.Context > 0 && p.last > 0 && l.number > p.last+1 {
		sep += "--\n"
	}
	if most := max(p.f.Max/4, min(p.f.Max, 1000), shortLine); p.f.Max > 0 && len(l.shown) > most {
		l.shown = around(l.text, l.at, most)
	}
	// The first line is there however little room there is, or a caller who goes on would get no further.
	if p.f.Max > 0 && p.got.Put > 0 && len(p.got.Text)+len(sep)+len(l.shown) > p.f.Max {
		p.got.Full, p.cut = true, l.cursor
		return false
	}
	p.got.Text = append(append(p.got.Text, sep...), l.shown...)
	p.got.Removed = p.got.Removed.Plus(l.Sanitized)
	p.got.Put++
	p.last = l.number
	return true
}

// around returns the part of a long line around the match, or its beginning. Marks count the bytes left out. With them
// and a line end it has at most most bytes.
func around(text []byte, at []int, most int) []byte {
	from := 0
	most -= 2*len("[... 1234567890 bytes left out ...]") + 1
	if at != nil {
		from = max(min(at[0]-most/4, len(text)-most), 0)
	}
	part := text[from:min(from+most, len(text))]
	if from > 0 {
		whole := len(part)
		part = output.DropRuneRest(part)
		from += whole - len(part)
	}
	end := from + len(part)
	if end < len(text) {
		part = part[:len(part)-vt.PartialRune(part)]
		end = from + len(part)
	}
	var b bytes.Buffer
	if from > 0 {
		fmt.Fprintf(&b, "[... %d bytes left out ...]", from)
	}
	b.Write(part)
	if end < len(text) {
		fmt.Fprintf(&b, "[... %d bytes left out ...]", len(text)-end)
	}
	b.WriteByte('\n')
	return b.Bytes()
}
