package session

import (
	"ptyctl/session/prompt"
	"ptyctl/term"
	"ptyctl/vt"
)

// cleanBack is how far before a chunk an escape sequence, or the line it continues, may have begun.
const cleanBack = 4 << 10

// Sanitized counts what was removed to make text readable.
type Sanitized = vt.Sanitized

// Clean returns a chunk of the terminal's output as text for reading: without escape sequences, with what was
// drawn over in its last state, and safe to show; see package vt. Cursors go on counting raw bytes.
func (s *Session) Clean(k Chunk) (text []byte, removed Sanitized) {
	c := cleaner(s, k.Start)
	text = c.Append(make([]byte, 0, len(k.Data)), k.Data)
	text = c.Flush(text)
	return text, c.Sanitized()
}

// cleaner makes one that has read what is held before start.
func cleaner(s *Session, start int64) *vt.Cleaner {
	var before []byte
	if back := min(start, cleanBack); back > 0 {
		held := s.buf.At(start-back, int(back))
		before = held.Data[:min(max(start-held.Start, 0), int64(len(held.Data)))] // as much as is still held
	}
	c := &vt.Cleaner{Cols: s.screen.cols()}
	c.Skip(before)
	return c
}

// CleanText is Clean for what a command in the terminal has put out, from the start of a line.
func (s *Session) CleanText(output []byte) (text []byte, removed Sanitized) {
	c := vt.Cleaner{Cols: s.screen.cols()}
	return c.From(nil, output)
}

// LastLine returns the unfinished last line as a person sees it: at rest, the prompt.
func (s *Session) LastLine() string { return s.lane.LastLine() }

// Waiting says what the terminal seems to wait for, judged by its unfinished last line; nil: for nothing that is
// known.
func (s *Session) Waiting() *term.Waiting {
	if s.screen.modes().AltScreen {
		return &term.Waiting{Kind: prompt.Editor, Text: s.lane.LastLine()}
	}
	return prompt.Waits(s.lane.LastLine(), s.Expect().Pagers)
}
