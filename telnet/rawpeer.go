package telnet

import (
	"bytes"
	"fmt"

	"ptyctl/term"
)

// rawPeers are servers of other protocols, by the first bytes they send.
var rawPeers = []struct{ begins, what, remedy string }{
	{"SSH-", "an SSH server", "use protocol ssh"},
	{"\x15\x03", "a server that wants TLS", ""}, // an alert record (RFC 8446 section 5.1)
	{"HTTP/", "a web server", "check the port"},
}

// checkPeer returns an error if the data read ahead comes from a server of another protocol.
// In raw mode every server is accepted.
func (c *Conn) checkPeer() error {
	c.reading.Lock()
	defer c.reading.Unlock()
	return checkPeer(c.config.Mode, c.ahead)
}

// checkPeer looks at the first bytes of a server. The error says which protocol it speaks.
func checkPeer(m Mode, first []byte) error {
	if m == ModeRaw {
		return nil
	}
	for _, s := range rawPeers {
		if bytes.HasPrefix(first, []byte(s.begins)) && s.remedy == "" {
			return &term.Error{
				Kind:   term.ConnectFailed,
				Reason: term.ReasonNotTelnetTLS,
				Msg:    fmt.Sprintf("the far side is %s, not a Telnet server", s.what),
				Advice: "use TLS, or ModeRaw to see its bytes",
			}
		}
		if bytes.HasPrefix(first, []byte(s.begins)) {
			return &term.Error{
				Kind:   term.ConnectFailed,
				Reason: term.ReasonNotTelnet,
				Msg:    fmt.Sprintf("the far side is %s, not a Telnet server; %s", s.what, s.remedy),
				Advice: "ModeRaw shows its bytes",
			}
		}
	}
	return nil
}
