package telnet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// decodeAll decodes a stream cut into pieces at the given offsets, and returns data and
// events as text.
func decodeAll(tb testing.TB, stream []byte, binary bool, cuts ...int) (data []byte, events []string) {
	tb.Helper()
	d := Decoder{KeepNUL: binary}
	d.OnEvent = func(e Event) {
		e.Each(func(e Event) {
			events = append(events, fmt.Sprintf("%d %s %s %q %d @%d", e.Kind, e.Command, e.Option, e.Data, e.Size, e.At))
		})
	}
	from := 0
	for _, cut := range append(cuts, len(stream)) {
		piece := bytes.Clone(stream[from:cut])
		n := d.Decode(piece)
		data = append(data, piece[:n]...)
		from = cut
	}
	d.End()
	return data, events
}

// Each stream is also decoded in two pieces, cut at each offset, and byte by byte.
func TestDecoder(t *testing.T) {
	big := strings.Repeat("x", maxSubnegotiation)
	endless := strings.Repeat("y", lostInside)
	tests := []struct {
		name   string
		in     string
		binary bool
		data   string
		kinds  []EventKind
	}{
		{name: "text", in: "login: ", data: "login: "},
		{name: "long text", in: strings.Repeat("abcdefgh", 40), data: strings.Repeat("abcdefgh", 40)},
		{name: "options in text", in: "a\xff\xfb\x01b\xff\xfd\x03c", data: "abc", kinds: []EventKind{OptionReceived, OptionReceived}},
		{name: "a run of options", in: strings.Repeat("\xff\xfd\x63", 5) + "x", data: "x", kinds: slices.Repeat([]EventKind{OptionReceived}, 5)},
		{name: "IAC IAC", in: "\xff\xff\xff\xff-\xff\xff", data: "\xff\xff-\xff"},
		{name: "NUL in NVT", in: "\x00a\x00\x00b\r\x00\r\n\x00", data: "ab\r\r\n"},
		{name: "NUL far in", in: strings.Repeat("t", 30) + "\x00" + strings.Repeat("u", 30) + "\x00", data: strings.Repeat("t", 30) + strings.Repeat("u", 30)},
		{name: "NUL in BINARY", in: "\x00a\r\x00", binary: true, data: "\x00a\r\x00"},
		{name: "eight bits in NVT", in: "\xc3\xa9 \x80\x9f\xfe", data: "\xc3\xa9 \x80\x9f\xfe"},
		{name: "commands", in: "a\xff\xf1\xff\xf9\xff\xef\xff\xf2\xff\xf6b", data: "ab", kinds: slices.Repeat([]EventKind{CommandReceived}, 5)},
		{name: "option 255 is no escape", in: "\xff\xfd\xffx\xff\xfb\xffy", data: "xy", kinds: []EventKind{OptionReceived, OptionReceived}},
		{name: "not a command", in: "a\xff\x41b", data: "ab", kinds: []EventKind{NotACommand}},
		{name: "stray SE", in: "a\xff\xf0b", data: "ab", kinds: []EventKind{StraySE}},
		{name: "subnegotiation", in: "a\xff\xfa\x18\x01\xff\xf0b", data: "ab", kinds: []EventKind{SubnegotiationReceived}},
		{name: "IAC in a subnegotiation", in: "\xff\xfa\x1f\x00\xff\xff\x00\x18\xff\xf0z", data: "z", kinds: []EventKind{SubnegotiationReceived}},
		{name: "NUL in a subnegotiation", in: "\xff\xfa\x1f\x00\x00\xff\xf0", kinds: []EventKind{SubnegotiationReceived}},
		{name: "empty subnegotiation", in: "\xff\xfa\x18\xff\xf0z", data: "z", kinds: []EventKind{SubnegotiationReceived}},
		{name: "subnegotiation cut by a command", in: "\xff\xfa\x18\x01\xff\xfb\x01z", data: "z", kinds: []EventKind{SubnegotiationCut, OptionReceived}},
		{name: "subnegotiation cut by another", in: "\xff\xfa\x18\x01\xff\xfa\x1f\x01\xff\xf0z", data: "z", kinds: []EventKind{SubnegotiationCut, SubnegotiationReceived}},
		{name: "largest subnegotiation", in: "\xff\xfa\x18" + big + "\xff\xf0z", data: "z", kinds: []EventKind{SubnegotiationReceived}},
		{name: "huge subnegotiation", in: "\xff\xfa\x18" + big + "!" + big + "\xff\xf0z", data: "z", kinds: []EventKind{SubnegotiationOverflow}},
		{name: "endless subnegotiation", in: "\xff\xfa\x18" + endless + "and on", data: "and on", kinds: []EventKind{SubnegotiationOverflow, SubnegotiationLost}},
		{name: "endless subnegotiation of IAC", in: "\xff\xfa\x18" + strings.Repeat("\xff\xff", lostInside) + "and on", data: "and on", kinds: []EventKind{SubnegotiationOverflow, SubnegotiationLost}},
		{name: "unterminated subnegotiation", in: "a\xff\xfa\x18\x01bc", data: "a", kinds: []EventKind{TruncatedAtEOF}},
		{name: "end after IAC", in: "a\xff", data: "a", kinds: []EventKind{TruncatedAtEOF}},
		{name: "end after WILL", in: "a\xff\xfb", data: "a", kinds: []EventKind{TruncatedAtEOF}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, events := decodeAll(t, []byte(tt.in), tt.binary)
			if string(data) != tt.data {
				t.Errorf("data %q, want %q", data, tt.data)
			}
			var kinds []EventKind
			for _, e := range events {
				var k EventKind
				fmt.Sscan(e, &k)
				kinds = append(kinds, k)
			}
			if !slices.Equal(kinds, tt.kinds) {
				t.Errorf("events %q, want kinds %d", events, tt.kinds)
			}
			step := max(1, len(tt.in)/50) // every offset of a short stream
			for cut := 0; cut <= len(tt.in); cut += step {
				if d, e := decodeAll(t, []byte(tt.in), tt.binary, cut); string(d) != string(data) || !slices.Equal(e, events) {
					t.Fatalf("cut at %d: %q %q, want %q %q", cut, d, e, data, events)
				}
			}
			all := make([]int, len(tt.in))
			for i := range all {
				all[i] = i
			}
			if d, e := decodeAll(t, []byte(tt.in), tt.binary, all...); string(d) != string(data) || !slices.Equal(e, events) {
				t.Errorf("byte by byte: %q %q, want %q %q", d, e, data, events)
			}
		})
	}
}

