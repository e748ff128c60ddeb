package telnet

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

// A bench is an engine without a connection.
type bench struct {
	tb testing.TB
	*engine
}

func newBench(tb testing.TB, c Config) *bench {
	tb.Helper()
	c, err := c.withDefaults()
	if err != nil {
		tb.Fatal(err)
	}
	return &bench{tb: tb, engine: newEngine(c)}
}

// hear feeds the engine and returns the data and the bytes to write.
func (b *bench) hear(stream string) (data, written string) {
	p := []byte(stream)
	n := b.receive(p)
	return string(p[:n]), string(b.take(nil))
}

// answers checks the answer to a stream, both in hex.
func (b *bench) answers(received, want string) {
	b.tb.Helper()
	_, got := b.hear(unhex(b.tb, received))
	if got := hex.EncodeToString([]byte(got)); got != strings.ReplaceAll(want, " ", "") {
		b.tb.Errorf("%s is answered with %s, want %s", received, got, want)
	}
}

func unhex(tb testing.TB, s string) string {
	tb.Helper()
	p, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return string(p)
}

// Each option has a fixed answer on each side.
func TestOptionPolicy(t *testing.T) {
	tests := []struct {
		o            Option
		toDo, toWill byte // the answers to DO and to WILL
	}{
		{Binary, cmdWILL, cmdDO},
		{Echo, cmdWONT, cmdDO},
		{SGA, cmdWILL, cmdDO},
		{Status, cmdWONT, cmdDO},
		{TerminalType, cmdWILL, cmdDONT},
		{EndOfRecord, cmdWONT, cmdDO},
		{NAWS, cmdWILL, cmdDONT},
		{TerminalSpeed, cmdWILL, cmdDONT},
		{FlowControl, cmdWONT, cmdDONT},
		{Linemode, cmdWONT, cmdDONT},
		{XDisplay, cmdWONT, cmdDONT},
		{OldEnviron, cmdWONT, cmdDONT},
		{Authentication, cmdWONT, cmdDONT},
		{Encryption, cmdWONT, cmdDONT},
		{NewEnviron, cmdWILL, cmdDONT},
		{Charset, cmdWILL, cmdDO},
		{ComPort, cmdWILL, cmdDONT},
		{Logout, cmdWONT, cmdDONT},
		{46, cmdWONT, cmdDONT},  // START_TLS
		{85, cmdWONT, cmdDONT},  // MCCP
		{86, cmdWONT, cmdDONT},  // MCCP2
		{99, cmdWONT, cmdDONT},  // unassigned
		{255, cmdWONT, cmdDONT}, // EXOPL
	}
	for _, tt := range tests {
		b := newBench(t, Config{})
		if _, got := b.hear(string([]byte{cmdIAC, cmdDO, byte(tt.o)})); !strings.HasPrefix(
			got,
			string([]byte{cmdIAC, tt.toDo, byte(tt.o)}),
		) {
			t.Errorf("DO %s is answered with %x", tt.o, got)
		}
		if _, got := b.hear(string([]byte{cmdIAC, cmdWILL, byte(tt.o)})); got != string(
			[]byte{cmdIAC, tt.toWill, byte(tt.o)},
		) {
			t.Errorf("WILL %s is answered with %x", tt.o, got)
		}
		agreed := tt.toDo == cmdWILL
		if _, got := b.hear(string([]byte{cmdIAC, cmdDO, byte(tt.o)})); agreed && got != "" {
			t.Errorf("DO %s again is answered with %x", tt.o, got)
		}
	}
}

func TestBinaryPolicy(t *testing.T) {
	b := newBench(t, Config{Binary: BinaryNever})
	b.answers("fffd00 fffb00", "fffc00 fffe00")
	b = newBench(t, Config{Binary: BinaryAlways})
	b.answers("", "")
	b.answers("fffb01", "fffb00 fffd00 fffd01")
	b.answers("fffd00 fffb00", "")
	if s := b.encoding(); s.enter != "\r" || s.raw || !b.dec.KeepNUL {
		t.Errorf("encoding %+v, KeepNUL %v", s, b.dec.KeepNUL)
	}
}

