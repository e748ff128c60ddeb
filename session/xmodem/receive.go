package xmodem

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"ptyctl/term"
)

// An Options says how a file is received.
type Options struct {
	Protocol Protocol // XMODEM1K is XMODEM
	Max      int64    // most bytes of the file; 0: no limit

	// Open returns where the data goes. It is called once: with XMODEM before the transfer, and with YMODEM when the far
	// side has described the file.
	Open func(f File) (io.Writer, error)
	// TooLarge is the error for a file of more than Max bytes; nil: one of this package.
	TooLarge func(size int64) error
	Progress func(bytes int64) // must not block; may be nil
}

// Receive asks for a file, and receives it. With YMODEM it takes one file of a batch.
func Receive(ctx context.Context, link Link, o Options) (Result, error) {
	r := &receiver{
		station: station{link: link, res: Result{File: File{Size: -1}}}, Options: o, body: make([]byte, maxFrame),
	}
	err := r.run(ctx, r.receive)
	return r.res, err
}

// A receiver is a file being received.
type receiver struct {
	station
	Options
	out      io.Writer
	body     []byte
	begun    bool // a block of data has come
	sevenBit int  // blocks with numbers that lack their highest bit
}

// A frame is one unit from the far side, for example a block or EOT.
type frame struct {
	kind   kind
	number byte
	data   []byte // valid until the next frame is read
}

type kind uint8

const (
	nothing kind = iota
	spoilt
	block
	ended // EOT
)

func (r *receiver) receive(ctx context.Context) error {
	if r.Protocol == YMODEM {
		return r.batch(ctx)
	}
	var err error
	if r.out, err = r.Open(r.res.File); err != nil {
		return err
	}
	r.res.Padded = true
	first, err := r.start(ctx, xmodemRequests)
	if err != nil {
		return err
	}
	return r.data(ctx, first)
}

// batch receives the first file of a batch.
func (r *receiver) batch(ctx context.Context) error {
	first, err := r.start(ctx, ymodemRequests)
	if err != nil {
		return err
	}
	for tries := 0; first.kind != block || first.number != 0; tries++ {
		switch {
		case first.kind == block:
			return failed("the far side sends block %d in place of the file's name: it speaks XMODEM, not YMODEM", first.number)
		case tries == retries:
			return failed("too many errors at the block with the file's name%s", r.unclean())
		}
		r.res.Errors++
		if first, err = r.ask(ctx, wantCRC, blockWait); err != nil {
			return err
		}
	}
	f, last := parseHeader(first.data)
	if last {
		_ = r.reply(ctx, ack)
		return failed("the far side has no file to send: give its sender the name of one")
	}
	r.res.File = f
	r.res.Padded = f.Size < 0
	if f.Size > r.Max && r.Max > 0 {
		return r.tooLarge(f.Size)
	}
	if r.out, err = r.Open(f); err != nil {
		return err
	}
	if err := r.reply(ctx, ack); err != nil {
		return err
	}
	if first, err = r.ask(ctx, wantCRC, blockWait); err != nil {
		return err
	}
	if err := r.data(ctx, first); err != nil {
		return err
	}
	r.close(ctx)
	return nil
}

// The waits after the requests with C. A sender that is just being started loses the first ones; later ones are fewer.
var (
	xmodemRequests = []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second, 3 * time.Second}
	// As many as canceling has backspaces: if the far side is a shell, they are in its input line.
	ymodemRequests = append([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, slices.Repeat([]time.Duration{8 * time.Second}, 7)...)
)

// start asks for the file until a frame comes: at first with C, then with NAK for a sender that knows checksums alone.
// YMODEM needs the CRC.
func (r *receiver) start(ctx context.Context, requests []time.Duration) (frame, error) {
	began := time.Now()
	for n := 0; ; n++ {
		request, wait := byte(nak), blockWait
		if n < len(requests) {
			request, wait = wantCRC, requests[n]
		}
		left := startWait - time.Since(began)
		if left <= 0 || request == nak && r.Protocol == YMODEM {
			return frame{}, failed("the far side sends nothing: start its sender first (for example sx FILE, sb FILE), then copy again")
		}
		r.res.CRC = request == wantCRC
		f, err := r.ask(ctx, request, min(wait, left))
		if err != nil || f.kind != nothing {
			return f, err
		}
	}
}

// ask sends a request or an answer, and waits for the next frame.
func (r *receiver) ask(ctx context.Context, b byte, wait time.Duration) (frame, error) {
	if err := r.reply(ctx, b); err != nil {
		return frame{}, err
	}
	return r.frame(ctx, wait)
}

func (r *receiver) reply(ctx context.Context, b byte) error { return r.link.Write(ctx, []byte{b}) }

