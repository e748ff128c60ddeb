package keys

import (
	"strconv"
	"strings"
)

// keyAliases are the names of keys used by people and other programs.
var keyAliases = map[string]string{
	"return": "enter", "cr": "enter", "newline": "enter", "lf": "enter", "linefeed": "enter", "kp_enter": "enter",
	"escape": "esc", "ctrl_[": "esc", "spc": "space", "spacebar": "space", "btab": "shift_tab", "backtab": "shift_tab",
	"bs": "backspace", "bksp": "backspace", "bspace": "backspace", "back_space": "backspace", "ctrl_?": "backspace",
	"del": "delete", "dc": "delete", "ins": "insert", "ic": "insert",
	"up": "arrow_up", "down": "arrow_down", "left": "arrow_left", "right": "arrow_right",
	"arrowup": "arrow_up", "arrowdown": "arrow_down", "arrowleft": "arrow_left", "arrowright": "arrow_right",
	"up_arrow": "arrow_up", "down_arrow": "arrow_down", "left_arrow": "arrow_left", "right_arrow": "arrow_right",
	"key_up": "arrow_up", "key_down": "arrow_down", "key_left": "arrow_left", "key_right": "arrow_right",
	"cursor_up": "arrow_up", "cursor_down": "arrow_down", "cursor_left": "arrow_left", "cursor_right": "arrow_right",
	"pgup": "page_up", "pageup": "page_up", "ppage": "page_up", "prior": "page_up",
	"pgdn": "page_down", "pgdown": "page_down", "pagedown": "page_down", "page_dn": "page_down", "npage": "page_down",
	"interrupt": "ctrl_c", "sigint": "ctrl_c",
	`ctrl_\`: "ctrl_backslash", "ctrl_]": "ctrl_right_bracket", "ctrl_^": "ctrl_caret", "ctrl__": "ctrl_underscore",
	"ctrl_@": "ctrl_space",
}

// modifierAliases are how modifiers are written elsewhere, longest first.
var modifierAliases = []struct{ is, means string }{
	{"control_", "ctrl_"},
	{"key_ctrl_", "ctrl_"},
	{"option_", "alt_"},
	{"meta_", "alt_"},
	{"ctl_", "ctrl_"},
	{"c_", "ctrl_"},
	{"m_", "alt_"},
	{"s_", "shift_"},
	{"^", "ctrl_"},
}

// Similar returns the key that a caller may mean by the name that other programs use: "Ctrl-C", "^C", "<C-c>",
// "Escape", "PgUp", "F5". Empty: no idea.
func Similar(name string) string {
	if len(name) > 32 {
		return ""
	}
	name = strings.ToLower(strings.Trim(name, " <>{}"))
	if inner, ok := strings.CutPrefix(name, "["); ok && len(inner) > 1 {
		name = strings.TrimSuffix(inner, "]")
	}
	if len(name) > 2 {
		name = name[:1] + strings.NewReplacer("-", "_", "+", "_", " ", "_").Replace(name[1:len(name)-1]) + name[len(name)-1:]
	}
	if letter, ok := strings.CutPrefix(name, "ctrl"); ok && len(letter) == 1 { // ctrlc
		name = "ctrl_" + letter
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
	if _, ok := Bytes(name, false); ok {
		return name
	}
	return ""
}

// Meant returns the key that a caller means by its name here, by a name that other programs use, by the bytes that it
// sends or by these written out, such as \x03. Empty: no idea.
func Meant(name string) string {
	if Known(name) {
		return name
	}
	if len(name) > 32 {
		return ""
	}
	if key := sending(name); key != "" {
		return key
	}
	if key := Similar(name); key != "" {
		return key
	}
	if spelled.MatchString(name) {
		return sending(unspell(name))
	}
	return ""
}

// Unknown says why a name is not a key, and suggests another one.
func Unknown(name string) string {
	if len(name) > 32 {
		name = strings.ToValidUTF8(name[:32], "") + "..."
	}
	hint := "; the keys are " + List + "; any other text is data, not a key"
	if similar := Similar(name); similar != "" {
		hint = "; use " + similar
	}
	return "key " + strconv.Quote(name) + " does not exist" + hint
}
