package xmodem_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session/xmodem"
	"ptyctl/term"
)

// content returns n bytes, with all values and the control characters of the protocols among them.
func content(seed uint64, n int) []byte {
	data := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 2))
	for i := range data {
		if data[i] = byte(r.IntN(256)); r.IntN(3) == 0 {
			data[i] = "\x01\x02\x04\x06\x15\x18\x1aC\r\n\x00\xff\x11\x13"[r.IntN(14)]
		}
	}
	return data
}

// A received is a receiver's result of a transfer.
type received struct {
	xmodem.Result
	data []byte
	err  error
}

// receive receives at a station, in a goroutine.
func receive(ctx context.Context, s *station, o xmodem.Options) <-chan received {
	done := make(chan received, 1)
	go func() {
		var out bytes.Buffer
		if o.Open == nil {
			o.Open = func(xmodem.File) (io.Writer, error) { return &out, nil }
		}
		res, err := xmodem.Receive(ctx, s, o)
		done <- received{res, out.Bytes(), err}
	}()
	return done
}

var protocols = []xmodem.Protocol{xmodem.XMODEM, xmodem.XMODEM1K, xmodem.YMODEM}

// padded returns data as XMODEM brings it.
func padded(p xmodem.Protocol, data []byte) []byte {
	if n := len(data); p != xmodem.YMODEM && n%128 != 0 {
		size := (n/128 + 1) * 128
		if rest := n % 1024; p == xmodem.XMODEM1K && rest > 896 {
			size = (n/1024 + 1) * 1024
		}
		return append(bytes.Clone(data), bytes.Repeat([]byte{0x1a}, size-n)...)
	}
	return data
}

func TestTransfer(t *testing.T) {
	for _, p := range protocols {
		for _, size := range []int{0, 1, 127, 128, 129, 896, 897, 1024, 1025, 20_000} {
			t.Run(fmt.Sprintf("%s-%d", p, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					near, far := line(t, 1, faults{delay: 10 * time.Millisecond}, faults{delay: 10 * time.Millisecond})
					data := content(1, size)
					at := time.Unix(1_700_000_000, 0)
					got := receive(t.Context(), far, xmodem.Options{Protocol: p})
					var moved int64
					f := xmodem.File{Name: "fw.bin", Size: int64(size), Modified: at}
					res, err := xmodem.Send(t.Context(), near, p, f, bytes.NewReader(data), func(n int64) { moved = n })
					if err != nil || res.Bytes != int64(size) || moved != int64(size) || res.Errors != 0 || !res.CRC {
						t.Fatalf("Send = %+v, %v; progress %d", res, err, moved)
					}
					r := <-got
					if r.err != nil || !bytes.Equal(r.data, padded(p, data)) || r.Errors != 0 || r.Padded != (p != xmodem.YMODEM) {
						t.Fatalf("Receive = %d bytes, %+v, %v; want %d bytes", len(r.data), r.Result, r.err, size)
					}
					if y := p == xmodem.YMODEM; y != (r.Name == "fw.bin") || y != r.Modified.Equal(at) || y != (r.Size == int64(size)) {
						t.Errorf("the file is described as %+v", r.File)
					}
				})
			})
		}
	}
}

// TestFaultyLine sends files over lines that spoil bytes, whichever: a file arrives whole, or both ends say that it has
// not.
func TestFaultyLine(t *testing.T) {
	ends := map[bool]int{}
	for seed := range uint64(60) {
		p := protocols[seed%3]
		r := rand.New(rand.NewPCG(seed, 3))
		one := func() faults {
			f := faults{delay: time.Duration(r.IntN(300)) * time.Millisecond}
			for _, rate := range []*int{&f.flip, &f.lose, &f.double} {
				if r.IntN(2) == 0 {
					*rate = 1000 + r.IntN(20_000)
				}
			}
			return f
		}
		there, back := one(), one()
		if seed%5 == 0 { // answers are short, and seldom hit by such rates
			back.lose, back.flip = 20, 20
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := line(t, seed, there, back)
				data := content(seed, r.IntN(20_000))
				got := receive(t.Context(), far, xmodem.Options{Protocol: p})
				f := xmodem.File{Name: "fw.bin", Size: int64(len(data))}
				res, err := xmodem.Send(t.Context(), near, p, f, bytes.NewReader(data), nil)
				r := <-got
				if r.err == nil && !bytes.Equal(r.data, padded(p, data)) {
					t.Fatalf("%s: %d bytes arrived, and differ from the %d sent", p, len(r.data), len(data))
				}
				if err == nil && r.err != nil {
					t.Errorf("%s: the sender has sent it (%+v), the receiver says %v", p, res, r.err)
				}
				ends[err == nil && r.err == nil]++
				if hurt := near.out.spoilt() + far.out.spoilt(); err != nil && hurt < 3 && r.err != nil {
					t.Errorf("%s failed after %d bytes were spoilt: %v / %v", p, hurt, err, r.err)
				}
			})
		})
	}
	t.Logf("%d of 60 transfers succeeded", ends[true])
	if ends[true] < 48 {
		t.Errorf("%d of 60 transfers succeeded, want 48 or more", ends[true])
	}
}

