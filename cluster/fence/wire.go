package fence

import (
	"encoding/binary"
	"time"
)

// The two processes exchange packets of records over a socket of type SOCK_SEQPACKET (unix(7)), which keeps packets
// whole. Both are the same program, so there is one version, and the byte order is the machine's.

// A record is one message: to the fence an order, from it an answer.
type record struct {
	op    op
	id    uint64        // of the connection; of opAnswer the number of the packet that is answered
	until time.Duration // on CLOCK_BOOTTIME; of opCut the errno of a connection that could not be cut
}

type op uint64

const (
	opHold   op = iota + 1 // the packet has one record and the descriptor; until is the end of the lease
	opRenew                // the lease lasts until then
	opDrop                 // the duplicate is closed, and the connection left as it is
	opAnswer               // the fence has carried out a packet
	opCut                  // the fence has cut the connection
)

// recordSize is the number of bytes of a record, and perPacket the most records of a packet.
const (
	recordSize = 24
	perPacket  = 64
)

// encode appends r to a packet.
func (r record) encode(packet []byte) []byte {
	packet = binary.NativeEndian.AppendUint64(packet, uint64(r.op))
	packet = binary.NativeEndian.AppendUint64(packet, r.id)
	return binary.NativeEndian.AppendUint64(packet, uint64(r.until))
}

// decode returns the records of a packet. It ignores bytes after the last whole record.
func decode(packet []byte) (all []record) {
	for ; len(packet) >= recordSize; packet = packet[recordSize:] {
		all = append(all, record{
			op:    op(binary.NativeEndian.Uint64(packet)),
			id:    binary.NativeEndian.Uint64(packet[8:]),
			until: time.Duration(binary.NativeEndian.Uint64(packet[16:])),
		})
	}
	return all
}