func TestTerminalTypeCycles(t *testing.T) {
	b := newBench(t, Config{Terminal: terminals("linux")})
	b.answers("fffd18", "fffb18")
	send := "fffa1801fff0"
	for _, want := range []string{"linux", "XTERM", "VT100", "ANSI", "ANSI", "linux", "XTERM"} {
		b.answers(send, "fffa1800"+hex.EncodeToString([]byte(want))+"fff0")
	}
	b.answers("fffe18 fffd18", "fffc18 fffb18") // starts again
	b.answers(send, "fffa1800"+hex.EncodeToString([]byte("linux"))+"fff0")
}

func TestWindowSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		if _, ok := b.resize(80, 24); ok || b.pending() {
			t.Error("a size was sent to a server that has not asked")
		}
		b.answers("fffd1f", "fffb1f fffa1f00500018fff0")
		b.answers("fffd1f", "")
		if wait, ok := b.resize(100, 30); !ok || wait != resizeEvery || b.pending() {
			t.Errorf("a second size at once: wait %v, ok %v", wait, ok)
		}
		time.Sleep(resizeEvery)
		b.resize(255, 511)
		if got := hex.EncodeToString(b.take(nil)); got != "fffa1f00fe01fefff0" {
			t.Errorf("window size sent: %s", got)
		}
		time.Sleep(resizeEvery)
		b.resize(254, 510)
		if got := b.take(nil); len(got) > 0 {
			t.Errorf("the same size was sent again: %x", got)
		}
		b.answers("fffe1f", "fffc1f")
		if _, ok := b.resize(10, 10); ok {
			t.Error("a size was sent after DONT NAWS")
		}
	})
	b := newBench(t, Config{Cols: 132, Rows: -1}) // no rows: no paging on some devices
	b.answers("fffd1f", "fffb1f fffa1f00840000fff0")
}

func TestNoSizeByteOf255(t *testing.T) {
	for n := range 1 << 17 {
		got := without255(n)
		if got&0xff == 0xff || got>>8 >= 0xff || got > n {
			t.Fatalf("%d becomes %d", n, got)
		}
	}
}

func TestTerminalSpeed(t *testing.T) {
	b := newBench(t, Config{})
	b.answers("fffd20 fffa2001fff0", "fffb20 fffa2000"+hex.EncodeToString([]byte("38400,38400"))+"fff0")
}

func TestEnviron(t *testing.T) {
	b := newBench(t, Config{})
	b.answers("fffd27 fffa2701fff0", "fffb27 fffa2700fff0")
	b.answers("fffa2701 00 55534552 03 4c414e47 fff0", "fffa2700fff0")

	env := []term.EnvVar{{Name: "USER", Value: "bob"}, {Name: "A", Value: "\x01\x02\xff"}}
	const user, a = "00 55534552 01 626f62", "03 41 01 0201 0202 ffff"
	all := newBench(t, Config{Env: env})
	all.answers("fffd27", "fffb27")
	all.answers("fffa2701fff0", "fffa2700"+user+a+"fff0")
	all.answers("fffa2701 00 fff0", "fffa2700"+user+"fff0")
	all.answers("fffa2701 03 fff0", "fffa2700"+a+"fff0")
	all.answers("fffa2701 00 55534552 fff0", "fffa2700"+user+"fff0")
	all.answers("fffa2701 03 41 00 4a4f42 fff0", "fffa2700"+a+"fff0")
	all.answers("fffa2701 03 0241 fff0", "fffa2700"+a+"fff0")
	all.answers("fffa2701 07 07 fff0", "fffa2700fff0")
}

func TestCharset(t *testing.T) {
	utf8 := hex.EncodeToString([]byte("UTF-8"))
	b := newBench(t, Config{})
	b.answers("fffb2a", "fffd2a")
	b.answers("fffa2a01"+hex.EncodeToString([]byte(";US-ASCII;UTF-8"))+"fff0", "fffa2a02"+utf8+"fff0")
	if b.charset != "UTF-8" {
		t.Errorf("charset %q", b.charset)
	}
	b.answers(
		"fffa2a01"+hex.EncodeToString([]byte(" KOI8-R utf-8"))+"fff0",
		"fffa2a02"+hex.EncodeToString([]byte("utf-8"))+"fff0",
	)
	b.answers("fffa2a01"+hex.EncodeToString([]byte("[TTABLE]\x01;UTF-8"))+"fff0", "fffa2a02"+utf8+"fff0")
	b.answers("fffa2a01"+hex.EncodeToString([]byte(";KOI8-R"))+"fff0", "fffa2a03fff0")
	b.answers("fffa2a01fff0", "fffa2a03fff0")
	b.answers("fffa2a01"+hex.EncodeToString([]byte("[TTABLE]"))+"fff0", "fffa2a03fff0")
	b.answers("fffa2a0401fff0", "fffa2a05fff0")
	b.answers("fffa2a02"+utf8+"fff0", "")
}

