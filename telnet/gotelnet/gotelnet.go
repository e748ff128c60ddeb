package gotelnet

import (
	reiver "github.com/reiver/go-telnet"

	"ptyctl/telnet"
)

// Call runs a Caller over the connection. The Conn adds two things that go-telnet's own
// connections lack: options are negotiated, and Read returns as soon as there is data. Call
// returns when the Caller does; the connection stays open. A nil logger discards.
func Call(c *telnet.Conn, caller reiver.Caller, logger reiver.Logger) {
	if logger == nil {
		logger = discard{}
	}
	caller.CallTELNET(reiver.NewContext().InjectLogger(logger), c, c)
}

// discard is a Logger without output. Callers use their context's logger without a
// check for nil.
type discard struct{}

func (discard) Debug(...any)          {}
func (discard) Debugf(string, ...any) {}
func (discard) Error(...any)          {}
func (discard) Errorf(string, ...any) {}
func (discard) Trace(...any)          {}
func (discard) Tracef(string, ...any) {}
func (discard) Warn(...any)           {}
func (discard) Warnf(string, ...any)  {}

var (
	_ reiver.Reader = (*telnet.Conn)(nil)
	_ reiver.Writer = (*telnet.Conn)(nil)
)
