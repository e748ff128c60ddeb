package text

import (
	"bytes"
	"context"
	"regexp"

	"ptyctl/vt"
)

// maxSearchLine is how much of one line a search returns.
const maxSearchLine = 2000

// A SearchRequest says what to look for in the output that is still held.
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
	Number int64  // counted from the oldest line held, from 1
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
	Dropped int64 // bytes between Cursor and the oldest byte held
}

// Search looks for a pattern, line by line, without waiting and without an effect on readers.
//
// It looks at all that is held, from the oldest byte, because the numbers of lines count from there. Only lines that
// begin at Cursor or later can match.
func (v View) Search(ctx context.Context, r SearchRequest) SearchResult {
	if r.Max == 0 {
		r.Max = 50
	}
	all := v.Buffer.At(0, 0)
	from := max(r.Cursor, all.Start)
	res := SearchResult{Next: all.Next, Dropped: max(all.Start-max(r.Cursor, 0), 0)}
	var clean *vt.Cleaner
	if r.Clean && !v.NoTerminal {
		clean = v.cleaner(all.Start)
	}
	var before []SearchLine // the last lines not yet returned
	after := 0              // how many of the following lines are context
	cursor, number := all.Start, int64(0)
	for rest := all.Data; len(rest) > 0 && ctx.Err() == nil; {
		line, tail, ended := bytes.Cut(rest, []byte("\n"))
		number++
		text := bytes.TrimSuffix(line, []byte("\r"))
		switch {
		case clean != nil:
			text = cleanLine(clean, nil, rest[:len(rest)-len(tail)], len(tail) == 0)
		case r.Clean:
			text, _ = vt.WithoutSGR(nil, text, false)
		}
		l := SearchLine{Number: number, Cursor: cursor, Text: text[:min(len(text), maxSearchLine)]}
		size := int64(len(line))
		if ended {
			size++
		}
		begins := cursor >= from
		cursor, rest = cursor+size, tail
		l.Match = begins && r.Pattern.Match(text)
		switch {
		case l.Match && res.Matches == r.Max:
			res.More, res.Next = true, l.Cursor
			return res
		case l.Match:
			res.Matches++
			res.Lines = append(append(res.Lines, before...), l)
			before, after = nil, r.Context
		case after > 0:
			after--
			res.Lines = append(res.Lines, l)
		case r.Context > 0:
			if before = append(before, l); len(before) > r.Context {
				before = before[1:]
			}
		}
	}
	return res
}