// For example, gensio sends DO SGA again after our WILL.
func TestRepeatedRequestsAreNotAnswered(t *testing.T) {
	b := newBench(t, Config{})
	b.answers("fffb03 fffd03 fffb01 fffe01 fffd00 fffb00 fffd2c", "fffd03 fffb03 fffd01 fffb00 fffd00 fffb2c")
	b.answers("fffd03 fffb03 fffb01 fffd00 fffb00 fffd2c", "")
}

func TestTimingMarkIsAlwaysAnswered(t *testing.T) {
	b := newBench(t, Config{})
	b.answers("fffd06 fffd06", "fffb06 fffb06")
	b.answers("fffe06 fffb06 fffc06", "")
}

func TestSubnegotiationOfWhatIsNotAgreed(t *testing.T) {
	b := newBench(t, Config{})
	b.answers("fffa1801fff0 fffa2701fff0 fffa2c6500002580fff0 fffa0500fff0 fffa22010ffff0 fffa6301fff0", "")
	if b.malformed != 6 {
		t.Errorf("%d counted, want 6", b.malformed)
	}
	b.answers("fffd18 fffa1800fff0 fffa18fff0 fffa180101fff0", "fffb18")
}

// A subnegotiation that ends in a command instead of IAC SE must be handled, and then the
// command.
func TestSubnegotiationCutByACommand(t *testing.T) {
	b := newBench(t, Config{Terminal: []string{"vt52"}})
	b.answers("fffd18", "fffb18")
	b.answers("fffa1801 fffd03", "fffa1800"+hex.EncodeToString([]byte("vt52"))+"fff0 fffb03")
}

func TestSubnegotiationTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []EventKind
		b := newBench(t, Config{OnEvent: func(e Event) { events = append(events, e.Kind) }})
		b.answers("fffd18", "fffb18")
		b.hear("a\xff\xfa\x18")
		time.Sleep(subTimeout - time.Second)
		b.answers("01fff0", "fffa1800"+hex.EncodeToString([]byte(term.DefaultTerm))+"fff0")
		b.hear("\xff\xfa\x18")
		time.Sleep(subTimeout + time.Second)
		events = nil
		if data, out := b.hear("\x01"); data != "" || out != "" {
			t.Errorf("data %q, answer %x", data, out)
		}
		if len(events) != 1 || events[0] != SubnegotiationOverflow {
			t.Errorf("events %v", events)
		}
		if data, out := b.hear("\xff\xf0ok"); data != "ok" || out != "" { // late, so dropped
			t.Errorf("data %q, answer %x", data, out)
		}
	})
}

// A server that keeps changing a request gets a hundred answers, and then ten a second.
func TestFlipFlopFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		flips := strings.Repeat("\xff\xfd\x03\xff\xfe\x03", 500)
		_, out := b.hear(flips + "x")
		if n := len(out) / 3; n != answerBurst {
			t.Errorf("%d answers, want %d", n, answerBurst)
		}
		if b.suppressed == 0 || b.err != nil {
			t.Errorf("suppressed %d, error %v", b.suppressed, b.err)
		}
		if b.on(us, SGA) {
			t.Error("the option is on after DONT")
		}
		time.Sleep(time.Second)
		if _, out = b.hear(flips + "x"); len(out)/3 != answersASecond {
			t.Errorf("%d answers after a second, want %d", len(out)/3, answersASecond)
		}
	})
}

