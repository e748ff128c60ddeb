package xmodem

import (
	"context"
	"errors"
	"io"
	"time"
)

// Send sends f.Size bytes of r once the far side asks for the file. f.Name is only sent with YMODEM. It must be free
// of NUL and no longer than MaxName. progress takes the bytes that the far side has; it may be nil.
func Send(
	ctx context.Context, link Link, p Protocol, f File, r io.Reader, progress func(int64),
) (Result, error) {
	s := &sender{
		station: station{link: link, res: Result{File: f}}, protocol: p, r: r, progress: progress, pause: leastPause,
	}
	err := s.run(ctx, s.send)
	return s.res, err
}

// A sender is a file being sent.
type sender struct {
	station
	protocol Protocol
	r        io.Reader
	progress func(int64)
	frame    []byte
	acked    bool          // the far side has acknowledged a block
	closing  bool          // it is at the end of the batch
	pause    time.Duration // between an answer and the next block
}

// An answer is the far side's reply to a block.
type answer uint8

const (
	silence answer = iota
	yes            // ACK
	again          // NAK, or a C for the first block
	text           // it has said something else, and then nothing
)

func (s *sender) send(ctx context.Context) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	if s.protocol == YMODEM {
		data := header(s.res.File)
		size := shortBlock
		if len(data) > size {
			size = longBlock
		}
		if err := s.block(ctx, 0, data, size, 0); err != nil {
			return err
		}
		if err := s.asked(ctx, startWait); err != nil {
			return err
		}
	}
	if err := s.data(ctx); err != nil {
		return err
	}
	if err := s.end(ctx); err != nil {
		return err
	}
	if s.protocol == YMODEM && !s.res.Uncertain {
		s.close(ctx)
	}
	return nil
}

// start waits until the far side asks for the file. A C may be a letter of a text: it counts if nothing follows it, or
// more of the same.
func (s *sender) start(ctx context.Context) error {
	until := time.Now().Add(startWait)
	var run []byte // of one request
	streams := 0
	for {
		wait := time.Until(until)
		if len(run) > 0 {
			wait = startQuiet
		}
		b, ok, err := s.readByte(ctx, wait)
		switch {
		case err != nil:
			return err
		case !ok && len(run) > 0 || ok && len(run) > 1 && b == run[0]:
			if run[0] != wantStream {
				s.res.CRC = run[0] == wantCRC
				return nil
			}
			if streams++; streams > 1 || len(run) > 1 { // one may be a C that was spoilt
				return failed("the far side asks for YMODEM-g, which has no answers to blocks; start its receiver for YMODEM")
			}
			run = run[:0]
			continue
		case !ok:
			return failed("the far side does not ask for the file: start its receiver first " +
				"(for example rx FILE, rb, loadx, loady), then copy again")
		case len(run) > 0 && b != run[0]:
			s.link.Text(run)
			run = run[:0]
		}
		switch b {
		case nak, wantCRC, wantStream:
			run = append(run, b)
			continue
		case can:
			switch over, err := s.canceled(ctx); {
			case err != nil:
				return err
			case over:
				return errFarCanceled
			}
		}
		s.link.Text([]byte{b})
	}
}

// asked waits for the request of a receiver that has acknowledged block 0, which can only be a C.
func (s *sender) asked(ctx context.Context, limit time.Duration) error {
	for until := time.Now().Add(limit); ; {
		b, ok, err := s.readByte(ctx, time.Until(until))
		switch {
		case err != nil:
			return err
		case !ok:
			return failed("the far side took the name of the file, and does not ask for its data")
		case b == wantCRC, b == nak:
			return nil
		case b == can:
			if over, err := s.canceled(ctx); over || err != nil {
				return errors.Join(err, canceledIf(over))
			}
		default:
			s.keepJunk(b)
		}
	}
}

func canceledIf(over bool) error {
	if over {
		return errFarCanceled
	}
	return nil
}

// data sends the file in blocks.
func (s *sender) data(ctx context.Context) error {
	full := longBlock
	if s.protocol == XMODEM {
		full = shortBlock
	}
	buf := make([]byte, full)
	number := byte(1)
	for s.res.Bytes < s.res.Size {
		n := int(min(int64(full), s.res.Size-s.res.Bytes))
		if _, err := io.ReadFull(s.r, buf[:n]); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
				return failed("the file has become shorter while it was sent")
			}
			return err
		}
		for rest := buf[:n]; len(rest) > 0; number++ {
			size := full
			if len(rest) <= longBlock-shortBlock { // seven short blocks have less to fill up than a long one
				size = shortBlock
			}
			piece := rest[:min(len(rest), size)]
			if err := s.block(ctx, number, piece, size, sub); err != nil {
				return err
			}
			rest = rest[len(piece):]
			s.res.Bytes += int64(len(piece))
			if s.progress != nil {
				s.progress(s.res.Bytes)
			}
		}
	}
	return nil
}

// block sends a block until it is acknowledged.
func (s *sender) block(ctx context.Context, number byte, data []byte, size int, fill byte) error {
	s.frame = appendBlock(s.frame[:0], number, data, size, fill, s.res.CRC)
	for tries, silent := 0, 0; ; {
		pause := s.pause
		if s.res.Bytes == 0 {
			pause = max(pause, askedPause)
		}
		if err := s.drain(ctx, pause); err != nil {
			return err
		}
		if err := s.link.Write(ctx, s.frame); err != nil {
			return err
		}
		sent := time.Now()
		a, err := s.answer(ctx, answerWait)
		switch {
		case err != nil:
			return err
		case a == yes:
			s.acked = true
			return nil
		case a == again && time.Since(sent) > byteWait: // it has not seen all of the block
			s.pause = min(2*s.pause, mostPause)
		case a == silence:
			if silent++; silent > 1 {
				return failed("the far side has stopped answering at byte %d", s.res.Bytes)
			}
		}
		s.res.Errors++
		if tries++; tries > retries {
			return failed("too many errors at byte %d: the far side refuses the block%s", s.res.Bytes, s.unclean())
		}
	}
}