// TestChecksum receives from a sender that knows no CRC, and sends to a receiver that knows none.
func TestChecksum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := line(t, 1, faults{}, faults{})
		got := receive(t.Context(), far, xmodem.Options{Protocol: xmodem.XMODEM})
		time.Sleep(20 * time.Second) // it has given up to ask for a CRC
		for {
			if n, _ := near.Read(t.Context(), make([]byte, 1), 0); n == 0 {
				break
			}
		}
		data := content(1, 300)
		res, err := xmodem.Send(t.Context(), near, xmodem.XMODEM, xmodem.File{Size: 300}, bytes.NewReader(data), nil)
		r := <-got
		if err != nil || r.err != nil || res.CRC || r.CRC || !bytes.Equal(r.data, padded(xmodem.XMODEM, data)) {
			t.Errorf("Send = %+v, %v; Receive = %d bytes, %+v, %v", res, err, len(r.data), r.Result, r.err)
		}
	})
}

// TestFarSide tries sender and receiver on far sides that behave otherwise.
func TestFarSide(t *testing.T) {
	send := func(ctx context.Context, s *station) error {
		_, err := xmodem.Send(ctx, s, xmodem.XMODEM, xmodem.File{Size: 500}, bytes.NewReader(content(1, 500)), nil)
		return err
	}
	get := func(p xmodem.Protocol) func(ctx context.Context, s *station) error {
		return func(ctx context.Context, s *station) error {
			return (<-receive(ctx, s, xmodem.Options{Protocol: p, Max: 1000})).err
		}
	}
	for name, c := range map[string]struct {
		do    func(ctx context.Context, s *station) error
		far   func(s *station)
		want  string
		limit time.Duration // in which it ends
		shown string        // text of the far side
		quiet bool          // nothing is sent at all
	}{
		"no receiver":  {do: send, far: func(*station) {}, want: "does not ask for the file", limit: 61 * time.Second},
		"no sender":    {do: get(xmodem.XMODEM), far: func(*station) {}, want: "sends nothing", limit: 61 * time.Second},
		"no sender, Y": {do: get(xmodem.YMODEM), far: func(*station) {}, want: "sends nothing", limit: 61 * time.Second},
		"a shell": {
			do: send, far: func(s *station) { s.says("rx: Command not found\r\n$ ") }, want: "does not ask", limit: 61 * time.Second,
			shown: "rx: Command not found\r\n$ ",
		},
		"text with its message": {
			do: send, far: func(s *station) { s.says("Can't open\r\nSUCCESS\r\n"); time.Sleep(time.Second); s.says("\x18\x18") },
			want: "canceled", limit: 5 * time.Second, shown: "Can't open\r\nSUCCESS\r\n", quiet: true,
		},
		"YMODEM-g": {do: send, far: func(s *station) { s.says("G"); time.Sleep(time.Second); s.says("G") }, want: "YMODEM-g", limit: 5 * time.Second},
		"a receiver that dies": {
			do: send, far: func(s *station) { s.says("C") }, want: "stopped answering", limit: 3 * time.Minute,
		},
		"a receiver that refuses": {
			do: send, far: func(s *station) {
				s.says("C")
				for range 30 {
					time.Sleep(time.Second)
					s.says("\x15")
				}
			}, want: "too many errors at byte 0", limit: 2 * time.Minute,
		},
		"a chatterbox": {
			do: send, far: func(s *station) { s.says("C"); time.Sleep(time.Second); s.says(strings.Repeat("hello, world ", 40)) },
			want: "answers with text", limit: 5 * time.Second,
		},
		"no end of a block": {
			do: get(xmodem.XMODEM), far: func(s *station) { s.says("\x02\x01\xfe" + strings.Repeat("x", 900)) },
			want: "too many errors", limit: 5 * time.Minute,
		},
		"noise without end": {
			do: get(xmodem.XMODEM), far: func(s *station) {
				s.says("\x01\x01\xfe" + strings.Repeat("x", 130))
				for range 200 {
					time.Sleep(100 * time.Millisecond)
					s.says(strings.Repeat("\x05\x07", 1000))
				}
			}, want: "too many errors", limit: 5 * time.Minute,
		},
		"a file that is too large": {
			do: get(xmodem.YMODEM), far: func(s *station) { s.says(frame(0, "fw.bin\x001001 ")) }, want: "1000 bytes are allowed",
			limit: 2 * time.Second,
		},
		"more than announced": {
			do: get(xmodem.YMODEM), far: func(s *station) {
				s.says(frame(0, "fw.bin\x0010 "))
				time.Sleep(time.Second)
				s.says(frame(1, "0123456789"))
				time.Sleep(time.Second)
				s.says(frame(2, "x"))
			}, want: "more than the 10 bytes", limit: 5 * time.Second,
		},
		"less than announced": {
			do: get(xmodem.YMODEM), far: func(s *station) {
				s.says(frame(0, "fw.bin\x00200 "))
				time.Sleep(time.Second)
				s.says(frame(1, "0123456789"))
				time.Sleep(time.Second)
				s.says("\x04")
				time.Sleep(time.Second)
				s.says("\x04")
			}, want: "ended the file after 128 of 200 bytes", limit: 5 * time.Second,
		},
		"no file": {do: get(xmodem.YMODEM), far: func(s *station) { s.says(frame(0, "")) }, want: "no file to send", limit: 2 * time.Second},
		"YMODEM for XMODEM": {
			do: get(xmodem.XMODEM), far: func(s *station) { s.says(frame(0, "fw.bin\x0010 ")) }, want: "it speaks YMODEM",
			limit: 5 * time.Second,
		},
		"XMODEM for YMODEM": {
			do: get(xmodem.YMODEM), far: func(s *station) { s.says(frame(1, "data")) }, want: "it speaks XMODEM",
			limit: 5 * time.Second,
		},
		"blocks lost": {do: get(xmodem.XMODEM), far: func(s *station) { s.says(frame(3, "x")) }, want: "block 3 in place of 1", limit: 2 * time.Second},
		"the same block for ever": {
			do: get(xmodem.XMODEM), far: func(s *station) {
				for range 20 {
					s.says(frame(1, "x"))
					time.Sleep(time.Second)
				}
			}, want: "again and again", limit: time.Minute,
		},
		"seven bits": {
			do: get(xmodem.XMODEM), far: func(s *station) {
				for range 20 {
					s.says("\x01\x01\x7e" + strings.Repeat("x", 130))
					time.Sleep(3 * time.Second)
				}
			}, want: "not 8-bit clean", limit: 2 * time.Minute,
		},
		"it cancels": {do: get(xmodem.XMODEM), far: func(s *station) { s.says("\x18\x18") }, want: "canceled", limit: 2 * time.Second, quiet: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := line(t, 1, faults{}, faults{})
				began := time.Now()
				over := make(chan struct{})
				go func() {
					defer close(over)
					c.far(far)
				}()
				err := c.do(t.Context(), near)
				took := time.Since(began)
				<-over
				if e, ok := errors.AsType[*term.Error](err); !ok || !strings.Contains(e.Error(), c.want) || took > c.limit {
					t.Errorf("after %v: %v; want %q within %v", took, err, c.want, c.limit)
				}
				if got := near.shown(); c.shown != "" && got != c.shown {
					t.Errorf("the far side's text is %q, want %q", got, c.shown)
				}
				synctest.Wait()
				canceled := strings.HasSuffix(string(near.out.carried()), strings.Repeat("\x18", 10)+strings.Repeat("\b", 10)+"\x15")
				if far := strings.Contains(c.want, "canceled"); canceled == far {
					t.Errorf("it has told the far side that it ends: %t, want %t", canceled, !far)
				}
			})
		})
	}
}

