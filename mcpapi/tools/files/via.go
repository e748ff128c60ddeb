package files

import (
	"fmt"
	"strings"
	"unicode"

	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
)

// checkVia checks a copy over the terminal of a session: one end is the session, the other a file of this machine.
func checkVia(c *toolset.Call, in *fsArgs) error {
	terminal, file, side := in.To.place, in.From, "to"
	if terminal.SessionID == "" {
		terminal, file, side = in.From, in.To.place, "from"
	}
	switch {
	case in.From.Host != "" || in.To.Host != "":
		return c.Invalid(side+".host", "via needs the terminal of an open session: give its session_id")
	case terminal.SessionID == "" || file.SessionID != "":
		return c.Invalid("via", "via moves a file of ptyctl's machine over a session's terminal: give session_id in from or in to")
	case file.Path == "":
		return c.Invalid("via", "the path of the file on ptyctl's machine is missing")
	case in.Recursive:
		return c.Invalid("recursive", "via copies one file; pack a folder first")
	case in.Resume:
		return c.Invalid("resume", "via copies a file from its beginning")
	case in.Verify != nil && *in.Verify:
		return c.Invalid("verify", "via cannot read the copy back; sha256 is of what was sent or received")
	}
	return nil
}

// maxFarName is how many characters of a name from the far side are shown.
const maxFarName = 255

// shown returns a name from the far side as text that is harmless to show.
func shown(name string) string {
	safe := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(name, "\ufffd")))
	return string(safe[:min(len(safe), maxFarName)])
}

// overTerminal adds the members that only a copy over a terminal has.
func (out *fsCopyOut) overTerminal(m *session.ModemResult) (notes []string) {
	if m == nil {
		return nil
	}
	if out.Errors = m.Errors; m.Received {
		out.Name = shown(m.Name)
	}
	if m.Padded && m.Bytes > 0 {
		notes = append(notes, "the file's size is not known, so it may end in up to 1023 bytes 0x1A that fill up the last block; "+
			"compare sizes, or use ymodem")
	}
	if m.More {
		notes = append(notes, "the far side had more files: one is copied in a call")
	}
	if m.Uncertain {
		notes = append(notes, "the far side has acknowledged all blocks, but not the end of the file: check its size there")
	}
	if !m.CRC && m.Bytes > 0 {
		notes = append(notes, fmt.Sprintf("the far side uses checksums of 8 bits, which miss 1 of 256 errors (%d were noticed)", m.Errors))
	}
	return notes
}
