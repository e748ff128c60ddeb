package telnet

import (
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"reflect"
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

// TestSerialBreakUnanswered: a server that sets the line and answers nothing has made the break.
func TestSerialBreakUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{}, 0)
		data := p.reads()
		times := serialServer(t, p, nil)
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := p.Break(ctx); err != nil || time.Since(began) > time.Second {
			t.Errorf("Break = %v after %v, want nil within a second", err, time.Since(began))
		}
		p.Close()
		<-data
		if seen := <-times; seen["0506"].Sub(seen["0505"]) != breakTime {
			t.Errorf("the requests came at %v", seen)
		}
	})
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

// TestSetLine: a server may confirm nothing, something else or too much, and the line still opens.
func TestSetLine(t *testing.T) {
	want := term.SerialOptions{
		Baud: 9727, DataBits: 7, Parity: "even", StopBits: 2, Flow: "xonxoff", DTR: "on", RTS: "off",
	}
	right := map[string]string{
		"01000025ff": "65 000025ff", "0207": "66 07", "0303": "67 03", "0402": "68 02", "0502": "69 02", "0508": "69 08",
		"050c": "69 0c",
	}
	all := term.Serial{Baud: 9727, DataBits: 7, Parity: "even", StopBits: 2, Flow: "xonxoff"}
	for _, c := range []struct {
		name    string
		answers map[string]string // in place of the right ones; "-": none
		is      term.Serial
		doubts  []string
		took    time.Duration
	}{
		{"all confirmed", nil, all, nil, 0},
		{
			"NULs behind the values", map[string]string{"01000025ff": "65 000025ff 00", "0207": "66 07 0000"}, all, nil, 0,
		},
		{
			"another speed and size", map[string]string{"01000025ff": "65 00002580", "0207": "66 08"},
			term.Serial{Parity: "even", StopBits: 2, Flow: "xonxoff"},
			[]string{"speed 9727: it says 9600", "data bits 7: it says 08, not 07"}, 0,
		},
		{
			"values of a wrong length", map[string]string{"01000025ff": "65 25", "0303": "67", "0402": "68 0102"},
			term.Serial{DataBits: 7, Flow: "xonxoff"},
			[]string{"speed 9727: it says 25", "parity even: it says", "stop bits 2: it says 01 02"}, 0,
		},
		{
			"a long value", map[string]string{"0303": "67" + strings.Repeat("aa", 4000)},
			term.Serial{Baud: 9727, DataBits: 7, StopBits: 2, Flow: "xonxoff"},
			[]string{"parity even: it says " + strings.Repeat("aa ", mostShown-1) + "aa, not 03"}, 0,
		},
		{
			"two unanswered", map[string]string{"0207": "-", "0402": "-"},
			term.Serial{Baud: 9727, Parity: "even", Flow: "xonxoff"},
			[]string{"data bits 7: no answer", "stop bits 2: no answer"}, confirmTime + confirmAgain,
		},
		{ // the answer to another request of the same code
			"a late answer", map[string]string{"0508": "69 02"}, all, []string{"DTR on: no answer"}, confirmTime,
		},
		{
			"nothing answered", map[string]string{
				"01000025ff": "-", "0207": "-", "0303": "-", "0402": "-", "0502": "-", "0508": "-", "050c": "-",
			}, term.Serial{},
			[]string{"speed", "data bits", "parity", "stop bits", "flow control", "DTR", "RTS"}, confirmTime + 6*confirmAgain,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, Config{Offer: []Option{ComPort}}, 0)
				answers := maps.Clone(right)
				maps.Copy(answers, c.answers)
				maps.DeleteFunc(answers, func(_, a string) bool { return a == "-" })
				times := serialServer(t, p, answers)
				began := time.Now()
				is, doubts, err := setLine(t.Context(), p.Conn, want)
				if err != nil || is == nil || !reflect.DeepEqual(*is, c.is) {
					t.Errorf("the line is %+v, %v; want %+v", is, err, c.is)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				if len(doubts) != len(c.doubts) {
					t.Errorf("doubts = %q, want %d", doubts, len(c.doubts))
				}
				for i, d := range c.doubts {
					if i < len(doubts) && !strings.Contains(doubts[i], d) {
						t.Errorf("doubt %d = %q, want %q in it", i, doubts[i], d)
					}
				}
				p.Close()
				if seen := <-times; len(seen) < len(right) {
					t.Errorf("the server was asked %d settings, want all %d: %v", len(seen), len(right), seen)
				}
			})
		})
	}
}

// TestSetLineWithout: a server without RFC 2217, one that ends the connection, and one that sends data without end.
func TestSetLineWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{Offer: []Option{ComPort}}, 0)
		p.says(t, "\xff\xfe\x2clogin: ")
		began := time.Now()
		is, doubts, err := setLine(t.Context(), p.Conn, term.SerialOptions{Baud: 9600})
		if is != nil || err != nil || len(doubts) != 1 || !strings.Contains(doubts[0], "RFC 2217") {
			t.Errorf("without RFC 2217: %+v, %q, %v", is, doubts, err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the refusal was noticed after %v", took)
		}
		b := make([]byte, 100)
		if n, err := p.Read(b); string(b[:n]) != "login: " || err != nil {
			t.Errorf("what came meanwhile = %q, %v", b[:n], err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := setLine(ctx, p.Conn, term.SerialOptions{Baud: 9600}); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		for _, o := range []term.SerialOptions{{Parity: "odder"}, {StopBits: 3}, {Flow: "x"}, {DTR: "up"}, {Path: "/dev/x"}} {
			if _, _, err := setLine(t.Context(), p.Conn, o); !errors.Is(err, term.InvalidArgument) {
				t.Errorf("%+v: %v", o, err)
			}
		}
		p.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{Offer: []Option{ComPort}}, 0)
		began := time.Now()
		_, doubts, err := setLine(t.Context(), p.Conn, term.SerialOptions{Baud: 9600})
		if took := time.Since(began); err != nil || len(doubts) != 1 || took != confirmTime {
			t.Errorf("of a silent server: %q, %v, after %v; want %v", doubts, err, took, confirmTime)
		}
		p.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, Config{Offer: []Option{ComPort}}, 0)
		p.says(t, "\xff\xfd\x2c")
		p.server.Close()
		if _, doubts, err := setLine(t.Context(), p.Conn, term.SerialOptions{Baud: 9600, DataBits: 8}); err != nil || len(doubts) == 0 {
			t.Errorf("after the end: %q, %v", doubts, err)
		}
		p.Close()
	})
}
