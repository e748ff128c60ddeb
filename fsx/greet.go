package fsx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Packets and extensions (draft-ietf-secsh-filexfer-02 section 3, and OpenSSH's PROTOCOL file, section 4.8).
const (
	packetInit          = 1
	packetVersion       = 2
	packetExtended      = 200
	packetExtendedReply = 201

	protocolVersion = 3
	extLimits       = "limits@openssh.com"
)

const (
	block       = 32 << 10  // the payload that every server takes (draft-ietf-secsh-filexfer-02 section 3)
	maxGreeting = 64 << 10  // of the server's; OpenSSH's has some hundred bytes
	maxPayload  = 255 << 10 // of one read or write; the client takes no packet beyond 256 KiB
	overhead    = 1 << 10   // of a packet, besides its payload; more than any handle makes
)

// A greeting is what the server has said first, and the way to it from there.
type greeting struct {
	in      io.Reader // on which the client finds the server's version once more
	out     io.Writer // which drops the client's own, because the server has ours
	payload int       // of one read or write, as far as the server takes it
}

// greet begins the protocol, and asks the server how large a packet may be. The client library cannot ask that: it would
// stay at what every server takes, and large packets are a third faster.
func greet(channel io.ReadWriter) (greeting, error) {
	g := greeting{payload: block}
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
		request := binary.BigEndian.AppendUint32(nil, 0) // an id that the client does not use: its own begin at 1
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
	g.in = io.MultiReader(bytes.NewReader(packet(packetVersion, version)), channel)
	g.out = &skipping{w: channel, left: len(packet(packetInit, make([]byte, 4)))}
	return g, nil
}

// payload is the largest that a server's limits allow: of a packet, of a read and of a write. Zero is none.
func payload(limits []byte) int {
	most := uint64(maxPayload)
	for i, less := range []uint64{overhead, 0, 0} {
		if limit := binary.BigEndian.Uint64(limits[8*i:]); limit > less {
			most = min(most, limit-less)
		}
	}
	return max(int(most), 1<<10)
}

// announces reports whether a list of extensions, each a name and its data, has the name.
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

func packet(kind byte, content []byte) []byte {
	p := binary.BigEndian.AppendUint32(nil, uint32(len(content)+1))
	return append(append(p, kind), content...)
}

func readPacket(r io.Reader) (kind byte, content []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > maxGreeting {
		return 0, nil, fmt.Errorf("the first bytes are %q, which begin no packet", head)
	}
	content = make([]byte, n-1)
	_, err = io.ReadFull(r, content)
	return head[4], content, err
}

func appendString(p []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(p, uint32(len(s))), s...)
}

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

// skipping drops the first bytes that are written to it.
type skipping struct {
	w    io.Writer
	left int
}

func (s *skipping) Write(p []byte) (int, error) {
	n := min(s.left, len(p))
	if s.left -= n; n == len(p) {
		return n, nil
	}
	m, err := s.w.Write(p[n:])
	return n + m, err
}