// data receives the blocks of a file, from the first frame on.
func (r *receiver) data(ctx context.Context, f frame) (err error) {
	request := byte(nak)
	if r.res.CRC {
		request = wantCRC
	}
	ending := false // an EOT has come, which may be noise: it must come twice
	for number, errors := byte(1), 0; ; {
		answer := request
		if r.begun {
			answer = nak
		}
		switch {
		case f.kind == ended && ending:
			if r.res.Size > r.res.Bytes {
				return failed("the far side ended the file after %d of %d bytes", r.res.Bytes, r.res.Size)
			}
			return r.reply(ctx, ack)
		case f.kind == ended:
			answer, ending = nak, true
		case f.kind == block && f.number == number:
			if err := r.take(f.data); err != nil {
				return err
			}
			number++
			answer, ending, errors, r.begun = ack, false, 0, true
		case f.kind == block && f.number == number-1 && (r.begun || r.Protocol == YMODEM): // the answer was lost
			if err := r.reply(ctx, ack); err != nil {
				return err
			}
			if answer = ack; !r.begun {
				answer = wantCRC // block 0 again, after which the sender waits for the request
			}
			if errors++; answer == ack {
				f, err = r.frame(ctx, blockWait)
			} else {
				f, err = r.ask(ctx, answer, blockWait)
			}
			if err != nil {
				return err
			}
			if errors > retries {
				return failed("the far side sends block %d again and again", number-1)
			}
			continue
		case f.kind == block && number == 1 && f.number == 0:
			return failed("the far side sends a block with the file's name: it speaks YMODEM, not XMODEM")
		case f.kind == block:
			return failed("the far side sent block %d in place of %d: blocks were lost", f.number, number)
		default:
			r.res.Errors++
			if errors++; errors > retries {
				return failed("too many errors at byte %d%s", r.res.Bytes, r.unclean())
			}
		}
		if f, err = r.ask(ctx, answer, blockWait); err != nil {
			return err
		}
	}
}

// take writes the data of a block.
func (r *receiver) take(data []byte) error {
	if size := r.res.Size; size >= 0 {
		left := size - r.res.Bytes
		if left == 0 {
			return failed("the far side sends more than the %d bytes that it has announced", size)
		}
		data = data[:min(int64(len(data)), left)]
	}
	if r.Max > 0 && int64(len(data)) > r.Max-r.res.Bytes {
		return r.tooLarge(r.res.Bytes + int64(len(data)))
	}
	if _, err := r.out.Write(data); err != nil {
		return err
	}
	r.res.Bytes += int64(len(data))
	if r.Progress != nil {
		r.Progress(r.res.Bytes)
	}
	return nil
}

func (r *receiver) tooLarge(size int64) error {
	if r.TooLarge != nil {
		return r.TooLarge(size)
	}
	return &term.Error{
		Op: "copy", Kind: term.LimitExceeded, Msg: fmt.Sprintf("%d bytes are allowed, and the file has %d or more", r.Max, size),
	}
}

// unclean returns the cause that spoils every block, as far as the block numbers show it.
func (r *receiver) unclean() string {
	if r.sevenBit == 0 {
		return ""
	}
	return ": the line is not 8-bit clean, the highest bit of each byte is lost; set 8 data bits and no parity"
}

// close ends the batch. The file is complete, whatever the far side does now.
func (r *receiver) close(ctx context.Context) {
	r.begun = false // further output is text
	for range 3 {
		f, err := r.ask(ctx, wantCRC, 3*time.Second)
		switch {
		case err != nil:
			return
		case f.kind == ended: // our answer was lost
			if r.reply(ctx, ack) != nil {
				return
			}
		case f.kind == block && f.number == 0:
			if _, last := parseHeader(f.data); !last {
				r.res.More = true
				r.cancel(ctx)
				return
			}
			_ = r.reply(ctx, ack)
			return
		}
	}
}

// frame reads the next block, or another frame in its place, and waits for its beginning. Text is skipped: lrzsz
// prints its progress to the same terminal. Within a file the text may be the rest of a spoilt block, in which an
// EOT, or CANs, may be data.
func (r *receiver) frame(ctx context.Context, wait time.Duration) (frame, error) {
	until := time.Now().Add(wait)
	for skipped, cans := 0, 0; ; {
		b, ok, err := r.readByte(ctx, time.Until(until))
		unsure := r.begun && skipped > 0
		switch {
		case err != nil:
			return frame{}, err
		case !ok && unsure:
			return frame{kind: spoilt}, nil
		case !ok:
			return frame{}, nil
		case b == soh:
			return r.rest(shortBlock)
		case b == stx:
			return r.rest(longBlock)
		case b == eot && !unsure:
			return frame{kind: ended}, nil
		case b == can && !unsure:
			switch over, err := r.canceled(ctx); {
			case err != nil:
				return frame{}, err
			case over:
				return frame{}, errFarCanceled
			}
		case b == can:
			if cans++; cans == len(canceling)/4 {
				return frame{}, errFarCanceled
			}
		default:
			cans = 0
		}
		if skipped++; !r.begun {
			r.link.Text([]byte{b})
			continue
		}
		if r.keepJunk(b); skipped > maxFrame {
			return r.spoilt()
		}
		until = time.Now().Add(quiet)
	}
}

// rest reads a block after its first byte.
func (r *receiver) rest(size int) (frame, error) {
	check := 1
	if r.res.CRC {
		check = 2
	}
	body := r.body[:2+size+check]
	for n := 0; n < len(body); {
		m, err := r.link.Read(r.slow, body[n:], byteWait)
		switch {
		case err != nil:
			return frame{}, err
		case m == 0: // it has lost bytes, and nothing more comes
			return frame{kind: spoilt}, nil
		}
		n += m
	}
	number, mirror := body[0], body[1]
	if number != ^mirror {
		if number^mirror == 0x7f && number|mirror < 0x80 {
			r.sevenBit++
		}
		return r.spoilt()
	}
	data, ok := intact(body[2:], r.res.CRC)
	if !ok {
		return r.spoilt()
	}
	return frame{kind: block, number: number, data: data}, nil
}

// spoilt lets the rest of a spoilt block go by.
func (r *receiver) spoilt() (frame, error) {
	var p [256]byte
	for got := 0; got < 2*maxFrame; {
		n, err := r.link.Read(r.slow, p[:], quiet)
		if err != nil || n == 0 {
			return frame{kind: spoilt}, err
		}
		got += n
	}
	return frame{kind: spoilt}, nil
}