// frame returns a block of 128 bytes with a CRC, made bit by bit.
func frame(number byte, text string) string {
	data := text + strings.Repeat("\x00", 128-len(text))
	var crc uint16
	for i := range data {
		for bit := range 8 {
			one := crc>>15 ^ uint16(data[i]>>(7-bit)&1)
			crc <<= 1
			if one == 1 {
				crc ^= 0x1021
			}
		}
	}
	return "\x01" + string([]byte{number, ^number}) + data + string([]byte{byte(crc >> 8), byte(crc)})
}

// TestCancel cancels a transfer at either end, in the middle of a block on a slow line.
func TestCancel(t *testing.T) {
	for _, sends := range []bool{true, false} {
		t.Run(fmt.Sprintf("sender %t", sends), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := line(t, 1, faults{delay: 300 * time.Millisecond}, faults{delay: 300 * time.Millisecond})
				cause := errors.New("enough")
				first, cancel := context.WithCancelCause(t.Context())
				second := t.Context()
				if !sends {
					first, second = second, first
				}
				time.AfterFunc(5100*time.Millisecond, func() { cancel(cause) })
				got := receive(second, far, xmodem.Options{Protocol: xmodem.XMODEM})
				_, err := xmodem.Send(first, near, xmodem.XMODEM, xmodem.File{Size: 50_000}, bytes.NewReader(content(1, 50_000)), nil)
				other := (<-got).err
				if !sends {
					err, other = other, err
				}
				if !errors.Is(err, cause) {
					t.Errorf("the canceled end fails with %v, want the cause", err)
				}
				if other == nil || !strings.Contains(other.Error(), "the far side canceled") {
					t.Errorf("the other end fails with %v", other)
				}
			})
		})
	}
}

