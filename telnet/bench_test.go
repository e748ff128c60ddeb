package telnet

import (
	"bytes"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gotelnet "github.com/reiver/go-telnet"
)

const (
	benchRead = 16 << 10 // the size of the largest reads of a session's pump
	benchSize = 8 << 20
)

// streams returns the inputs of the decoding benchmarks.
func streams() []struct {
	name    string
	data    []byte
	foreign bool // go-telnet's reader fails on it
} {
	line := "interface GigabitEthernet0/1 is up, line protocol is up, MTU 1500 bytes\r\n"
	fill := func(unit string) []byte { return []byte(strings.Repeat(unit, benchSize/len(unit)+1))[:benchSize/12*12] }
	random := make([]byte, benchSize)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(random)
	return []struct {
		name    string
		data    []byte
		foreign bool
	}{
		{"text", fill(line), false},
		{"IACs", fill(line + "\xff\xff"), false},
		{"random", random, true},
		{"options", fill("\xff\xfd\x63"), false},
		{"NULs", fill("a\x00"), false},
		{"only_NULs", fill("\x00"), false},
		{"every_17th", fill("0123456789abcdef\x00"), false},
		{"pairs", fill("\xff\xff"), false},
		{"subs", fill("\xff\xfa\x18\x01\xff\xf0"), false},
		{"commands", fill("\xff\xf1"), true},
		{"command_each_byte", fill("a\xff\xf9"), true},
		{"stray_SE", fill("\xff\xf0"), true},
		{"no_commands", fill("\xff\x01"), true},
	}
}

// BenchmarkDecode reads a stream and decodes it. x-copy is its speed relative to that of the reads alone, which are
// copies here: rounds of both take turns, and the medians are compared.
func BenchmarkDecode(b *testing.B) {
	p := make([]byte, benchRead)
	for _, s := range streams() {
		each := func(do func(p []byte)) time.Duration {
			begin := time.Now()
			for rest := s.data; len(rest) > 0; {
				n := copy(p, rest)
				do(p[:n])
				rest = rest[n:]
			}
			return time.Since(begin)
		}
		for _, binary := range []bool{false, true} {
			name := "/nvt"
			if binary {
				name = "/binary"
			}
			b.Run(s.name+name, func(b *testing.B) {
				events := 0
				d := Decoder{KeepNUL: binary, OnEvent: func(Event) { events++ }}
				var copies, decodes []time.Duration
				b.ReportAllocs()
				for b.Loop() {
					copies = append(copies, each(func([]byte) {}))
					decodes = append(decodes, each(func(p []byte) { d.Decode(p) }))
				}
				slices.Sort(copies)
				slices.Sort(decodes)
				copied, decoded := copies[len(copies)/2], decodes[len(decodes)/2]
				b.ReportMetric(float64(copied)/float64(decoded), "x-copy")
				b.ReportMetric(float64(len(s.data))/1e6/decoded.Seconds(), "MB/s")
			})
		}
		if s.foreign {
			continue
		}
		b.Run(s.name+"/go-telnet", func(b *testing.B) {
			b.SetBytes(int64(len(s.data)))
			for b.Loop() {
				goTelnetReads(b, bytes.NewReader(s.data), func(r gotelnet.Reader) {
					for {
						if _, err := r.Read(p); err != nil {
							return
						}
					}
				})
			}
		})
	}
}

// BenchmarkRead reads text through a Conn.
func BenchmarkRead(b *testing.B) {
	text := streams()[0].data
	p := make([]byte, benchRead)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	src := bytes.NewReader(nil)
	c, err := NewConn(memory{src}, Config{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		src.Reset(text)
		c.readErr = nil
		for {
			if _, err := c.Read(p); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkWrite types short lines, and pastes a long text.
func BenchmarkWrite(b *testing.B) {
	for _, bb := range []struct{ name, data string }{
		{"line", "show version\r"},
		{"paste", strings.Repeat("interface x\r", 1000)},
		{"plain", strings.Repeat("0123456789abcdef", 256)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c, err := NewConn(memory{strings.NewReader("")}, Config{Mode: ModeTelnet})
			if err != nil {
				b.Fatal(err)
			}
			data := []byte(bb.data)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Write(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
