package telnet

import "ptyctl/term"

// State returns what is agreed at the moment.
func (c *Conn) State() term.Telnet {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.e
	return term.Telnet{
		Raw:        e.config.Mode == ModeRaw || !e.spoken,
		Local:      e.agreed(us),
		Remote:     e.agreed(him),
		RemoteEcho: e.on(him, Echo),
		BinaryIn:   e.on(him, Binary),
		BinaryOut:  e.on(us, Binary),
		Terminal:   e.toldTerminal,
		Cols:       e.toldCols,
		Rows:       e.toldRows,
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

// Enable asks for an option: to perform it (WILL) or, with remote, that the server performs it (DO). Nothing is asked
// that this package would refuse.
func (c *Conn) Enable(o Option, remote bool) error { return c.want(o, remote, true) }

// Disable asks for the end of an option.
func (c *Conn) Disable(o Option, remote bool) error { return c.want(o, remote, false) }

func (c *Conn) want(o Option, remote, on bool) error {
	if err := c.mustSpeak("option"); err != nil {
		return err
	}
	s := us
	if remote {
		s = him
	}
	c.mu.Lock()
	agrees := c.e.agrees(s, o)
	if agrees {
		c.e.ask(s, o, on)
	}
	c.mu.Unlock()
	if !agrees {
		return term.Errorf(term.Unsupported, "the option %s is not one that can be asked for on this side", o)
	}
	c.flush()
	return nil
}
