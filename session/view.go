package session

import (
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
	from := max(k.Start-cleanBack, 0)
	before := s.buf.At(from, int(k.Start-from))
	if before.Next > k.Start { // it is no longer held
		before.Data = nil
	}
	s.mu.Lock()
	c := vt.Cleaner{Cols: s.pty.Cols}
	s.mu.Unlock()
	return c.From(before.Data, k.Data)
}

// CleanText is Clean for what a command in the terminal has put out, from the start of a line.
func (s *Session) CleanText(output []byte) (text []byte, removed Sanitized) {
	s.mu.Lock()
	c := vt.Cleaner{Cols: s.pty.Cols}
	s.mu.Unlock()
	return c.From(nil, output)
}

// LastLine returns the unfinished last line as a person sees it: at rest, the prompt.
func (s *Session) LastLine() string { return s.lastLine() }

// Waiting says what the terminal seems to wait for, judged by its unfinished last line; nil: for nothing that is
// known.
func (s *Session) Waiting() *term.Waiting {
	if s.modes().AltScreen {
		return &term.Waiting{Kind: WaitEditor, Text: s.lastLine()}
	}
	return waitsFor(s.lastLine(), s.Expect().Pagers)
}
