package session

import (
	"slices"
	"strings"
)

// keys are the special keys by name, with the bytes an xterm sends for them in normal cursor mode
// (xterm control sequences, "PC-Style Function Keys"; ECMA-48 for the C0 codes). Enter is CR: that is what a
// keyboard sends, and what network devices expect.
var keys = map[string]string{
	"enter":          "\r",
	"tab":            "\t",
	"backspace":      "\x7f",
	"delete":         "\x1b[3~",
	"home":           "\x1b[H",
	"end":            "\x1b[F",
	"ctrl_a":         "\x01",
	"ctrl_c":         "\x03",
	"ctrl_d":         "\x04",
	"ctrl_e":         "\x05",
	"ctrl_k":         "\x0b",
	"ctrl_l":         "\x0c",
	"ctrl_u":         "\x15",
	"ctrl_z":         "\x1a",
	"ctrl_backslash": "\x1c",
	"esc":            "\x1b",
	"arrow_up":       "\x1b[A",
	"arrow_down":     "\x1b[B",
	"arrow_right":    "\x1b[C",
	"arrow_left":     "\x1b[D",
	"page_up":        "\x1b[5~",
	"page_down":      "\x1b[6~",
}

// Key returns the bytes that the named key sends.
func Key(name string) (bytes []byte, ok bool) {
	b, ok := keys[name]
	return []byte(b), ok
}

// KeyNames returns the names of all keys, sorted, with the plain ones before those with a modifier.
func KeyNames() []string {
	names := make([]string, 0, len(keys))
	for name := range keys {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if ac, bc := strings.HasPrefix(a, "ctrl_"), strings.HasPrefix(b, "ctrl_"); ac != bc {
			if ac {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	return names
}
