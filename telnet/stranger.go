package telnet

import (
	"bytes"
	"fmt"

	"ptyctl/term"
)

// strangers are servers that are not spoken to by Telnet, by how what they say begins.
var strangers = []struct{ begins, what, remedy string }{
	{"SSH-", "an SSH server", "use protocol ssh"},
	{"\x15\x03", "a server that wants TLS", "set telnet.tls"}, // an alert record (RFC 8446 section 5.1)
	{"HTTP/", "a web server", "check the port"},
}

// stranger returns an error if what was read ahead shows that the server is none for Telnet. A raw connection is to
// whatever there is.
func (c *Conn) stranger() error {
	c.reading.Lock()
	defer c.reading.Unlock()
	return stranger(c.config.Mode, c.ahead)
}

func stranger(m Mode, said []byte) error {
	if m == ModeRaw {
		return nil
	}
	for _, s := range strangers {
		if bytes.HasPrefix(said, []byte(s.begins)) {
			return &term.Error{
				Kind: term.ConnectFailed,
				Msg: fmt.Sprintf(
					"the far side is %s, not a Telnet server; %s, or set telnet.mode raw to see its bytes",
					s.what,
					s.remedy,
				),
			}
		}
	}
	return nil
}
