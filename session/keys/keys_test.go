package keys_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptyctl/session/keys"
	"ptyctl/term"
)

func TestBytes(t *testing.T) {
	want := map[string]string{
		"ctrl_c": "\x03", "ctrl_d": "\x04", "ctrl_z": "\x1a", "ctrl_a": "\x01", "ctrl_b": "\x02", "ctrl_i": "\t", "ctrl_backslash": "\x1c",
		"ctrl_space": "\x00", "ctrl_right_bracket": "\x1d", "ctrl_caret": "\x1e", "ctrl_underscore": "\x1f",
		"tab": "\x09", "shift_tab": "\x1b[Z", "enter": "\r", "esc": "\x1b", "space": " ", "backspace": "\x7f", "insert": "\x1b[2~", "delete": "\x1b[3~",
		"page_up": "\x1b[5~", "page_down": "\x1b[6~", "alt_a": "\x1ba", "alt_z": "\x1bz",
		"f1": "\x1bOP", "f4": "\x1bOS", "f5": "\x1b[15~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
	}
	for name, bytes := range want {
		for _, application := range []bool{false, true} {
			if got, ok := keys.Bytes(name, application); !ok || string(got) != bytes {
				t.Errorf("%s, %v = %q, %v", name, application, got, ok)
			}
		}
	}
	for name, letter := range map[string]string{
		"arrow_up": "A", "arrow_down": "B", "arrow_right": "C", "arrow_left": "D",
		"home": "H", "end": "F",
	} {
		normal, _ := keys.Bytes(name, false)
		application, _ := keys.Bytes(name, true)
		if string(normal) != "\x1b["+letter || string(application) != "\x1bO"+letter {
			t.Errorf("%s = %q and %q", name, normal, application)
		}
	}
	for _, name := range []string{
		"", "Enter", "ctrl_", "ctrl_C", "ctrl_1", "ctrl_ab", "alt_", "f0", "f13", "hyper_a",
		"_a",
	} {
		if got, ok := keys.Bytes(name, false); ok || got != nil {
			t.Errorf("%q is a key that sends %q", name, got)
		}
	}
	got, _ := keys.Bytes("enter", false)
	got[0] = 'x' // is the caller's own
	if again, _ := keys.Bytes("enter", false); string(again) != "\r" {
		t.Error("a caller changed a key")
	}
}

// Whatever List names is a key.
func TestList(t *testing.T) {
	var names []string
	plain, protocol, _ := strings.Cut(strings.TrimSuffix(keys.List, "; ssh: break"), "; telnet: ")
	if want := strings.Join(term.ProtocolKeys(), " "); protocol != want {
		t.Errorf("the keys of protocols are %q, want %q", protocol, want)
	}
	for part := range strings.FieldsSeq(plain) {
		switch part {
		case "f1-f12":
			for n := range 12 {
				names = append(names, fmt.Sprint("f", n+1))
			}
		case "ctrl_a-ctrl_z", "alt_a-alt_z":
			for c := 'a'; c <= 'z'; c++ {
				names = append(names, part[:strings.IndexByte(part, '_')+1]+string(c))
			}
		default:
			names = append(names, part)
		}
	}
	for _, name := range names {
		if b, ok := keys.Bytes(name, false); !ok || len(b) == 0 {
			t.Errorf("%s is listed and no key", name)
		}
	}
	spec := []string{
		"ctrl_c", "ctrl_d", "ctrl_z", "ctrl_backslash", "tab", "enter", "esc", "ctrl_a", "ctrl_e", "ctrl_k", "ctrl_u", "ctrl_l", "arrow_up", "arrow_down",
		"arrow_left", "arrow_right", "home", "end", "backspace", "delete", "page_up", "page_down",
	}
	for _, name := range spec {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not listed", name)
		}
	}
}

func TestSimilar(t *testing.T) {
	for name, want := range map[string]string{
		"Ctrl-C": "ctrl_c", "ctrl+c": "ctrl_c", "^C": "ctrl_c", "C-c": "ctrl_c", "<C-c>": "ctrl_c", "CTRL_C": "ctrl_c", "control-d": "ctrl_d",
		"Ctrl-\\": "ctrl_backslash", "^]": "ctrl_right_bracket", "^[": "esc", "M-x": "alt_x", "Alt+F": "alt_f", "meta_b": "alt_b",
		"Enter": "enter", "RETURN": "enter", "<CR>": "enter", "Escape": "esc", "{UP}": "arrow_up", "Up Arrow": "arrow_up", "PgUp": "page_up",
		"Page Down": "page_down", "F5": "f5", "S-Tab": "shift_tab", "Shift+Tab": "shift_tab", "Del": "delete",
		"": "", "hyper": "", "ctrl_1": "", "f13": "", strings.Repeat("x", 1000): "",
	} {
		if got := keys.Similar(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