// Six bytes ask for twenty, but the answers must stay bounded.
func TestAmplification(t *testing.T) {
	b := newBench(t, Config{})
	b.answers("fffd18", "fffb18")
	_, out := b.hear(strings.Repeat("\xff\xfa\x18\x01\xff\xf0", 5000) + "x")
	if n := strings.Count(out, "\xff\xf0"); n > answerBurst {
		t.Errorf("%d answers", n)
	}
	// The queue for a server that reads nothing must be bounded too.
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{Env: []term.EnvVar{{Name: "A", Value: strings.Repeat("v", 2000)}}})
		b.hear("\xff\xfd\x27")
		for range 3000 {
			p := []byte("\xff\xfa\x27\x01\xff\xf0x")
			b.receive(p)
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(b.control); n < maxControl || n > maxControl+maxEnviron {
			t.Errorf("%d bytes wait", n)
		}
	})
}

func TestNegotiationLoop(t *testing.T) {
	for _, flood := range []string{"\xff\xfd\x63", "\xff\xfb\x01\xff\xfc\x01", "\xff\xfa\x18\x01\xff\xf0"} {
		t.Run(fmt.Sprintf("%x", flood), func(t *testing.T) {
			b := newBench(t, Config{})
			b.hear(strings.Repeat(flood, maxLoop/2) + "data")
			b.hear(strings.Repeat(flood, maxLoop/2))
			b.hear(strings.Repeat(flood, maxLoop/2+1))
			if !errors.Is(b.err, term.NegotiationLoop) {
				t.Errorf("error %v", b.err)
			}
		})
	}
	t.Run("data between", func(t *testing.T) {
		b := newBench(t, Config{})
		for range 30 {
			b.hear(strings.Repeat("\xff\xfd\x63", 1000) + "x")
		}
		if b.err != nil {
			t.Error(b.err)
		}
	})
	t.Run("keepalive", func(t *testing.T) { // DO TM every minute, for a month
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, Config{})
			for range 30 * 24 * 60 {
				if _, out := b.hear("\xff\xfd\x06"); out != "\xff\xfb\x06" {
					t.Fatalf("answer %x", out)
				}
				time.Sleep(time.Minute)
			}
			if b.err != nil {
				t.Error(b.err)
			}
		})
	})
	t.Run("NOP", func(t *testing.T) { // asks for nothing
		b := newBench(t, Config{})
		b.hear(strings.Repeat("\xff\xf1", 3*maxLoop))
		if b.err != nil {
			t.Error(b.err)
		}
	})
}

