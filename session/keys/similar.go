package keys

import (
	"strconv"
	"strings"
)

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
	{"control_", "ctrl_"},
	{"option_", "alt_"}, {"meta_", "alt_"}, {"ctl_", "ctrl_"}, {"c_", "ctrl_"}, {"m_", "alt_"},
	{"s_", "shift_"}, {"^", "ctrl_"},
}

// Similar returns the key that a caller may mean by the name that other programs use: "Ctrl-C", "^C", "<C-c>",
// "Escape", "PgUp", "F5". Empty: no idea.
func Similar(name string) string {
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
	if _, ok := Bytes(name, false); ok {
		return name
	}
	return ""
}

// Unknown says why a name is no key's, and what to use instead.
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
