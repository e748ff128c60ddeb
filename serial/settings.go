package serial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ptyctl/term"
)

// The settings of a line that names none.
const (
	defaultBaud = 9600
	defaultBits = 8
)

// maxBaud is above the speed of the fastest lines.
const maxBaud = 20_000_000

// Settings returns o with the defaults of a line of this machine, or an error for a value that does not exist.
func Settings(o term.SerialOptions) (term.SerialOptions, error) {
	o.Baud, o.DataBits = cmp.Or(o.Baud, defaultBaud), cmp.Or(o.DataBits, defaultBits)
	o.Parity, o.StopBits, o.Flow = cmp.Or(o.Parity, "none"), cmp.Or(o.StopBits, 1), cmp.Or(o.Flow, "none")
	return o, Check(o)
}

// Check refuses values that do not exist. A zero field is right.
func Check(o term.SerialOptions) error {
	if o.Baud < 0 || o.Baud > maxBaud {
		return invalid("a serial line has no speed of %d; give bits a second, such as 9600 or 115200", o.Baud)
	}
	if o.DataBits != 0 && (o.DataBits < 5 || o.DataBits > 8) {
		return invalid("a character has 5 to 8 data bits, not %d", o.DataBits)
	}
	if o.StopBits < 0 || o.StopBits > 2 {
		return invalid("a character has 1 or 2 stop bits, not %d", o.StopBits)
	}
	for _, f := range []struct {
		name, value string
		allowed     []string
	}{
		{"parity", o.Parity, []string{"none", "odd", "even", "mark", "space"}},
		{"flow control", o.Flow, []string{"none", "rtscts", "xonxoff"}},
		{"state of DTR", o.DTR, []string{"on", "off", "keep"}},
		{"state of RTS", o.RTS, []string{"on", "off", "keep"}},
	} {
		if f.value != "" && !slices.Contains(f.allowed, f.value) {
			return invalid("there is no %s %q; use one of %s", f.name, f.value, strings.Join(f.allowed, ", "))
		}
	}
	if o.Flow == "rtscts" && (o.RTS == "on" || o.RTS == "off") {
		return invalid("with flow control rtscts the system sets RTS; leave RTS out")
	}
	return nil
}

// invalid is the error of a setting that does not exist.
func invalid(format string, args ...any) error {
	return &term.Error{
		Op: "open", Kind: term.InvalidArgument, Msg: fmt.Sprintf(format, args...),
		Facts: term.Facts{term.ArgumentFault{Field: term.FieldSerial}},
	}
}

// Line returns the settings in the short form of people, such as "115200 8N1".
func Line(o term.SerialOptions) string {
	parity := "N"
	if o.Parity != "" {
		parity = strings.ToUpper(o.Parity[:1])
	}
	text := fmt.Sprintf("%d %d%s%d", o.Baud, o.DataBits, parity, o.StopBits)
	if o.Flow != "" && o.Flow != "none" {
		text += " " + o.Flow
	}
	return text
}
