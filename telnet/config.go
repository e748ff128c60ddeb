package telnet

import (
	"slices"
	"strings"
	"time"

	"ptyctl/term"
)

// Config configures a Conn. The zero value is an xterm-256color terminal of 120 columns and
// 40 rows that accepts the options it supports and offers none. A Config must not be modified
// after it was passed to a Conn or a Dialer.
type Config struct {
	Mode   Mode
	Enter  Enter
	Binary BinaryPolicy

	// Terminal lists the terminal names for the server, the preferred one first (RFC 1091).
	// Empty means xterm-256color, XTERM, VT100, ANSI.
	Terminal []string

	// Cols and Rows are the size of the window in characters. 0 means 120 columns and 40 rows.
	// A negative number sends 0, which for example some network devices take as no limit.
	Cols, Rows int

	NoWindow bool // send no terminal name and no window size

	// Env is the environment for a server that asks for it (RFC 1572). No other variable is ever
	// sent, in particular none of this process.
	Env []term.EnvVar

	// Offer lists options to offer (WILL) as soon as the connection is made, for devices that
	// wait for an offer. With it, a raw TCP port receives Telnet commands.
	Offer []Option

	// LogoutOnClose asks the server to end the login (RFC 727) and waits 250 ms for its answer.
	LogoutOnClose bool

	// SynchInterrupt sends IP and AO followed by a data mark in TCP urgent data, as RFC 854
	// specifies. It needs a direct TCP connection, and does not work on Windows.
	SynchInterrupt bool

	// OnEvent is called by Read for each command received, in order. It must not call the Conn.
	OnEvent func(Event)

	lossLimit time.Duration // 0: loss.Limit; shorter in tests
}

// A Mode says whether the peer speaks Telnet.
type Mode string

// The modes.
const (
	ModeAuto   Mode = "auto"   // the default: raw until its first command
	ModeTelnet Mode = "telnet" // Telnet, even before its first command
	ModeRaw    Mode = "raw"    // never: all bytes are data in both directions
)

// Enter is the encoding of a CR that is not followed by LF. CR LF and LF are sent unchanged.
type Enter string

// The encodings of Enter.
const (
	EnterAuto  Enter = "auto"  // the default: CR NUL to a Telnet server without BINARY, else CR
	EnterCR    Enter = "cr"    // CR
	EnterCRLF  Enter = "crlf"  // CR LF
	EnterCRNUL Enter = "crnul" // CR NUL
	EnterLF    Enter = "lf"    // LF
)

// A BinaryPolicy says when eight-bit data is agreed (RFC 856).
type BinaryPolicy string

// The policies.
const (
	BinaryAuto   BinaryPolicy = "auto"   // the default: when the server asks for it
	BinaryAlways BinaryPolicy = "always" // requested after the server's first command
	BinaryNever  BinaryPolicy = "never"
)

const (
	maxTerminal = 40      // most bytes of a terminal name (RFC 1091)
	maxEnviron  = 4 << 10 // most bytes of an answer with the environment
	maxCells    = 0xFEFE  // most columns or rows: without a byte of 255
)

// withDefaults returns c with defaults in place of zero fields, or an error for an invalid
// field.
func (c Config) withDefaults() (Config, error) {
	if err := oneOf(term.FieldTelnetMode, "mode", &c.Mode, ModeAuto, ModeTelnet, ModeRaw); err != nil {
		return c, err
	}
	enters := []Enter{EnterAuto, EnterCR, EnterCRLF, EnterCRNUL, EnterLF}
	if err := oneOf(term.FieldTelnetEnter, "enter", &c.Enter, enters...); err != nil {
		return c, err
	}
	if err := oneOf(term.FieldTelnetBinary, "binary", &c.Binary, BinaryAuto, BinaryAlways, BinaryNever); err != nil {
		return c, err
	}
	if len(c.Terminal) == 0 {
		c.Terminal = terminals(term.DefaultTerm)
	}
	for _, name := range c.Terminal {
		if name == "" || len(name) > maxTerminal || strings.ContainsFunc(name, notTerminal) {
			return c, invalid(
				term.FieldTerm,
				"terminal name %q is invalid: use up to %d letters, digits and - / . _ +",
				name,
				maxTerminal,
			)
		}
	}
	if c.Cols > maxCells || c.Rows > maxCells {
		return c, invalid(
			term.FieldPTY,
			"a window of %d by %d characters is too large for Telnet; the limit is %d",
			c.Cols,
			c.Rows,
			maxCells,
		)
	}
	p := term.PTY{Cols: c.Cols, Rows: c.Rows}.OrDefault()
	c.Cols, c.Rows = max(p.Cols, 0), max(p.Rows, 0)
	total := 0
	for _, v := range c.Env {
		total += len(v.Name) + len(v.Value) + 2
		// Escapes may double the size.
		if v.Name == "" || strings.ContainsRune(v.Name+v.Value, 0) || total > maxEnviron/2 {
			return c, invalid(
				term.FieldEnv,
				"the environment for the server must have names, no NUL bytes, and at most %d bytes in all",
				maxEnviron/2,
			)
		}
	}
	return c, nil
}

// terminals returns the list of names for a preferred one: that name, then names that all
// servers know.
func terminals(first string) []string {
	names := []string{first}
	for _, other := range []string{"XTERM", "VT100", "ANSI"} {
		if !strings.EqualFold(first, other) {
			names = append(names, other)
		}
	}
	return names
}

// notTerminal reports whether r is not allowed in a terminal name (RFC 1091).
func notTerminal(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-/._+", r)
}

// oneOf checks that *w is one of the allowed words, and sets an empty one to the first of
// them.
func oneOf[W ~string](field term.Field, name string, w *W, allowed ...W) error {
	if *w == "" {
		*w = allowed[0]
	}
	if slices.Contains(allowed, *w) {
		return nil
	}
	err := invalid(field, "%s %q is not one of its values", name, string(*w))
	fault := term.ArgumentFault{Field: field}
	for _, a := range allowed {
		fault.Allowed = append(fault.Allowed, string(a))
	}
	err.Facts = term.Facts{fault}
	return err
}

// invalid returns an InvalidArgument error about one field of the configuration or target.
func invalid(field term.Field, format string, args ...any) *term.Error {
	err := term.Errorf(term.InvalidArgument, format, args...)
	err.Op, err.Facts = "open", term.Facts{term.ArgumentFault{Field: field}}
	return err
}
