package serial

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"ptyctl/term"
)

// Allow lists the devices that may be opened, by absolute path with * and ? within one folder, as path.Match, or on
// Windows by name, as COM*. An empty list allows none.
//
// The path of the caller must match, and so must the device itself, after all links. Only where the path is a link
// to the device itself, and it, its folder and every folder above can be changed by the system's administrator alone, as
// those of /dev/serial/by-id that udev makes, it is trusted to name the right device, which then need not match.
type Allow []string

// Validate refuses an entry that can never match.
func (a Allow) Validate() error {
	for _, pattern := range a {
		if _, err := path.Match(pattern, "x"); err != nil {
			return fmt.Errorf("the entry %q is no pattern: %w", pattern, err)
		}
		if !named(strings.NewReplacer("*", "0", "?", "0").Replace(pattern)) {
			return fmt.Errorf("the entry %q names no device: give %s, with * and ?", pattern, pathForm)
		}
	}
	return nil
}

// matches reports whether an entry has the path.
func (a Allow) matches(name string) bool {
	return slices.ContainsFunc(a, func(pattern string) bool {
		ok, err := path.Match(folded(pattern), folded(name))
		// A class such as [^S] matches a slash as well.
		return ok && err == nil && strings.Count(pattern, "/") == strings.Count(name, "/")
	})
}

// Judge returns the device that a caller's path leads to, without links, if it may be opened. An error of the kind
// PolicyDenied means that it may not; one of the kind ConnectFailed, with term.Absent, that there is no such device now.
// The device is looked at and not opened.
func (a Allow) Judge(given string) (device string, err error) {
	switch given = Path(given); {
	case given == "":
		return "", invalid("the path of the serial line is missing, such as %s", pathForm)
	case !named(given) || path.Clean(given) != given:
		return "", invalid("%q is no path of a serial line: give %s, without .. and double slashes", shorten(given), pathForm)
	case len(a) == 0:
		return "", a.denied("serial lines of this machine are off", "")
	case !a.matches(given):
		return "", a.denied("no entry allows "+shorten(given), "")
	}
	device, trusted, err := resolve(given)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &term.Error{
			Op: "open", Kind: term.ConnectFailed, Err: err, Facts: term.Facts{term.Absent{Await: returns(given)}},
			Msg: fmt.Sprintf("there is no device %s; plug it in, and check the name", shorten(given)),
		}
	case err != nil:
		return "", &term.Error{
			Op: "open", Kind: term.ConnectFailed, Err: err,
			Msg: fmt.Sprintf("the device %s cannot be looked at: %s", shorten(given), shorten(term.RootCause(err).Error())),
		}
	case !trusted && !a.matches(device):
		return "", a.denied(fmt.Sprintf("%s leads to %s, which no entry allows", shorten(given), shorten(device)),
			"the link could be changed by others than root, so the device itself must be listed")
	}
	if why := noLine(device); why != "" {
		return "", a.denied(shorten(device)+" is no serial line: "+why, "")
	}
	return device, nil
}

// denied is the error of a device that may not be opened.
func (a Allow) denied(what, why string) error {
	msg := what
	if why != "" {
		msg += " (" + why + ")"
	}
	return &term.Error{
		Op: "open", Kind: term.PolicyDenied, Reason: term.ReasonSerialAllow, Msg: msg,
		Advice: "list the device in Dialer.Allow",
		Facts:  term.Facts{term.Denial{Rule: "serial.allow", Allowed: a}},
	}
}

// shorten bounds a caller's text in a message.
func shorten(text string) string {
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// hasControl reports whether a text has control characters, which no path of a device has.
func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}
