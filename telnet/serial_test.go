package telnet

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

// serialServer answers like ser2net in front of a pty, until the connection ends. It reports
// the time of each request.
func serialServer(tb testing.TB, p pair, answers map[string]string) <-chan map[string]time.Time {
	tb.Helper()
	times := make(chan map[string]time.Time, 1)
	p.says(tb, "\xff\xfd\x2c")
	go func() {
		seen := make(map[string]time.Time)
		d := Decoder{OnEvent: func(e Event) {
			if e.Option != ComPort || e.Kind != SubnegotiationReceived {
				return
			}
			asked := hex.EncodeToString(e.Data)
			seen[asked] = time.Now()
			if a, ok := answers[asked]; ok {
				p.server.Write(appendSub(nil, ComPort, []byte(unhex(tb, a))...))
			}
		}}
		for b := make([]byte, 100); ; {
			n, err := p.server.Read(b)
			d.Decode(b[:n])
			if err != nil {
				times <- seen
				return
			}
		}
	}()
	return times
}

func TestSerial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{}, 0)
		data := p.reads()
		if _, err := p.SetSerial(t.Context(), SerialLine{}); !errors.Is(err, term.Unsupported) {
			t.Errorf("without RFC 2217: %v", err)
		}
		times := serialServer(t, p, map[string]string{
			"00": "64 7365723272", "01000025ff": "65 000025ff", "0100000000": "65 00002580",
			"0207": "66 07", "0200": "66 08", "0300": "67 03", "0303": "67 03", "0400": "68 01", "0402": "68 02",
			"0500": "69 01", "0503": "69 03", "0505": "69 05", "0506": "69 06", "0508": "69 08", "050c": "69 0b",
			"0aff": "6a 00", "0bff": "6f ff", "0c03": "70 03", "0c01": "70 0102",
		})
		synctest.Wait()
		if name, err := p.SerialServer(t.Context()); name != "ser2r" || err != nil {
			t.Errorf("server %q, %v", name, err)
		}
		want := SerialLine{
			Speed:    9727,
			DataBits: 7,
			Parity:   ParityEven,
			StopBits: TwoStopBits,
			Flow:     FlowHardware,
		} // a speed with a byte of 255
		if is, err := p.SetSerial(t.Context(), want); is != want || err != nil {
			t.Errorf("%+v, %v", is, err)
		}
		if is, err := p.SetSerial(t.Context(), SerialLine{}); is != (SerialLine{9600, 8, ParityEven, OneStopBit, FlowNone}) ||
			err != nil {
			t.Errorf("%+v, %v", is, err)
		}
		if on, err := p.SetSignal(t.Context(), DTR, true); !on || err != nil {
			t.Errorf("DTR %v, %v", on, err)
		}
		if on, err := p.SetSignal(t.Context(), RTS, false); !on || err != nil { // the server answers "on"
			t.Errorf("RTS %v, %v", on, err)
		}
		if err := p.WatchSerial(t.Context(), 0xff, 0xff); err != nil {
			t.Error(err)
		}
		if err := p.Purge(t.Context(), PurgeBoth); err != nil {
			t.Error(err)
		}
		if err := p.Purge(t.Context(), PurgeReceived); !errors.Is(err, term.IOError) {
			t.Errorf("a senseless answer: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if err := p.Purge(ctx, PurgeWaiting); !errors.Is(err, term.ExecTimeout) {
			t.Errorf("no answer: %v", err)
		}
		cancel()
		p.says(
			t,
			"\xff\xfa\x2c\x6a\x10\xff\xf0\xff\xfa\x2c\x6b\xa0\xff\xf0\xff\xfa\x2c\x6c\xff\xf0\xff\xfa\x2c\xff\xf0\xff\xfa\x2c\x64\xff\xf0",
		)
		synctest.Wait()
		if _, modem := p.SerialState(); modem != ModemDSR|ModemDCD {
			t.Errorf("modem %08b", modem)
		}
		if err := p.SendKey(t.Context(), term.KeyBreak); err != nil {
			t.Error(err)
		}
		p.Close()
		<-data
		seen := <-times
		if d := seen["0506"].Sub(seen["0505"]); d != breakTime {
			t.Errorf("the break lasted %v", d)
		}
		if _, ok := seen["00"+hex.EncodeToString([]byte(signature))]; !ok {
			t.Errorf("the server's question for our name was not answered: %v", seen)
		}
	})
}

// A break must end on the line even if its caller gives up.
func TestSerialBreakGivenUp(t *testing.T) {
	for _, answers := range []map[string]string{nil, {"0505": "6905"}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, Config{}, 0)
			data := p.reads()
			times := serialServer(t, p, answers)
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), breakTime/2)
			defer cancel()
			if err := p.Break(ctx); !errors.Is(err, term.ExecTimeout) {
				t.Errorf("Break with a context of %v: error %v, want %v", breakTime/2, err, term.ExecTimeout)
			}
			synctest.Wait()
			p.Close()
			<-data
			if seen := <-times; seen["0506"].IsZero() {
				t.Errorf("the break goes on: %v", seen)
			}
		})
	}
}

func TestSerialWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{}, 0)
		data := p.reads()
		times := serialServer(t, p, nil)
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- p.Purge(t.Context(), PurgeBoth) }()
		synctest.Wait()
		p.says(t, "\xff\xfe\x2c")
		if err := <-done; !errors.Is(err, term.Unsupported) || !strings.Contains(err.Error(), "withdrawn") {
			t.Errorf("Purge after the server's DONT: error %v, want %v (withdrawn)", err, term.Unsupported)
		}
		p.Close()
		<-data
		<-times
	})
}

// A break must wait for its turn; if it ends before that, it must not be reported as sent.
func TestBreakWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{}, 0)
		p.reads()
		p.says(t, "\xff\xfd\x2c")
		p.written(t)
		go p.SerialServer(t.Context())
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- p.Break(t.Context()) }()
		time.Sleep(time.Second)
		p.says(t, "\xff\xfa\x2c\x64me\xff\xf0")
		synctest.Wait()
		time.Sleep(400 * time.Millisecond)
		p.says(t, "\xff\xfa\x2c\x69\x05\xff\xf0")
		time.Sleep(400 * time.Millisecond)
		p.says(t, "\xff\xfa\x2c\x69\x06\xff\xf0")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-ctx.Done():
			t.Error("no end")
		}
		if got := p.written(t); !strings.HasSuffix(got, "\xff\xfa\x2c\x05\x05\xff\xf0\xff\xfa\x2c\x05\x06\xff\xf0") {
			t.Errorf("sent %x", got)
		}
		p.Close()
	})
}
