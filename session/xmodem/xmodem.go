package xmodem

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ptyctl/term"
)

// A Protocol names one of the protocols.
type Protocol string

// The protocols. A receiver of XMODEM takes blocks of both sizes.
const (
	XMODEM   Protocol = "xmodem"    // sends blocks of 128 bytes, which every receiver takes
	XMODEM1K Protocol = "xmodem-1k" // sends blocks of 1024 bytes
	YMODEM   Protocol = "ymodem"    // blocks of 1024 bytes, with the name, the size and the time of the file
)

// A Link carries the bytes to and from the far side, unchanged.
type Link interface {
	// Read waits for bytes until some are there, at most for wait. It returns 0 if none came. An error ends the transfer.
	Read(ctx context.Context, p []byte, wait time.Duration) (n int, err error)
	Write(ctx context.Context, p []byte) error
	// Cancel writes p, which cancels the transfer at the far side, whatever has ended it here.
	Cancel(ctx context.Context, p []byte)
	// Text takes bytes of the far side that are no part of the protocol, such as the messages of its programs.
	Text(p []byte)
}

// A File is a file as a sender describes it. Of the far side's none of it can be trusted.
type File struct {
	Name     string    // empty: not known
	Size     int64     // in bytes; negative: not known
	Modified time.Time // zero: not known
}

// A Result describes a transfer that has ended, also with an error.
type Result struct {
	File            // received with YMODEM: as the far side has described it
	Bytes     int64 // of the file that were moved; received with XMODEM: and those that fill up the last block
	Errors    int   // blocks and answers that were sent again
	CRC       bool  // blocks had a CRC, not a checksum
	Padded    bool  // received: the file may end in SUBs that are not its own, as its size is not known
	More      bool  // received with YMODEM: the far side had another file, which was refused
	Uncertain bool  // sent: all blocks were acknowledged, but not the end of the file
}

// Control characters of the protocols.
const (
	soh = 0x01 // a block of 128 bytes follows
	stx = 0x02 // a block of 1024 bytes follows
	eot = 0x04 // the file has ended
	ack = 0x06
	nak = 0x15
	can = 0x18 // two of them cancel
	sub = 0x1a // fills up the last block

	wantCRC    = 'C' // the receiver asks for blocks with a CRC
	wantStream = 'G' // for YMODEM-g
)

const (
	// retries is how often a block is sent again in a row.
	retries = 10

	startWait  = 60 * time.Second       // for the far side to begin
	answerWait = 60 * time.Second       // for an answer to a block; a receiver asks again much earlier
	textWait   = 15 * time.Second       // for an answer after text; receivers ask again within 10 s
	closeWait  = 4 * time.Second        // for the answer to the empty block
	blockWait  = 10 * time.Second       // for the next block
	byteWait   = time.Second            // for the next byte of a block
	quiet      = 500 * time.Millisecond // without a byte, after which a spoilt block has gone by
	startQuiet = 200 * time.Millisecond // without a byte after a C, which is no letter of a text then
	cancelWait = 300 * time.Millisecond // without a byte, after which the far side has taken note of CANs
	grace      = 2 * time.Second        // for the rest of a block, and for CANs, after the transfer was canceled
)

// canceling ends a transfer: ten CANs, and ten backspaces for a command line that they may have reached, as rz and sz of
// Forsberg send them. An even number of CANs completes every key sequence of Emacs and bash (control-X control-X).
var canceling = []byte("\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\b\b\b\b\b\b\b\b\b\b")

// A station is the common part of sending and receiving.
type station struct {
	link Link
	res  Result
	slow context.Context // ends a while after that of the transfer, so that a block under way can go by
	one  [1]byte
	junk []byte // of the far side since the start, shown if the transfer fails
}

// maxJunk bounds the kept text of a far side during a transfer.
const maxJunk = 1 << 10

// run runs a transfer, and cancels it at the far side if it fails here.
func (s *station) run(ctx context.Context, transfer func(context.Context) error) error {
	slow, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case <-late.C:
		case <-slow.Done():
		}
		end()
	})()
	s.slow = slow
	err := transfer(ctx)
	if err == nil {
		return nil
	}
	if !errors.Is(err, errFarCanceled) {
		s.cancel(ctx)
	}
	if len(s.junk) > 0 {
		s.link.Text(s.junk)
	}
	return err
}

// cancel sends the far side the end of the transfer. If its program ends before it has read all of that, the rest is
// in the input line of a shell: a NAK is control-U there, which erases the line.
func (s *station) cancel(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer stop()
	s.passing(ctx, askedPause) // a receiver may drop input right after its answer
	s.link.Cancel(ctx, canceling)
	s.passing(ctx, cancelWait)
	s.link.Cancel(ctx, []byte{nak})
}

// passing waits until the far side has sent nothing for a while. Its output is text.
func (s *station) passing(ctx context.Context, wait time.Duration) {
	var p [256]byte
	for ctx.Err() == nil {
		n, err := s.link.Read(ctx, p[:], wait)
		if err != nil || n == 0 {
			return
		}
		s.link.Text(p[:n])
	}
}

// readByte reads one byte. ok is false if none has come in time, and always once that is over: a far side that never
// pauses must not hold the transfer.
func (s *station) readByte(ctx context.Context, wait time.Duration) (b byte, ok bool, err error) {
	if wait <= 0 {
		return 0, false, context.Cause(ctx)
	}
	n, err := s.link.Read(ctx, s.one[:], wait)
	return s.one[0], n == 1 && err == nil, err
}

// keepJunk keeps a byte that is no part of the protocol.
func (s *station) keepJunk(b byte) {
	if len(s.junk) == maxJunk {
		s.junk = s.junk[:copy(s.junk, s.junk[1:])]
	}
	s.junk = append(s.junk, b)
}

// canceled reports whether a CAN, which was just read, is followed by another one: alone, it may be noise.
func (s *station) canceled(ctx context.Context) (bool, error) {
	b, ok, err := s.readByte(ctx, byteWait)
	return ok && b == can, err
}

var errFarCanceled = &term.Error{
	Op: "copy", Kind: term.IOError,
	Msg: "the far side canceled the transfer; read what it says, and start its program again",
}

// failed is an error of the transfer.
func failed(format string, args ...any) error {
	return &term.Error{Op: "copy", Kind: term.IOError, Msg: fmt.Sprintf(format, args...)}
}
