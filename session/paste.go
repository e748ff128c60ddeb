package session

import (
	"bytes"

	"ptyctl/term"
)

// What stands around pasted text, if the program has asked for it (xterm control sequences, "Bracketed Paste Mode").
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// pasted returns data as a terminal sends what is pasted: its line ends are CR, as the enter key's are, and it stands
// between brackets if the program has asked for that (DECSET 2004), so that it is text and not keys.
func (k *writer) pasted(data []byte) (out []byte, warnings []string, err error) {
	s := k.s
	if bytes.Contains(data, []byte(pasteEnd)) {
		return nil, nil, &term.Error{
			Op:      "write",
			Session: s.id,
			Kind:    term.InvalidArgument,
			Msg:     `the data holds ESC [ 201 ~, which would end the paste, and what follows it would act as keys; remove it`,
			Details: &term.Details{Part: term.FieldData},
		}
	}
	out = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\r")), []byte("\n"), []byte("\r"))
	if s.screen.modes().BracketedPaste {
		return append(append([]byte(pasteStart), out...), pasteEnd...), nil, nil
	}
	if i := bytes.IndexByte(out, '\r'); i >= 0 && i < len(out)-1 {
		warnings = []string{"the program has not asked for bracketed paste: the lines were typed one by one, each with enter"}
	}
	return out, warnings, nil
}
