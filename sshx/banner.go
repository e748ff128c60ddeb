package sshx

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"ptyctl/term"
)

// maxBannerLines is the most bytes kept of the lines before the identification
// string, for a message.
const maxBannerLines = 2 << 10

// maxSaid is the most bytes of them that a message shows.
const maxSaid = 1000

// errNotSSH2 means that the peer identified itself as something other than SSH 2.
type errNotSSH2 struct{ line string } // safe to show

func (e errNotSSH2) Error() string {
	return fmt.Sprintf("the server speaks \"%s\", not SSH 2", e.line)
}

// errTelnet means that the peer speaks Telnet. It is certain after the first byte
// IAC: the text before an identification string is UTF-8 (RFC 4253 section 4.2),
// which does not contain that byte.
var errTelnet = errors.New("the server begins with Telnet's negotiation (IAC)")

// A bannerConn watches the server's data up to its identification string (RFC
// 4253 section 4.2). The lines before it are often the only reason given for a
// refusal. It also stops a server of protocol 1, which x/crypto/ssh would accept.
type bannerConn struct {
	net.Conn
	identified func() // called once, when the identification string is complete

	mu      sync.Mutex // guards the following
	done    bool
	line    []byte
	cut     int      // bytes of that line that were not kept
	before  []string // complete lines before the identification string
	size    int
	dropped int // bytes of complete lines that were not kept
	version string
	end     error  // why reading has ended
	atEnd   func() // called before the reader gets that error; may be nil
}

// Read reads from the server and scans the data until the identification string.
func (c *bannerConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	if err != nil && c.end == nil {
		c.end = err
		if atEnd := c.atEnd; atEnd != nil {
			c.mu.Unlock()
			atEnd()
			return n, err
		}
	}
	if c.done || n <= 0 {
		c.mu.Unlock()
		return n, err
	}
	found, bad := c.scan(p[:n])
	c.mu.Unlock()
	if bad != nil {
		return 0, bad
	}
	if found {
		c.identified()
	}
	return n, err
}

// Write sends our data. A server that has hung up may have sent a reason that is
// still unread. Therefore, before the identification string, an error of Write is
// left for Read to find.
func (c *bannerConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err == nil {
		return n, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return n, err
	}
	return len(p), nil
}

// scan looks for the identification string. The caller must hold c.mu.
func (c *bannerConn) scan(p []byte) (found bool, bad error) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part = p[:i]
		}
		kept := min(len(part), maxBannerLines-len(c.line))
		c.line = append(c.line, part[:kept]...)
		c.cut += len(part) - kept
		if bytes.HasPrefix(c.line, []byte{0xff}) {
			return false, errTelnet
		}
		if i < 0 {
			return false, nil
		}
		line, cut := strings.TrimRight(string(c.line), "\r"), c.cut
		c.line, c.cut, p = c.line[:0], 0, p[i+1:]
		if strings.HasPrefix(line, "SSH-") {
			c.done, c.version = true, line
			if !strings.HasPrefix(line, "SSH-2.0-") && !strings.HasPrefix(line, "SSH-1.99-") {
				return false, errNotSSH2{term.ForeignLineStart(line, cut, maxVersion)}
			}
			return true, nil
		}
		c.dropped += cut
		if c.size += len(line); c.size > maxBannerLines {
			c.dropped += len(line)
		} else if line != "" {
			c.before = append(c.before, line)
		}
	}
	return false, nil
}

// onEnd sets the function to call at the end of reading.
func (c *bannerConn) onEnd(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.atEnd = f
}

// ended returns the error that ended reading, or nil while it continues.
func (c *bannerConn) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

// said returns the server's text before its identification string, on one line.
func (c *bannerConn) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.before
	if !c.done && len(c.line) > 0 {
		lines = append(slices.Clip(lines), strings.TrimRight(string(c.line), "\r"))
	}
	return term.ForeignLineStart(strings.Join(lines, "\n"), c.dropped+c.cut, maxSaid)
}
