package telnet

import "ptyctl/term"

// State returns the options and settings in effect now.
func (c *Conn) State() term.Telnet {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.e
	return term.Telnet{
		Raw:        e.config.Mode == ModeRaw || !e.spoken,
		Local:      e.agreed(us),
		Remote:     e.agreed(them),
		RemoteEcho: e.on(them, Echo),
		BinaryIn:   e.on(them, Binary),
		BinaryOut:  e.on(us, Binary),
		Terminal:   e.sentTerminal,
		Cols:       e.sentCols,
		Rows:       e.sentRows,
		Enter:      string(e.encoding().name()),
		Charset:    e.charset,
		Serial:     e.on(us, ComPort),
		Suppressed: e.suppressed,
		Malformed:  e.malformed,
	}
}

// agreed returns the names of the options that one side performs.
func (e *engine) agreed(s side) []string {
	var names []string
	for o, q := range e.states[s] {
		if q.on() {
			names = append(names, Option(o).String())
		}
	}
	return names
}

// Enable asks for an option: that we perform it (WILL) or, with remote, that the server does
// (DO). It returns Unsupported for an option that this package would refuse.
func (c *Conn) Enable(o Option, remote bool) error { return c.want(o, remote, true) }

// Disable asks to switch an option off.
func (c *Conn) Disable(o Option, remote bool) error { return c.want(o, remote, false) }

// want switches an option on or off. The request is sent at once; the answer appears in State.
func (c *Conn) want(o Option, remote, on bool) error {
	if err := c.mustSpeak("option"); err != nil {
		return err
	}
	s := us
	if remote {
		s = them
	}
	c.mu.Lock()
	agrees := c.e.agrees(s, o)
	if agrees {
		c.e.ask(s, o, on)
	}
	c.mu.Unlock()
	if !agrees {
		return term.Errorf(term.Unsupported, "the option %s cannot be requested on this side", o)
	}
	c.flush()
	return nil
}
