package keys

import (
	"slices"
	"strings"

	"ptyctl/term"
)

// fixed are the special keys by name, with the bytes that an xterm sends for them (xterm control sequences, "PC-Style
// Function Keys"; ECMA-48 for the C0 codes). Enter is CR, as keyboards send it and network devices expect it. The
// function keys are those of TERM=xterm and its kin; a program may expect others if TERM names another terminal.
var fixed = map[string]string{
	"enter":              "\r",
	"tab":                "\t",
	"shift_tab":          "\x1b[Z",
	"space":              " ",
	"backspace":          "\x7f",
	"insert":             "\x1b[2~",
	"delete":             "\x1b[3~",
	"esc":                "\x1b",
	"page_up":            "\x1b[5~",
	"page_down":          "\x1b[6~",
	"ctrl_space":         "\x00",
	"ctrl_backslash":     "\x1c",
	"ctrl_right_bracket": "\x1d",
	"ctrl_caret":         "\x1e",
	"ctrl_underscore":    "\x1f",
	"f1":                 "\x1bOP",
	"f2":                 "\x1bOQ",
	"f3":                 "\x1bOR",
	"f4":                 "\x1bOS",
	"f5":                 "\x1b[15~",
	"f6":                 "\x1b[17~",
	"f7":                 "\x1b[18~",
	"f8":                 "\x1b[19~",
	"f9":                 "\x1b[20~",
	"f10":                "\x1b[21~",
	"f11":                "\x1b[23~",
	"f12":                "\x1b[24~",
}

// cursorKeys are the keys that programs may ask for in another form (DECCKM): CSI and the letter, or SS3 and the
// letter.
var cursorKeys = map[string]string{
	"arrow_up": "A", "arrow_down": "B", "arrow_right": "C", "arrow_left": "D", "home": "H", "end": "F",
}

// List names all keys, for people and models.
const List = "enter tab shift_tab space backspace insert delete esc home end page_up page_down " +
	"arrow_up arrow_down arrow_left arrow_right f1-f12 " +
	"ctrl_a-ctrl_z ctrl_space ctrl_backslash ctrl_right_bracket ctrl_caret ctrl_underscore alt_a-alt_z; " +
	"telnet: break interrupt_process abort_output ayt eof; ssh: break"

// Bytes returns the bytes that the named key sends. applicationCursor is whether the program has asked for the arrow
// keys, home and end in their application form (DECCKM, DECSET 1).
func Bytes(name string, applicationCursor bool) (bytes []byte, ok bool) {
	if b, ok := fixed[name]; ok {
		return []byte(b), true
	}
	if letter, ok := cursorKeys[name]; ok {
		if applicationCursor {
			return []byte("\x1bO" + letter), true
		}
		return []byte("\x1b[" + letter), true
	}
	modifier, letter, _ := strings.Cut(name, "_")
	if len(letter) != 1 || letter[0] < 'a' || letter[0] > 'z' {
		return nil, false
	}
	switch modifier {
	case "ctrl":
		return []byte{letter[0] & 0x1f}, true
	case "alt":
		return []byte{0x1b, letter[0]}, true
	}
	return nil, false
}

// Known reports whether there is a key of that name, one of a protocol included.
func Known(name string) bool {
	_, ok := Bytes(name, false)
	return ok || IsProtocol(name)
}

// keyNames are the names that Bytes knows, one by one, in the order in which they are tried on bytes: where two keys
// send the same, the key comes before the letter with ctrl.
var keyNames = func() []string {
	names := make([]string, 0, len(fixed)+len(cursorKeys)+2*26)
	for name := range fixed {
		names = append(names, name)
	}
	for name := range cursorKeys {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, modifier := range []string{"ctrl_", "alt_"} {
		for c := 'a'; c <= 'z'; c++ {
			names = append(names, modifier+string(c))
		}
	}
	return names
}()

// sending returns the name of the key that sends exactly p; empty: none does.
func sending(p string) string {
	if p == "\n" {
		return "enter"
	}
	for _, name := range keyNames {
		for _, application := range []bool{false, true} {
			if b, _ := Bytes(name, application); string(b) == p {
				return name
			}
		}
	}
	return ""
}

// IsProtocol reports whether a key has no byte of its own: its protocol has a command for it.
func IsProtocol(name string) bool { return slices.Contains(term.ProtocolKeys(), name) }

// Name names the one key that data is; empty if it is text, or more.
func Name(data []byte) string {
	if len(data) != 1 {
		return ""
	}
	switch b := data[0]; {
	case b == '\r':
		return "enter"
	case b == '\t':
		return "tab"
	case b == 0x1b:
		return "esc"
	case b == 0x7f:
		return "backspace"
	case b == 0x1c:
		return "ctrl_backslash"
	case b >= 1 && b <= 26:
		return "ctrl_" + string('a'+rune(b)-1)
	}
	return ""
}
