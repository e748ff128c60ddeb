// Package xmodem moves one file over a byte stream with XMODEM or YMODEM, as boot loaders and lrzsz do:
//
//	result, err := xmodem.Send(ctx, link, xmodem.YMODEM, xmodem.File{Name: "fw.bin", Size: n}, r, nil)
//
// The protocols are those of Chuck Forsberg's "XMODEM/YMODEM Protocol Reference" (YMODEM.TXT, 1988). The receiver asks
// for the file: with C for blocks with a CRC of 16 bits, with NAK for blocks with a checksum of one byte. Each block is
// answered before the next one is sent:
//
//	SOH  number  255-number   128 bytes of data   check
//	STX  number  255-number  1024 bytes of data   check
//
// XMODEM has no name and no size: the last block is filled up with SUB (0x1A), and a receiver cannot tell these bytes
// from data. YMODEM begins with a block 0 that has the name, the size and the time of the file, and ends with an empty
// one.
//
// The package promises:
//
//   - A transfer that does not fail has moved each byte once, as far as the CRC or the checksum can tell.
//   - Every wait ends. A far side that is silent, that sends only invalid answers, or that sends more than it
//     announced or than is allowed, ends the transfer.
//   - A transfer that fails or is canceled sends CANs to the far side, unless the far side canceled it.
//   - The far side's description of the file is returned and not used.
//
// YMODEM-g, batches of several files and ZMODEM are not here. The package knows neither terminals nor files.
package xmodem