// BINARY must begin with the byte after the command that agrees to it, also within one read.
func TestDecoderSwitchesToBinary(t *testing.T) {
	var d Decoder
	d.OnEvent = func(e Event) { d.KeepNUL = e.Command == Command(cmdWILL) }
	p := []byte("\x00a\xff\xfb\x00\x00b\xff\xfc\x00\x00c")
	if got := string(p[:d.Decode(p)]); got != "a\x00bc" {
		t.Errorf("got %q", got)
	}
}

// Runs of data of many lengths, between commands and NULs, must decode the same in long pieces, cut anywhere, as byte
// by byte, which uses none of the searches. Some of the commands change KeepNUL.
func TestDecoderSearches(t *testing.T) {
	lines := strings.Repeat("GigabitEthernet0/1 is up, \xc3\xa9\x80\xfe\x01\r\n", 200)
	between := []string{"\x00", "\r\x00", "\x00\x00", "\xff\xff", "\xff\xff\x00", "\xff\xf1", "\xff\xf1\xff\xf9", "\xff\xfb\x00", "\xff\xfc\x00", "\xff\xfa\x18\x01\xff\xf0"}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		var stream []byte
		for len(stream) < 20<<10 {
			from := r.IntN(len(lines))
			stream = append(stream, lines[from:from+r.IntN(1+min(1<<r.IntN(13), len(lines)-from))]...)
			stream = append(stream, between[r.IntN(len(between))]...)
		}
		decode := func(piece func() int) (data []byte, events string) {
			var d Decoder
			d.OnEvent = func(e Event) {
				e.Each(func(e Event) {
					events += fmt.Sprintf("%d %s %q @%d\n", e.Kind, e.Command, e.Data, e.At)
				})
				if e.Kind == OptionReceived {
					d.KeepNUL = e.Command == Command(cmdWILL)
				}
			}
			for rest := stream; len(rest) > 0; {
				p := bytes.Clone(rest[:min(piece(), len(rest))])
				rest = rest[len(p):]
				data = append(data, p[:d.Decode(p)]...)
			}
			return data, events
		}
		want, events := decode(func() int { return 1 })
		for _, piece := range []func() int{
			func() int { return len(stream) },
			func() int { return 1 + r.IntN(300) },
			func() int { return 1 + r.IntN(8000) },
		} {
			if got, other := decode(piece); !bytes.Equal(got, want) || other != events {
				t.Fatalf("seed %d: %q\n%s\nbyte by byte: %q\n%s", seed, got, other, want, events)
			}
		}
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	events := 0
	d := Decoder{OnEvent: func(Event) { events++ }}
	src := []byte(strings.Repeat("text \xff\xff and \x00 \xff\xfb\x01\xff\xfa\x18\x01\xff\xf0\r\n", 100))
	p := make([]byte, len(src))
	if n := testing.AllocsPerRun(100, func() {
		copy(p, src)
		d.Decode(p)
	}); n != 0 {
		t.Errorf("%v allocations per read", n)
	}
	if events == 0 {
		t.Error("no event was seen")
	}
}
