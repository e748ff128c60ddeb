package serial

import (
	"path"
	"strings"
)

// pathForm describes a right name in messages.
const pathForm = "a name such as COM3"

// Path returns the name that a caller's text means.
func Path(given string) string { return strings.ToUpper(given) }

// named reports whether a text has the form of a port's name: COM1 to COM999.
func named(text string) bool {
	number, ok := strings.CutPrefix(folded(text), "COM")
	return ok && len(number) > 0 && len(number) <= 3 && strings.Trim(number, "0123456789") == ""
}

// folded returns a name as it is compared.
func folded(name string) string { return strings.ToUpper(name) }

// resolve returns the name: ports have no links.
func resolve(given string) (device string, trusted bool, err error) {
	return path.Clean(given), true, nil
}

// noLine says nothing: COM names are those of ports alone.
func noLine(string) string { return "" }
