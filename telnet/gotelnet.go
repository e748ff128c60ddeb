package telnet

import gotelnet "github.com/reiver/go-telnet"

// Call runs a go-telnet Caller over the connection. What go-telnet's own connections lack is here below it: options
// are negotiated, and a Read returns as soon as there is data. It returns when the Caller does; the connection stays
// open. A nil logger discards.
func (c *Conn) Call(caller gotelnet.Caller, logger gotelnet.Logger) {
	if logger == nil {
		logger = discard{}
	}
	caller.CallTELNET(gotelnet.NewContext().InjectLogger(logger), c, c)
}

// discard is a gotelnet.Logger. Callers use their context's logger without looking whether there is one.
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
	_ gotelnet.Reader = (*Conn)(nil)
	_ gotelnet.Writer = (*Conn)(nil)
)
