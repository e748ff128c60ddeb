package session

import (
	"slices"
	"strconv"
	"strings"
)

// keys are the special keys by name, with the bytes that an xterm sends for them (xterm control sequences, "PC-Style
// Function Keys"; ECMA-48 for the C0 codes). Enter is CR: that is what a keyboard sends, and what network devices
// expect. The function keys are those of TERM=xterm and its kin; a program told of another terminal may expect others.
var keys = map[string]string{
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

// cursorKeys are the keys that programs may ask for in another form (DECCKM): CSI and the letter, or SS3 and the letter.
var cursorKeys = map[string]string{
	"arrow_up": "A", "arrow_down": "B", "arrow_right": "C", "arrow_left": "D", "home": "H", "end": "F",
}

// KeyList names all keys, for people and models.
const KeyList = "enter tab shift_tab space backspace insert delete esc home end page_up page_down arrow_up arrow_down arrow_left arrow_right f1-f12 " +
	"ctrl_a-ctrl_z ctrl_space ctrl_backslash ctrl_right_bracket ctrl_caret ctrl_underscore alt_a-alt_z; telnet: break interrupt_process abort_output ayt eof; ssh: break"

// Key returns the bytes that the named key sends. applicationCursor is whether the program has asked for the arrow
// keys, home and end in their application form (DECCKM, DECSET 1).
func Key(name string, applicationCursor bool) (bytes []byte, ok bool) {
	if b, ok := keys[name]; ok {
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

// IsKey reports whether there is a key of that name, one of a protocol included.
func IsKey(name string) bool {
	_, ok := Key(name, false)
	return ok || isProtocolKey(name)
}

// keyNames are the names that Key knows, one by one, in the order in which they are tried on bytes: where two keys send
// the same, the key comes before the letter with ctrl.
var keyNames = func() []string {
	names := make([]string, 0, len(keys)+len(cursorKeys)+2*26)
	for name := range keys {
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

// keyThatSends returns the name of the key that sends exactly p; empty: none does.
func keyThatSends(p string) string {
	if p == "\n" {
		return "enter"
	}
	for _, name := range keyNames {
		for _, application := range []bool{false, true} {
			if b, _ := Key(name, application); string(b) == p {
				return name
			}
		}
	}
	return ""
}

// keyAliases are what people and other programs call keys.
var keyAliases = map[string]string{
	"return": "enter", "cr": "enter", "newline": "enter", "escape": "esc", "spc": "space", "bs": "backspace", "bspace": "backspace",
	"del": "delete", "dc": "delete", "ins": "insert", "ic": "insert", "up": "arrow_up", "down": "arrow_down", "left": "arrow_left",
	"right": "arrow_right", "up_arrow": "arrow_up", "down_arrow": "arrow_down", "left_arrow": "arrow_left", "right_arrow": "arrow_right",
	"pgup": "page_up", "pageup": "page_up", "ppage": "page_up", "pgdn": "page_down", "pgdown": "page_down", "pagedown": "page_down",
	"npage": "page_down", "btab": "shift_tab", "backtab": "shift_tab", "ctrl_[": "esc", `ctrl_\`: "ctrl_backslash", "ctrl_]": "ctrl_right_bracket",
	"ctrl_^": "ctrl_caret", "ctrl__": "ctrl_underscore", "ctrl_@": "ctrl_space", "ctrl_?": "backspace",
}

// modifierAliases are how modifiers are written elsewhere, longest first.
var modifierAliases = []struct{ is, means string }{
	{
		"control_",
		"ctrl_",
	}, {"option_", "alt_"}, {"meta_", "alt_"}, {"ctl_", "ctrl_"}, {"c_", "ctrl_"}, {"m_", "alt_"}, {"s_", "shift_"}, {"^", "ctrl_"},
}

// SimilarKey returns the key that somebody may mean who writes its name as other programs do: "Ctrl-C", "^C", "<C-c>",
// "Escape", "PgUp", "F5". Empty: no idea.
func SimilarKey(name string) string {
	if len(name) > 32 {
		return ""
	}
	name = strings.ToLower(strings.Trim(name, " <>{}"))
	if len(name) > 2 {
		name = name[:1] + strings.NewReplacer("-", "_", "+", "_", " ", "_").Replace(name[1:len(name)-1]) + name[len(name)-1:]
	}
	for _, m := range modifierAliases {
		if rest, ok := strings.CutPrefix(name, m.is); ok && rest != "" {
			name = m.means + rest
			break
		}
	}
	if key, ok := keyAliases[name]; ok {
		return key
	}
	if _, ok := Key(name, false); ok {
		return name
	}
	return ""
}

// UnknownKey says why a name is no key's, and what to use instead.
func UnknownKey(name string) string {
	if len(name) > 32 {
		name = strings.ToValidUTF8(name[:32], "") + "..."
	}
	hint := "; the keys are " + KeyList + "; any other text is data, not a key"
	if similar := SimilarKey(name); similar != "" {
		hint = "; use " + similar
	}
	return "key " + strconv.Quote(name) + " does not exist" + hint
}