// unclean returns the possible cause if every block is spoilt.
func (s *sender) unclean() string {
	if s.acked {
		return ""
	}
	return ", and took none before it; the line to it may not pass all bytes of eight bits unchanged " +
		"(7 data bits, XON/XOFF, a terminal that changes line ends)"
}

// The pauses before a block. Receivers drop input that came before their answer was out, and with it a block that
// follows at once: lrzsz flushes the input of its terminal after each answer.
const (
	leastPause = 5 * time.Millisecond
	mostPause  = 80 * time.Millisecond
	askedPause = 50 * time.Millisecond // after a C, which is rare
)

// drain waits for a pause before a block goes out. It discards the bytes that came until then, because they are no
// answer to the block: receivers repeat themselves.
func (s *sender) drain(ctx context.Context, pause time.Duration) error {
	for began := time.Now(); time.Since(began) < byteWait; { // some never pause
		b, ok, err := s.readByte(ctx, pause)
		switch {
		case err != nil || !ok:
			return err
		case b == can:
			if over, err := s.canceled(ctx); over || err != nil {
				return errors.Join(err, canceledIf(over))
			}
		}
	}
	return nil
}

// maxText is how much text a far side may answer to the first block with: it is no receiver.
const maxText = 256

// answer waits for the answer to a block. A request for the first one may have crossed it on the way: it counts if no
// answer follows.
func (s *sender) answer(ctx context.Context, limit time.Duration) (answer, error) {
	other, late := 0, silence
	for until := time.Now().Add(limit); ; {
		b, ok, err := s.readByte(ctx, time.Until(until))
		switch {
		case err != nil:
			return silence, err
		case !ok && other > 1 && late == silence:
			return silence, failed("the far side answers with text: its receiver has ended; read what it says")
		case !ok:
			return late, nil
		case b == ack:
			return yes, nil
		case b == nak:
			return again, nil
		case b == wantCRC && (s.res.Bytes == 0 || s.closing):
			if late == silence {
				late, until = again, time.Now().Add(byteWait)
			}
		case b == can:
			if over, err := s.canceled(ctx); over || err != nil {
				return silence, errors.Join(err, canceledIf(over))
			}
		default:
			s.keepJunk(b)
			if other++; other > maxText && !s.acked {
				return silence, failed("the far side answers with text: its receiver does not run; read what it says")
			}
			if other == 2 { // a receiver would ask again, and a shell must not get the block again
				wait := textWait
				if s.closing {
					wait = quiet
				}
				until = time.Now().Add(wait)
			}
		}
	}
}

// end says that the file has ended. A receiver may leave after its answer, and a shell would take one more EOT for the
// end of its input: so text in place of the answer ends the transfer, too.
func (s *sender) end(ctx context.Context) error {
	silent := 0
ask:
	for range retries + 1 { // the first answer of a careful receiver is NAK
		if err := s.drain(ctx, s.pause); err != nil {
			return err
		}
		if err := s.link.Write(ctx, []byte{eot}); err != nil {
			return err
		}
		a, err := s.endAnswer(ctx)
		switch {
		case err != nil:
			return err
		case a == text:
			s.res.Uncertain = true
			s.link.Text(s.junk)
			s.junk = nil
			return nil
		case a == yes:
			return nil
		case a == silence:
			s.res.Errors++
			if silent++; silent > 2 {
				break ask
			}
		}
	}
	return failed("the far side has all blocks, and does not acknowledge the end of the file")
}

// endAnswer waits for the answer to an EOT.
func (s *sender) endAnswer(ctx context.Context) (answer, error) {
	s.junk = s.junk[:0]
	for until := time.Now().Add(blockWait); ; {
		wait := time.Until(until)
		if len(s.junk) > 1 {
			wait = min(wait, quiet)
		}
		b, ok, err := s.readByte(ctx, wait)
		switch {
		case err != nil:
			return silence, err
		case !ok && len(s.junk) > 1:
			return text, nil
		case !ok:
			return silence, nil
		case b == ack:
			return yes, nil
		case b == nak:
			return again, nil
		case b == can:
			if over, err := s.canceled(ctx); over || err != nil {
				return silence, errors.Join(err, canceledIf(over))
			}
		default:
			s.keepJunk(b)
		}
	}
}

// close ends the batch with an empty block. The file is complete: a far side that does not ask for another one has ended
// by itself. The block is sent again only if that is asked for: lrzsz flushes its last answer as it ends, and a shell
// would get the block.
func (s *sender) close(ctx context.Context) {
	if s.asked(ctx, blockWait) != nil {
		return
	}
	s.closing, s.junk = true, nil
	s.frame = appendBlock(s.frame[:0], 0, nil, shortBlock, 0, s.res.CRC)
	for range 4 {
		if s.drain(ctx, askedPause) != nil || s.link.Write(ctx, s.frame) != nil {
			return
		}
		if a, err := s.answer(ctx, closeWait); a != again || err != nil {
			if len(s.junk) > 0 {
				s.link.Text(s.junk)
			}
			return
		}
	}
	s.cancel(ctx)
}
