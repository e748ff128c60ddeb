//go:build !linux

package serial

import (
	"context"
	"errors"
	"fmt"
	"time"

	bugst "go.bug.st/serial"

	"ptyctl/term"
)

// A port is a line that is open, by go.bug.st/serial.
type port struct{ bugst.Port }

// openPort opens the device and sets it. doubts name each setting that was not taken.
func openPort(device string, o term.SerialOptions) (p *port, doubts []string, err error) {
	if o.Flow != "none" {
		return nil, nil, &term.Error{
			Op: "open", Kind: term.Unsupported, Facts: term.Facts{term.ArgumentFault{Field: term.FieldSerial}},
			Msg: fmt.Sprintf("flow control %s is only possible on Linux; use none", o.Flow),
		}
	}
	line, err := bugst.Open(device, &bugst.Mode{
		BaudRate: o.Baud, DataBits: o.DataBits,
		Parity: map[string]bugst.Parity{
			"odd": bugst.OddParity, "even": bugst.EvenParity, "mark": bugst.MarkParity, "space": bugst.SpaceParity,
		}[o.Parity],
		StopBits: map[int]bugst.StopBits{2: bugst.TwoStopBits}[o.StopBits],
	})
	if err != nil {
		return nil, nil, err
	}
	for _, s := range []struct {
		name, want string
		set        func(bool) error
	}{{"DTR", o.DTR, line.SetDTR}, {"RTS", o.RTS, line.SetRTS}} {
		if s.want != "on" && s.want != "off" {
			continue
		}
		if err := s.set(s.want == "on"); err != nil {
			doubts = append(doubts, fmt.Sprintf("%s was not set: the line has none that could be (%v)", s.name, err))
		}
	}
	return &port{line}, doubts, nil
}

// signals are the lines of the far side that are on; nil: they are not known.
func (p *port) signals() []string {
	state, err := p.GetModemStatusBits()
	if err != nil {
		return nil
	}
	on := []string{}
	for _, s := range []struct {
		name string
		on   bool
	}{{"cts", state.CTS}, {"dsr", state.DSR}, {"ri", state.RI}, {"dcd", state.DCD}} {
		if s.on {
			on = append(on, s.name)
		}
	}
	return on
}

// sendBreak holds the line in a break for so long.
func (p *port) sendBreak(_ context.Context, length time.Duration) error { return p.Break(length) }

// notThere reports whether a port could not be opened because it does not exist.
func notThere(err error) bool {
	e, ok := errors.AsType[*bugst.PortError](err)
	return ok && e.Code() == bugst.PortNotFound
}

// taken reports whether another program has the port.
func taken(err error) bool {
	e, ok := errors.AsType[*bugst.PortError](err)
	return ok && e.Code() == bugst.PortBusy
}

// forbidden reports whether the user may not open the port.
func forbidden(err error) bool {
	e, ok := errors.AsType[*bugst.PortError](err)
	return ok && e.Code() == bugst.PermissionDenied
}

// access explains an error of the rights of a device.
func access(device string) string { return "give the user of ptyctl the right to open " + device }
