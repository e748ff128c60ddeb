package telnet

import gotelnet "github.com/reiver/go-telnet"

// Call runs a go-telnet Caller over the connection. The Conn adds two things that go-telnet's
// own connections lack: options are negotiated, and Read returns as soon as there is data.
// Call returns when the Caller does; the connection stays open. A nil logger discards.
func (c *Conn) Call(caller gotelnet.Caller, logger gotelnet.Logger) {
	if logger == nil {
		logger = discard{}
	}
	caller.CallTELNET(gotelnet.NewContext().InjectLogger(logger), c, c)
}

// discard is a gotelnet.Logger without output. Callers use their context's logger without a
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
	_ gotelnet.Reader = (*Conn)(nil)
	_ gotelnet.Writer = (*Conn)(nil)
)
