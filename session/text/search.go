package text

import (
	"bytes"
	"context"
	"regexp"

	"ptyctl/session/output"
	"ptyctl/vt"
)

// maxSearchLine is how much of one line a search returns.
const maxSearchLine = 2000

// A SearchRequest describes a search in the output that is still held.
//
// Cursors count raw bytes, as those of Read do.
type SearchRequest struct {
	Pattern *regexp.Regexp
	Cursor  int64 // where to begin; a SearchResult.Next to go on; 0: the oldest output held
	Context int   // lines to return before and after each match
	Max     int   // most matches to return; 0: 50
	Clean   bool  // look in clean text, and return that; see View.Clean
}

// A SearchLine is one line of the output.
type SearchLine struct {
	Number int64  // counted from the oldest line held, from 1, by their LF; lines no longer held are not counted
	Cursor int64  // of its first byte
	Text   []byte // without its line end, cut to 2,000 bytes
	Match  bool   // false: it is there for context
}

// A SearchResult holds the lines found, in order, each once.
type SearchResult struct {
	Lines   []SearchLine
	Matches int
	Next    int64 // cursor to go on from; the end of the output when More is false
	More    bool  // there are further matches
	Dropped int64 // bytes from Cursor on that are no longer held
}

// Search looks for a pattern, line by line, without waiting and without an effect on readers.
//
// It looks at all that is held, from the oldest byte, because the numbers of lines count from there. Only lines that
// begin at Cursor or later can match. A line that a break of the buffer cuts is two with one number.
func (v View) Search(ctx context.Context, r SearchRequest) SearchResult {
	all := v.Buffer.At(0, 0)
	return v.SearchIn(ctx, r, []output.Part{{Start: all.Start, Data: all.Data}})
}

// SearchIn is Search in all parts of the output that are held, in order. No context goes from one part to the next.
func (v View) SearchIn(ctx context.Context, r SearchRequest, parts []output.Part) SearchResult {
	if r.Max == 0 {
		r.Max = 50
	}
	s := searcher{ctx: ctx, r: r}
	end := int64(0)
	for _, part := range parts {
		s.res.Dropped += max(part.Start-max(r.Cursor, end), 0)
		end = part.Start + int64(len(part.Data))
	}
	s.res.Next = end
	for _, part := range parts {
		if s.before, s.after = nil, 0; !s.search(v, part) {
			break
		}
	}
	return s.res
}

// A searcher goes through the lines of an output.
type searcher struct {
	ctx    context.Context
	r      SearchRequest
	res    SearchResult
	number int64        // of the last line
	before []SearchLine // the last lines not yet returned
	after  int          // how many of the following lines are context
}

// search looks at the lines of a part. It reports false when there are more matches than are wanted.
func (s *searcher) search(v View, part output.Part) bool {
	var clean *cleaner
	if s.r.Clean && !v.NoTerminal {
		clean = v.cleaner(part.Start)
	}
	cursor := part.Start
	lines, ended := v.cutter(cursor), true
	for rest := part.Data; len(rest) > 0 && s.ctx.Err() == nil; {
		line := lines.next(cursor, rest)
		rest = rest[len(line):]
		if ended {
			s.number++
		}
		ended = bytes.HasSuffix(line, newline)
		text := withoutEnd(line)
		switch {
		case clean != nil:
			text = cleanLine(clean, nil, cursor, line, len(rest) == 0)
		case s.r.Clean:
			text, _ = vt.WithoutSGR(nil, text, false)
		}
		l := SearchLine{Number: s.number, Cursor: cursor, Text: text[:min(len(text), maxSearchLine)]}
		cursor += int64(len(line))
		l.Match = l.Cursor >= s.r.Cursor && s.r.Pattern.Match(text)
		switch {
		case l.Match && s.res.Matches == s.r.Max:
			s.res.More, s.res.Next = true, l.Cursor
			return false
		case l.Match:
			s.res.Matches++
			s.res.Lines = append(append(s.res.Lines, s.before...), l)
			s.before, s.after = nil, s.r.Context
		case s.after > 0:
			s.after--
			s.res.Lines = append(s.res.Lines, l)
		case s.r.Context > 0:
			if s.before = append(s.before, l); len(s.before) > s.r.Context {
				s.before = s.before[1:]
			}
		}
	}
	return true
}
