package fsx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Packets and extensions (draft-ietf-secsh-filexfer-02 section 3, and OpenSSH's
// PROTOCOL, section 4.8).
const (
	packetInit          = 1
	packetVersion       = 2
	packetExtended      = 200
	packetExtendedReply = 201

	protocolVersion = 3
	extLimits       = "limits@openssh.com"
)

const (
	block      = 32 << 10  // the payload that every server accepts (draft-ietf-secsh-filexfer-02 section 3)
	maxVersion = 64 << 10  // longest first packet of a server; OpenSSH's has some hundred bytes
	maxPayload = 255 << 10 // largest payload of one read or write; the client accepts packets of 256 KiB
	overhead   = 1 << 10   // most bytes of a packet besides its payload
)

// An exchange is the result of the first packets, and the streams for the client
// library after them.
type exchange struct {
	in      io.Reader // repeats the server's version for the client library
	out     io.Writer // drops the library's own version, because the server has ours
	payload int       // largest payload of one read or write that the server accepts
}

// exchangeVersions starts the protocol, and asks the server for its largest packet. The client
// library cannot ask for it: it would use the size that every server accepts, and
// large packets are a third faster.
func exchangeVersions(channel io.ReadWriter) (exchange, error) {
	g := exchange{payload: block}
	if _, err := channel.Write(packet(packetInit, binary.BigEndian.AppendUint32(nil, protocolVersion))); err != nil {
		return g, err
	}
	kind, version, err := readPacket(channel)
	if err != nil {
		return g, err
	}
	if kind != packetVersion || len(version) < 4 {
		return g, fmt.Errorf("the first packet is of type %d", kind)
	}
	if announces(version[4:], extLimits) {
		request := binary.BigEndian.AppendUint32(nil, 0) // request id 0: the library's own begin at 1
		if _, err := channel.Write(packet(packetExtended, appendString(request, extLimits))); err != nil {
			return g, err
		}
		kind, reply, err := readPacket(channel)
		if err != nil {
			return g, err
		}
		if kind == packetExtendedReply && len(reply) >= 4+3*8 {
			g.payload = payload(reply[4:])
		}
	}
	// The library starts the protocol itself: it gets the server's version again,
	// and its own first packet is dropped.
	g.in = io.MultiReader(bytes.NewReader(packet(packetVersion, version)), channel)
	g.out = &skipping{w: channel, left: len(packet(packetInit, make([]byte, 4)))}
	return g, nil
}

// payload returns the largest payload within a server's limits: on a packet, a read
// and a write. A zero limit means no limit.
func payload(limits []byte) int {
	most := uint64(maxPayload)
	for i, less := range []uint64{overhead, 0, 0} {
		if limit := binary.BigEndian.Uint64(limits[8*i:]); limit > less {
			most = min(most, limit-less)
		}
	}
	return max(int(most), 1<<10)
}

// announces reports whether a list of extensions, each a name and its data,
// contains name.
func announces(list []byte, name string) bool {
	for len(list) > 0 {
		var found string
		var ok bool
		if found, list, ok = cutString(list); !ok {
			return false
		}
		if _, list, ok = cutString(list); !ok {
			return false
		}
		if found == name {
			return true
		}
	}
	return false
}

// packet returns the wire form of a packet: its length, its kind and its content.
func packet(kind byte, content []byte) []byte {
	p := binary.BigEndian.AppendUint32(nil, uint32(len(content)+1))
	return append(append(p, kind), content...)
}

// readPacket reads one packet of at most maxVersion bytes.
func readPacket(r io.Reader) (kind byte, content []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	// A shell that prints text at login is not an SFTP server: its text gives a
	// huge length.
	if n == 0 || n > maxVersion {
		return 0, nil, fmt.Errorf("the first bytes are %q, which begin no packet", head)
	}
	content = make([]byte, n-1)
	_, err = io.ReadFull(r, content)
	return head[4], content, err
}

// appendString appends a string with its length.
func appendString(p []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(p, uint32(len(s))), s...)
}

// cutString splits off the string at the front of p.
func cutString(p []byte) (s string, rest []byte, ok bool) {
	if len(p) < 4 {
		return "", nil, false
	}
	n := binary.BigEndian.Uint32(p)
	if p = p[4:]; uint64(n) > uint64(len(p)) {
		return "", nil, false
	}
	return string(p[:n]), p[n:], true
}

// skipping is a writer that drops its first bytes.
type skipping struct {
	w    io.Writer
	left int
}

// Write implements io.Writer.
func (s *skipping) Write(p []byte) (int, error) {
	n := min(s.left, len(p))
	if s.left -= n; n == len(p) {
		return n, nil
	}
	m, err := s.w.Write(p[n:])
	return n + m, err
}
