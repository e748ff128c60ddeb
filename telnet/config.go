package telnet

import (
	"slices"
	"strings"

	"ptyctl/term"
)

// Config says how a Conn behaves. The zero value is a terminal named xterm-256color of 120 by 40 characters that
// accepts what it can serve and offers nothing. It must not be modified after it was handed over.
type Config struct {
	Mode   Mode
	Enter  Enter
	Binary BinaryPolicy

	Terminal   []string // names to tell, best first (RFC 1091); empty: xterm-256color, XTERM, VT100, ANSI
	Cols, Rows int      // the window's size; 0 columns: 120, 0 rows: 40; negative: 0 is told, which some devices take as endless
	NoWindow   bool     // no terminal name and no window size is told

	// Env is what a server that asks for the environment is told (RFC 1572). Nothing else is: no variable of this
	// process, and nothing unless asked.
	Env []term.EnvVar

	// Offer are options to offer (WILL) as soon as the connection is made, for devices that wait for that. It makes
	// a raw TCP port see Telnet commands.
	Offer []Option

	// LogoutOnClose asks the server to end the login (RFC 727) and waits for it a quarter of a second.
	LogoutOnClose bool

	// SynchInterrupt sends IP and AO as RFC 854 has it, followed by a data mark in TCP urgent data. It works where the
	// connection is a TCP connection of this system's, not on Windows.
	SynchInterrupt bool

	// OnEvent is told of every command received. It is called by Read, in order, and must not call the Conn.
	OnEvent func(Event)
}

// A Mode says whether the far side speaks Telnet.
type Mode string

// The modes.
const (
	ModeAuto   Mode = "auto"   // or empty: it does not until its first command
	ModeTelnet Mode = "telnet" // it does, even if it says nothing
	ModeRaw    Mode = "raw"    // it never does: all bytes are data, both ways
)

// Enter says what a CR becomes that is not followed by LF. CR LF and LF pass as they are.
type Enter string

// What Enter may become.
const (
	EnterAuto  Enter = "auto"  // or empty: CR, and CR NUL to a server that speaks Telnet and has not agreed to BINARY
	EnterCR    Enter = "cr"    // CR
	EnterCRLF  Enter = "crlf"  // CR LF
	EnterCRNUL Enter = "crnul" // CR NUL
	EnterLF    Enter = "lf"    // LF
)

// A BinaryPolicy says whether eight-bit data is agreed to (RFC 856).
type BinaryPolicy string

// The policies.
const (
	BinaryAuto   BinaryPolicy = "auto"   // or empty: when the server asks for it
	BinaryAlways BinaryPolicy = "always" // asked for as soon as the server has spoken Telnet
	BinaryNever  BinaryPolicy = "never"
)

const (
	maxTerminal = 40      // the length of a terminal name (RFC 1091)
	maxEnviron  = 4 << 10 // the length of an answer that tells the environment
	maxCells    = 0xFEFE  // of a window; what fits without a byte of 255
)

// withDefaults returns c with its zero fields replaced, or says what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	if err := oneOf("mode", &c.Mode, ModeAuto, ModeTelnet, ModeRaw); err != nil {
		return c, err
	}
	if err := oneOf("enter", &c.Enter, EnterAuto, EnterCR, EnterCRLF, EnterCRNUL, EnterLF); err != nil {
		return c, err
	}
	if err := oneOf("binary", &c.Binary, BinaryAuto, BinaryAlways, BinaryNever); err != nil {
		return c, err
	}
	if len(c.Terminal) == 0 {
		c.Terminal = terminals(term.DefaultTerm)
	}
	for _, name := range c.Terminal {
		if name == "" || len(name) > maxTerminal || strings.ContainsFunc(name, notTerminal) {
			return c, invalid(
				"pty.term",
				"terminal name %q is not one: up to %d letters, digits and - / . _ + are",
				name,
				maxTerminal,
			)
		}
	}
	if c.Cols > maxCells || c.Rows > maxCells {
		return c, invalid(
			"pty",
			"a window of %d by %d characters cannot be told to a Telnet server; the most is %d",
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
		if v.Name == "" || strings.ContainsRune(v.Name+v.Value, 0) || total > maxEnviron/2 { // escapes may double it
			return c, invalid(
				"env",
				"the environment for the server needs names, holds no NUL, and is at most %d bytes long",
				maxEnviron/2,
			)
		}
	}
	return c, nil
}

// terminals returns the names to tell when one is wanted: it, and those that every server knows.
func terminals(first string) []string {
	names := []string{first}
	for _, other := range []string{"XTERM", "VT100", "ANSI"} {
		if !strings.EqualFold(first, other) {
			names = append(names, other)
		}
	}
	return names
}

func notTerminal(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-/._+", r)
}

// oneOf checks a word and replaces none by the first that is allowed.
func oneOf[W ~string](field string, w *W, allowed ...W) error {
	if *w == "" {
		*w = allowed[0]
	}
	if slices.Contains(allowed, *w) {
		return nil
	}
	err := invalid("telnet."+field, "telnet.%s %q is none of its values", field, string(*w))
	for _, a := range allowed {
		err.Details.Allowed = append(err.Details.Allowed, string(a))
	}
	return err
}

func invalid(field, format string, args ...any) *term.Error {
	err := term.Errorf(term.InvalidArgument, format, args...)
	err.Op, err.Details = "open", &term.Details{Field: field}
	return err
}