// TestBatch receives the first of two files.
func TestBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := line(t, 1, faults{}, faults{})
		go func() {
			far.says(frame(0, "../../etc/one\x0010 14514120100 100644"))
			time.Sleep(time.Second)
			far.says(frame(1, "0123456789"))
			for range 2 {
				time.Sleep(time.Second)
				far.says("\x04")
			}
			time.Sleep(time.Second)
			far.says(frame(0, "two\x0010 "))
		}()
		r := <-receive(t.Context(), near, xmodem.Options{Protocol: xmodem.YMODEM})
		if r.err != nil || string(r.data) != "0123456789" || !r.More || r.Name != "../../etc/one" || r.Modified.Unix() != 0o14514120100 {
			t.Errorf("got %q, %+v, %v", r.data, r.Result, r.err)
		}
	})
}

// TestLastAnswerLost lets the receiver end without its last answer, and its shell print a prompt: an EOT sent again would
// end the shell.
func TestLastAnswerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := line(t, 1, faults{}, faults{})
		go func() {
			far.says("C")
			time.Sleep(time.Second)
			far.says("\x06")
			time.Sleep(time.Second)
			far.says("\x00ok\r\n$ ")
		}()
		res, err := xmodem.Send(t.Context(), near, xmodem.XMODEM, xmodem.File{Size: 5}, strings.NewReader("hello"), nil)
		if err != nil || !res.Uncertain || near.shown() != "\x00ok\r\n$ " {
			t.Errorf("Send = %+v, %v; text %q", res, err, near.shown())
		}
		if n := strings.Count(string(near.out.carried()), "\x04"); n != 1 {
			t.Errorf("%d EOTs were sent, want one", n)
		}
	})
}

// TestShorterFile sends a file that has shrunk.
func TestShorterFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := line(t, 1, faults{}, faults{})
		got := receive(t.Context(), far, xmodem.Options{Protocol: xmodem.XMODEM})
		_, err := xmodem.Send(t.Context(), near, xmodem.XMODEM, xmodem.File{Size: 500}, bytes.NewReader(make([]byte, 300)), nil)
		if r := <-got; err == nil || !strings.Contains(err.Error(), "shorter") || r.err == nil {
			t.Errorf("Send = %v, Receive = %v; want both to fail", err, r.err)
		}
	})
}

// TestFarCanceled: a far side that has canceled is a shell by then, perhaps, which is sent nothing.
func TestFarCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := line(t, 1, faults{}, faults{})
		go func() {
			far.says("C")
			time.Sleep(5 * time.Second) // the first block is here
			far.says("\x18\x18")
		}()
		_, err := xmodem.Send(t.Context(), near, xmodem.XMODEM, xmodem.File{Size: 3}, strings.NewReader("abc"), nil)
		if err == nil || !strings.Contains(err.Error(), "the far side canceled") {
			t.Errorf("Send() = %v, want that the far side canceled", err)
		}
		synctest.Wait()
		if sent := near.out.carried(); len(sent) != 133 {
			t.Errorf("%d bytes were sent, want one block of 133 alone: %q", len(sent), sent)
		}
	})
}

// A babble is a far side that never pauses: there is always something to read.
type babble struct{}

func (babble) Read(ctx context.Context, p []byte, _ time.Duration) (int, error) {
	time.Sleep(time.Millisecond)
	for i := range p {
		p[i] = 0xff
	}
	return len(p), context.Cause(ctx)
}

func (babble) Write(context.Context, []byte) error { return nil }
func (babble) Cancel(context.Context, []byte)      {}
func (babble) Text([]byte)                         {}

// TestBabble: a far side that never pauses, and never begins, is waited for as long as one that is silent.
func TestBabble(t *testing.T) {
	for name, transfer := range map[string]func(ctx context.Context) error{
		"sender": func(ctx context.Context) error {
			_, err := xmodem.Send(ctx, babble{}, xmodem.YMODEM, xmodem.File{Name: "x", Size: 1}, strings.NewReader("x"), nil)
			return err
		},
		"receiver": func(ctx context.Context) error {
			_, err := xmodem.Receive(ctx, babble{}, xmodem.Options{
				Protocol: xmodem.XMODEM, Open: func(xmodem.File) (io.Writer, error) { return io.Discard, nil },
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				began := time.Now()
				if err := transfer(ctx); err == nil || ctx.Err() != nil {
					t.Errorf("the transfer ended after %v: %v; want an error of its own", time.Since(began), err)
				}
			})
		})
	}
}
