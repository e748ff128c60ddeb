package xmodem

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

const (
	shortBlock = 128
	longBlock  = 1024
	maxFrame   = 3 + longBlock + 2
)

// crcTable has the CRCs of all bytes: CRC-16 with the polynomial 0x1021, beginning with 0 (CCITT, as in YMODEM.TXT).
var crcTable = func() (t [256]uint16) {
	for i := range t {
		c := uint16(i) << 8
		for range 8 {
			top := c & 0x8000
			if c <<= 1; top != 0 {
				c ^= 0x1021
			}
		}
		t[i] = c
	}
	return t
}()

// crc16 returns the CRC of p.
func crc16(p []byte) (c uint16) {
	for _, b := range p {
		c = c<<8 ^ crcTable[byte(c>>8)^b]
	}
	return c
}

// checksum returns the sum of the bytes of p.
func checksum(p []byte) (sum byte) {
	for _, b := range p {
		sum += b
	}
	return sum
}

// appendBlock appends a block of data, which it fills up to size bytes with fill.
func appendBlock(dst []byte, number byte, data []byte, size int, fill byte, crc bool) []byte {
	first := byte(soh)
	if size == longBlock {
		first = stx
	}
	dst = append(dst, first, number, ^number)
	at := len(dst)
	dst = append(dst, data...)
	for range size - len(data) {
		dst = append(dst, fill)
	}
	if !crc {
		return append(dst, checksum(dst[at:]))
	}
	c := crc16(dst[at:])
	return append(dst, byte(c>>8), byte(c))
}

// intact reports whether the check at the end of body is that of the data before it, which it returns.
func intact(body []byte, crc bool) (data []byte, ok bool) {
	if !crc {
		data = body[:len(body)-1]
		return data, checksum(data) == body[len(body)-1]
	}
	return body[:len(body)-2], crc16(body) == 0 // that of data with its CRC
}

// MaxName is the longest name of a file that is sent, in bytes.
const MaxName = 255

// header returns the data of block 0 about a file: its name, NUL, its size in decimal and its time in octal, as seconds
// since 1970.
func header(f File) []byte {
	data := append([]byte(f.Name), 0)
	data = strconv.AppendInt(data, f.Size, 10)
	if !f.Modified.IsZero() && f.Modified.Unix() > 0 {
		data = fmt.Appendf(data, " %o", f.Modified.Unix())
	}
	return append(data, 0)
}

// parseHeader returns the file of a block 0. One without a name ends the batch. Fields of the far side that make no
// sense are as if they were not there.
func parseHeader(data []byte) (f File, last bool) {
	name, rest, _ := bytes.Cut(data, []byte{0})
	f = File{Name: string(name), Size: -1}
	rest, _, _ = bytes.Cut(rest, []byte{0})
	fields := bytes.Fields(rest)
	if len(fields) > 0 {
		if n, err := strconv.ParseInt(string(fields[0]), 10, 64); err == nil && n >= 0 {
			f.Size = n
		}
	}
	if len(fields) > 1 {
		if at, err := strconv.ParseInt(string(fields[1]), 8, 64); err == nil && at > 0 && at < 1<<40 {
			f.Modified = time.Unix(at, 0)
		}
	}
	return f, len(name) == 0
}
