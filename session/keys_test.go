package session_test

import (
	"slices"
	"testing"

	"ptyctl/session"
)

func TestKeys(t *testing.T) {
	want := map[string]string{
		"ctrl_c": "\x03", "ctrl_d": "\x04", "ctrl_z": "\x1a", "ctrl_backslash": "\x1c", "tab": "\x09", "enter": "\r", "esc": "\x1b",
		"ctrl_a": "\x01", "ctrl_e": "\x05", "ctrl_k": "\x0b", "ctrl_u": "\x15", "ctrl_l": "\x0c",
		"arrow_up": "\x1b[A", "arrow_down": "\x1b[B", "arrow_right": "\x1b[C", "arrow_left": "\x1b[D",
		"home": "\x1b[H", "end": "\x1b[F", "backspace": "\x7f", "delete": "\x1b[3~", "page_up": "\x1b[5~", "page_down": "\x1b[6~",
	}
	names := session.KeyNames()
	if len(names) != len(want) || names[0] != "arrow_down" || names[len(names)-1] != "ctrl_z" {
		t.Errorf("names %q", names)
	}
	for name, bytes := range want {
		if got, ok := session.Key(name); !ok || string(got) != bytes || !slices.Contains(names, name) {
			t.Errorf("%s = %q, %v", name, got, ok)
		}
	}
	if got, ok := session.Key("Enter"); ok || len(got) != 0 {
		t.Errorf("an unknown key gave %q", got)
	}
	got, _ := session.Key("enter")
	got[0] = 'x' // is the caller's own
	if again, _ := session.Key("enter"); string(again) != "\r" {
		t.Error("a caller changed a key")
	}
}