// Before its first command a server must be treated as a raw TCP port.
func TestRawUntilTheFirstCommand(t *testing.T) {
	tests := []struct {
		name, in string
		mode     Mode
		raw      bool
	}{
		{name: "nothing", raw: true},
		{name: "text", in: "hello\r\n", raw: true},
		{name: "IAC IAC", in: "\xff\xff", raw: true},
		{name: "not a command", in: "\xff\x01", raw: true},
		{name: "stray SE", in: "\xff\xf0", raw: true},
		{name: "option", in: "\xff\xfd\x63"},
		{name: "GA", in: "\xff\xf9"},
		{name: "subnegotiation", in: "\xff\xfa\x18\x01\xff\xf0"},
		{name: "half an option", in: "\xff\xfd", raw: true},
		{name: "telnet by will", mode: ModeTelnet},
		{name: "raw by will", mode: ModeRaw, in: "\xff\xfd\x01", raw: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Config{Mode: tt.mode})
			b.hear(tt.in)
			want := encoding{enter: "\r\x00"}
			if tt.raw {
				want = encoding{enter: "\r", raw: true}
			}
			if got := b.encoding(); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
	b := newBench(t, Config{Mode: ModeRaw})
	if data, out := b.hear("\xff\xfd\x01\x00"); data != "\xff\xfd\x01\x00" || out != "" {
		t.Errorf("raw: data %q, answer %x", data, out)
	}
}

func TestOffers(t *testing.T) {
	b := newBench(t, Config{Offer: []Option{NAWS, TerminalType, ComPort}})
	b.answers("", "fffb1f fffb18 fffb2c")
	b.answers("fffd1f fffe18 fffd2c", "fffa1f00780028fff0")
	if !b.on(us, NAWS) || b.on(us, TerminalType) || !b.on(us, ComPort) {
		t.Error("wrong states")
	}
}

func TestConfigRefused(t *testing.T) {
	for name, c := range map[string]Config{
		"mode":     {Mode: "auto!"},
		"enter":    {Enter: "return"},
		"binary":   {Binary: "yes"},
		"terminal": {Terminal: []string{"a b"}},
		"length":   {Terminal: []string{strings.Repeat("x", maxTerminal+1)}},
		"cols":     {Cols: 0xffff},
		"env":      {Env: []term.EnvVar{{Name: "", Value: "x"}}},
		"long env": {Env: []term.EnvVar{{Name: "A", Value: strings.Repeat("x", maxEnviron)}}},
	} {
		if _, err := c.withDefaults(); !errors.Is(err, term.InvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzSubnegotiation passes any bytes to each option's parser, twice. No parser may fail, and
// the answers must stay within the limits.
func FuzzSubnegotiation(f *testing.F) {
	for _, seed := range []string{
		"\x18\x01", "\x27\x01\x00USER\x03\x02\x03A", "\x2a\x01;UTF-8;X", "\x2a\x01[TTABLE]\x01", "\x05\x00\xfb\x01",
		"\x2c\x65\x00\x00\x25\x80", "\x2c\x6b\x80", "\x2c\x64", "\x20\x01", "\x1f\x00\x50",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) == 0 || in[0] == cmdIAC || len(in) > maxSubnegotiation {
			return
		}
		b := newBench(t, Config{Env: []term.EnvVar{{Name: "USER", Value: "u\xff"}, {Name: "A\x03", Value: "b"}}})
		for o := range 64 {
			b.hear(string([]byte{cmdIAC, cmdDO, byte(o), cmdIAC, cmdWILL, byte(o)}))
		}
		b.subnegotiate(t, in)
		b.subnegotiate(t, in)
	})
}

// subnegotiate passes a subnegotiation to the engine; the answer must be one subnegotiation
// or empty.
func (b *bench) subnegotiate(tb testing.TB, in []byte) {
	tb.Helper()
	b.bucketsFull()
	data, out := b.hear(string(appendSub(nil, Option(in[0]), in[1:]...)))
	if data != "" {
		tb.Errorf("data %q", data)
	}
	if len(out) > maxSubnegotiation+maxEnviron {
		tb.Errorf("%d bytes of answer", len(out))
	}
	back, events := decodeAll(tb, []byte(out), false)
	if len(back) > 0 || len(events) > 1 {
		tb.Errorf("the answer %x holds data %q, events %q", out, back, events)
	}
	if bytes.Contains([]byte(out), []byte("\xff\xfa")) && !strings.HasSuffix(out, "\xff\xf0") {
		tb.Errorf("the answer %x does not end", out)
	}
}

// bucketsFull resets the rate limits.
func (b *bench) bucketsFull() { b.engine.answers, b.loops = bucket{}, bucket{} }

// FuzzEngine passes any stream to the engine, in two pieces. The answers must be bounded,
// consist of whole commands, and not depend on the cut.
func FuzzEngine(f *testing.F) {
	f.Add([]byte("\xff\xfd\x18\xff\xfa\x18\x01\xff\xf0login: \xff\xfd\x1f\xff\xfb\x00\x00"), uint16(5))
	f.Add([]byte("\xff\xfd\x06\xff\xfb\x12\xff\xfd\x12\xff\xfd\x2c\xff\xfa\x2c\x64\xff\xf0\xff\xfb\xff"), uint16(9))
	f.Fuzz(func(t *testing.T, in []byte, at uint16) {
		whole, cut := newBench(t, Config{Binary: BinaryAlways}), newBench(t, Config{Binary: BinaryAlways})
		data, out := whole.hear(string(in))
		n := int(at) % (len(in) + 1)
		data1, out1 := cut.hear(string(in[:n]))
		data2, out2 := cut.hear(string(in[n:]))
		if data1+data2 != data || out1+out2 != out {
			t.Errorf("cut at %d: data %q, answers %x; whole %q, %x", n, data1+data2, out1+out2, data, out)
		}
		if back, _ := decodeAll(t, []byte(out), true); len(back) > 0 {
			t.Errorf("the answers hold data: %q", back)
		}
		if len(out) > answerBurst*64+100 {
			t.Errorf("%d bytes of answers", len(out))
		}
	})
}
